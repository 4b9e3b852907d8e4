"""`python -m foldmark`."""

from foldmark.cli.app import main

main()
