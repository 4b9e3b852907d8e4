"""foldmark."""
