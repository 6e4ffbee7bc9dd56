"""The command `python -m tinytensor.profile script.py …`."""

from __future__ import annotations

import argparse
import runpy
import sys
from pathlib import Path

from ..text import clean
from .measure import profile
from .times import TOP


def main(arguments: list[str] | None = None) -> None:
    """Run a script, print its table, and write its flame graph."""
    parser = argparse.ArgumentParser(
        prog="python -m tinytensor.profile",
        description="Run a script, then show where its time went, by op and by module.",
    )
    parser.add_argument("--svg", default="profile.svg", help="output file; default: profile.svg")
    parser.add_argument("--rows", type=int, default=TOP, help=f"rows per table; default: {TOP}")
    parser.add_argument("script", help="a Python file")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the script")
    options = parser.parse_args(arguments)
    script = clean(options.script)
    if not Path(options.script).is_file():
        parser.error(f"{script}: there is no such file; pass the path of a Python script")

    argv, path = sys.argv, sys.path[:]
    sys.argv = [options.script, *options.arguments]
    sys.path.insert(0, str(Path(options.script).resolve().parent))  # as `python script.py` does
    try:
        with profile() as times:
            try:
                runpy.run_path(options.script, run_name="__main__")
            except SystemExit as exit:
                if exit.code not in (None, 0):
                    print(f"{script} ended with {exit.code!r}", file=sys.stderr)
            except KeyboardInterrupt:
                print(f"{script} was interrupted", file=sys.stderr)
    finally:
        sys.argv, sys.path[:] = argv, path
    print(f"\n{times.table(options.rows)}")
    times.save_svg(options.svg)
    print(f"written: {clean(options.svg)}")


if __name__ == "__main__":
    main()
