"""Write a worksheet: forward and backward passes to compute by hand, with simple numbers.

sheet.html is a page that checks answers as you type them; its boxes are empty when printed.
sheet-key.html has all answers. A .json file has the same content; .xlsx is a spreadsheet that
checks itself. The same seed gives the same sheet.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from ..text import clean
from .script import add_open, check_output

HELP = "write a worksheet to compute by hand"
EXAMPLES = """\
  tinytensor worksheet backprop                       writes worksheet.html, worksheet-key.html
  tinytensor worksheet attention-backward --e3 --seed 7 -o sheet.html --open
  tinytensor worksheet layers --size large -o sheet.xlsx
  tinytensor worksheet matmul --students 30           one sheet per student, each with its own seed
  tinytensor worksheet matmul --students "Ada, Grace, Emmy"
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", metavar="KIND", help="the topic; `list` shows all kinds")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="default: 0")
    parser.add_argument(
        "--size", default="small", metavar="SIZE", help="small (default), medium or large"
    )
    parser.add_argument("--e3", action="store_true", help="use e = 3, for simple softmax values")
    parser.add_argument(
        "-o", "--output", default="worksheet.html", metavar="FILE",
        help="default: worksheet.html; .json and .xlsx also work",
    )  # fmt: skip
    parser.add_argument(
        "--students", metavar="N|NAMES",
        help="one sheet each: a number of students, or names separated by commas",
    )  # fmt: skip
    add_open(parser)


def run(options: argparse.Namespace) -> int:
    from ..worksheet import KINDS, SUFFIXES, worksheet, worksheets

    if options.kind == "list":
        for kind in KINDS.values():
            print(f"{kind.name:20}{kind.title}")
        return 0
    check_output(options.output, SUFFIXES)
    chosen = {"size": options.size, "seed": options.seed, "e_is_3": options.e3}
    if options.students is None:
        made = [worksheet(options.kind, options.output, **chosen)]
    else:
        made = worksheets(options.kind, options.output, _students(options.students), **chosen)
    for sheet in made:
        print(clean(f"{sheet.path}: {sheet.summary()}; answers: {sheet.key_path}"))
    if options.open:
        import webbrowser

        webbrowser.open(Path(str(made[0].path)).resolve().as_uri())
    return 0


def _students(text: str) -> int | list[str]:
    if text.strip().lstrip("+-").isdigit():
        return int(text)
    return [name.strip() for name in text.split(",")]
