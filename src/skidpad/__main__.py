"""`python -m skidpad`: the command line, also where the script `skidpad` is not on the path."""

from .cli import main

if __name__ == "__main__":
    main()
