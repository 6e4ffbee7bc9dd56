"""`python -m tinytensor` is the command `tinytensor`."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
