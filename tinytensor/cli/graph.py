"""Draw the computation graph of a script's loss.

The script runs up to the first `loss.backward()`. If there is none, it runs to its end, and
its variable `loss` is drawn. SCRIPT:NAME selects another variable. Arguments after ` -- ` are
passed to the script.

A .html file lets you step through the backward pass, op by op; .svg, .png and .pdf are
pictures; .dot is Graphviz source. If the script raises, the graph up to the failing op is
drawn, with that op in red.
"""

from __future__ import annotations

import argparse
from typing import Any

from ..tensor import Tensor
from . import Problem
from . import script as scripts

HELP = "draw the computation graph of a script's loss"
EXAMPLES = """\
  tinytensor graph train.py                           writes graph.html
  tinytensor graph train.py:total -o page.html --open
  tinytensor graph train.py --step 100                the 100th backward() of loss
  tinytensor graph train.py -o graph.svg -- --epochs 1
"""
SUFFIXES = (".html", ".svg", ".png", ".pdf", ".dot")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    scripts.add_arguments(parser, "graph.html")


def run(options: argparse.Namespace) -> int:
    from ..graph.data.record import record
    from ..graph.render import render

    scripts.check_output(options.output, SUFFIXES)
    script = scripts.Script(options)

    def draw(tensor: Any) -> None:
        if not isinstance(tensor, Tensor) and not callable(tensor):
            got = "no variable" if tensor is None else f"a {type(tensor).__name__} as"
            raise Problem(
                f"{script.path} has {got} {script.name}, expected a tensor; name it as "
                f"{script.path}:NAME"
            )
        render(tensor, options.output)
        scripts.tell(options, f"the graph of {script.name}{_value(tensor)}")

    try:
        script.run(record, draw)
    except scripts.ScriptFailed:
        recording = script.watched
        if recording is not None and recording.failure is not None and recording.nodes:
            render(recording, options.output)
            scripts.tell(options, "the graph up to the op that failed")
        raise
    return 0


def _value(tensor: Any) -> str:
    """ " = 0.6931" for a tensor of one element, else ""."""
    if not isinstance(tensor, Tensor) or tensor.numel() != 1:
        return ""
    return f" = {float(tensor):.4g}"
