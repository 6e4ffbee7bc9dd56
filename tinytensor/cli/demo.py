"""Train a transformer that translates dates, and write pages that show how it works.

"the 3rd of March, 1998" becomes "1998-03-03". Training takes about a minute on two cores. Then
out/demo/index.html links to the training report, to the attention of one sentence, to a backward
pass through attention, step by step, and to a worksheet on it. Arguments after ` -- ` are passed
to the script, examples/transformer_translate.py; ` -- --help` lists its options.
"""

from __future__ import annotations

import argparse
import site
import subprocess
import sys
import sysconfig
from pathlib import Path

from . import Problem
from .script import add_open

HELP = "train a transformer and write pages that show how it works"
EXAMPLES = """\
  tinytensor demo                                     writes out/demo/index.html
  tinytensor demo --quick -o /tmp/demo --open         a few steps only
  tinytensor demo -- --sentence "Sunday, 20 Jul 1969" --seed 1
"""
SCRIPT = "transformer_translate.py"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o", "--output", default="out/demo", metavar="FOLDER", help="default: out/demo"
    )
    parser.add_argument("--quick", action="store_true", help="run for a few seconds only")
    add_open(parser)


def run(options: argparse.Namespace) -> int:
    flags = ["--quick"] if options.quick else []
    command = [sys.executable, str(find_script()), "--out", options.output, *flags]
    code = subprocess.run([*command, *options.arguments]).returncode
    if code < 0:  # a script that fails by itself has said why
        raise Problem(f"{SCRIPT} was ended by signal {-code}")
    if code == 0 and options.open:
        import webbrowser

        webbrowser.open((Path(options.output) / "index.html").resolve().as_uri())
    return code


def find_script() -> Path:
    """The demo's script: next to the package in a checkout, or where it was installed."""
    beside = Path(__file__).resolve().parents[2]
    shared = Path("share", "tinytensor", "examples")
    roots = (beside, Path(sysconfig.get_path("data")), Path(site.getuserbase()))
    for folder in (beside / "examples", *(root / shared for root in roots)):
        if (folder / SCRIPT).is_file():
            return folder / SCRIPT
    raise Problem(f"{SCRIPT} is not installed; run it from a checkout, with `make demo`")
