"""Sheets, one after the other: all, or those of modules: `python -m examples.byhand rnn gan`."""

from __future__ import annotations

import sys
from pathlib import Path

if not __package__:  # started as a file: the package is found from the folder above examples
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.byhand.sheet import load, main

if __name__ == "__main__":
    main(load(sys.argv[1:]))
