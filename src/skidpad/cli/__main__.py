"""`python -m skidpad.cli` is the same program as `skidpad`."""

from . import main

main()
