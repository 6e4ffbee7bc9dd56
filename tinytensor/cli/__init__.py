"""The command line: `tinytensor …`, or `python -m tinytensor …`.

Each file of this folder that is listed in COMMANDS is a subcommand. It has

    HELP                   one line
    EXAMPLES               lines to try, shown by --help
    add_arguments(parser)  adds its arguments to an argparse parser
    run(options)           does the work and returns the exit code

Exit codes: 0 success; 1 failure, with one line on stderr that says why; 2 wrong usage.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from textwrap import dedent
from typing import Any

from ..text import TEXT, clean, cut

COMMANDS = ("demo", "graph", "attention", "report", "worksheet")

EXAMPLES = """\
examples:
  tinytensor demo                              train a transformer and see how it learns
  tinytensor graph train.py -o page.html       step through the backward pass of `loss`
  tinytensor attention train.py                every attention head, with its gradients
  tinytensor report out/run/log.jsonl          curves and heat maps of a training run
  tinytensor worksheet attention-backward      compute it by hand and have it checked

`tinytensor COMMAND --help` shows more examples.
"""


class Problem(Exception):
    """An error to report to the user in one line."""


class _Help(argparse.RawDescriptionHelpFormatter):
    """Keeps the layout of texts, and leaves room for long option names."""

    def __init__(self, prog: str):
        super().__init__(prog, max_help_position=26, width=100)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command given by `arguments` (default: sys.argv); returns the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    given, of_script = _split(given)
    parser = _parser()
    options = parser.parse_args(given)
    if options.command is None:
        parser.print_help()
        return 0
    options.arguments = of_script
    try:
        return options.run(options)
    except (Problem, OSError, ValueError, ImportError, RuntimeError) as error:
        print(f"tinytensor {options.command}: {_one_line(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"tinytensor {options.command}: interrupted", file=sys.stderr)
        return 130  # as in shells: 128 + SIGINT


def _split(given: list[str]) -> tuple[list[str], list[str]]:
    """Our arguments, before `--`, and the script's, after it."""
    if "--" not in given:
        return given, []
    at = given.index("--")
    return given[:at], given[at + 1 :]


def _parser() -> argparse.ArgumentParser:
    from ..compat.version import tinytensor as version

    parser = argparse.ArgumentParser(
        prog="tinytensor",
        description="Draw computation graphs, attention and training runs.",
        epilog=EXAMPLES,
        formatter_class=_Help,
    )
    parser.add_argument("--version", action="version", version=f"tinytensor {version}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name in COMMANDS:
        command: Any = importlib.import_module(f".{name}", __package__)
        sub = commands.add_parser(
            name,
            help=command.HELP,
            description=dedent(command.__doc__ or "").strip(),
            epilog=f"examples:\n{command.EXAMPLES}",
            formatter_class=_Help,
        )
        command.add_arguments(sub)
        sub.set_defaults(run=command.run)
    return parser


def _one_line(error: BaseException) -> str:
    # str(OSError) starts with its error number.
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    if isinstance(error, OSError) and error.filename and error.filename not in text:
        text = f"{error.filename}: {text}"
    return cut(" ".join(clean(text).split()), TEXT) or type(error).__name__


__all__ = ["COMMANDS", "Problem", "main"]
