"""foldmark and other people's methods on the same fault cases. Run with `python -m bench.rivals`."""
