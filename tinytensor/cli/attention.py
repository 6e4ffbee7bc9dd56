"""Draw the attention of all layers and heads in one step of a script.

The script runs up to the first `loss.backward()`. The page shows the scores S and weights A of
its attention modules, and the gradients dL/dA and dL/dS. A script without backward runs to its
end, and its page has no gradients. Arguments after ` -- ` are passed to the script.
"""

from __future__ import annotations

import argparse
from typing import Any

from ..tensor import Tensor
from . import Problem
from . import script as scripts

HELP = "draw the attention of all layers and heads"
EXAMPLES = """\
  tinytensor attention train.py                       writes attention.html
  tinytensor attention train.py:total -o heads.html --open
  tinytensor attention train.py --tokens "the cat sat on the mat"
  tinytensor attention translate.py --tokens "ein Haus" --target "<s> a house"
  tinytensor attention train.py --step 100 --sample 3
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    scripts.add_arguments(parser, "attention.html")
    parser.add_argument("--tokens", metavar="TEXT", help="position labels, separated by spaces")
    parser.add_argument("--target", metavar="TEXT", help="labels for the decoder, if they differ")
    parser.add_argument(
        "--sample", type=int, default=0, metavar="I", help="index in the batch (default: 0)"
    )


def run(options: argparse.Namespace) -> int:
    from ..graph.data.attention_maps import NO_ATTENTION, maps_of_calls
    from ..graph.pages.attention import page_of_maps
    from ..utils.attention_capture import capture_attention

    scripts.check_output(options.output, (".html",))
    script = scripts.Script(options)

    def draw(tensor: Any) -> None:
        if not script.watched.calls:
            raise Problem(NO_ATTENTION.format(script.path))
        loss = tensor if isinstance(tensor, Tensor) and tensor.requires_grad else None
        maps = maps_of_calls(script.watched.calls, loss, _tokens(options), options.sample)
        page = page_of_maps(maps, options.output, f"Attention of {maps[0].path.split('.')[0]}")
        note = "" if loss is not None else "; no gradients, as there is no loss"
        scripts.tell(options, page.summary() + note)

    script.run(capture_attention, draw)
    return 0


def _tokens(options: argparse.Namespace) -> Any:
    source = None if options.tokens is None else options.tokens.split()
    if options.target is None:
        return source
    if source is None:
        raise Problem("got --target without --tokens, expected both")
    return source, options.target.split()
