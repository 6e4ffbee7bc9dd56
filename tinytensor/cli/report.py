"""Draw a report of a training run from its log.

The log has one JSON object on each line, as tinytensor.train.Trainer writes it. You can also
pass the Trainer's folder. Losses, metrics and the learning rate become curves. If the Trainer
had watch=True, there are heat maps of layer by step: gradient norms, update-to-weight ratios,
dead ReLUs. The run may still be in progress, or have been killed.
"""

from __future__ import annotations

import argparse

from .script import add_open, check_output, tell

HELP = "draw curves and heat maps of a training run"
EXAMPLES = """\
  tinytensor report out/run/log.jsonl                 writes report.html
  tinytensor report out/run -o run.html --open
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("log", help="log.jsonl, or its folder")
    parser.add_argument(
        "-o", "--output", default="report.html", metavar="FILE", help="default: report.html"
    )
    parser.add_argument("--title", help="title of the page")
    add_open(parser)


def run(options: argparse.Namespace) -> int:
    from ..graph.pages.report import training_report

    check_output(options.output, (".html",))
    page = training_report(options.log, options.output, options.title)
    tell(options, f"the report of {options.log}, {page.summary()}")
    return 0
