"""Writes the lists of docs/a_step.md: the functions that one training step of a small GPT calls.

    python docs/step_hops.py            write them into the page
    python docs/step_hops.py --check    exit code 1 if the page is out of date

A function is listed where it is first called, with the first line of its docstring or, for an op,
its equation. One-line helpers, most private functions and ops that a rule calls are left out.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "a_step.md"
sys.path[:0] = [str(ROOT), str(ROOT / "docs" / "hooks")]

from docstrings import prose  # noqa: E402

import nn  # noqa: E402
import tinytensor as tt  # noqa: E402
from nn import functional as F  # noqa: E402

PACKAGES = (f"{ROOT}/tinytensor/", f"{ROOT}/nn/")
# What a reader can skip: arrays, dtypes and shapes, small parts of the engine, choosing a kernel.
SKIPPED = re.compile(
    r"tinytensor/(backend|dtype|size|autograd/(variable|arguments)|kernels/\w+/\w+)\.py"
    r"|.*#(as_tuple|enter_graph|fill_missing|Op\.remember|Op\.fill_missing)"
)
ALWAYS = re.compile(r".*(\.forward|\.backward|\.__call__|Op\._record|\._update_groups)$")
OPS = "tinytensor/ops/"


class Hop(NamedTuple):
    """A function: its file in the repository, its name there, and its first line."""

    path: str
    name: str
    line: int


class Step:
    """One training step, in four phases."""

    def __init__(self) -> None:
        tt.set_kernels("numpy")
        tt.manual_seed(0)
        config = nn.GPTConfig(vocab_size=11, block_size=8, n_layer=2, n_head=2, n_embd=8)
        self.model = nn.GPT(config)
        self.optimizer = tt.optim.AdamW(self.model.parameters(), lr=1e-3)
        self.tokens = tt.randint(0, 11, (4, 8))
        self.targets = tt.randint(0, 11, (4, 8))

    def run_model(self) -> None:
        self.logits, _ = self.model(self.tokens)

    def run_loss(self) -> None:
        self.loss = F.cross_entropy(self.logits.flatten(0, 1), self.targets.flatten())

    def run_backward(self) -> None:
        self.loss.backward()

    def run_optimizer(self) -> None:
        self.optimizer.step()
        self.optimizer.zero_grad()

    def phases(self) -> dict[str, Callable[[], None]]:
        return {
            "model": self.run_model, "loss": self.run_loss, "backward": self.run_backward,
            "optimizer": self.run_optimizer,
        }  # fmt: skip


# ------------------------------------------------------------------------------------------
# What is called
# ------------------------------------------------------------------------------------------


@functools.cache
def definitions(path: str) -> dict[int, tuple[str, ast.FunctionDef, ast.ClassDef | None]]:
    """{first line: (name, definition, its class)} of the functions and methods of a file."""
    found: dict[int, tuple[str, ast.FunctionDef, ast.ClassDef | None]] = {}
    for node in ast.parse((ROOT / path).read_text("utf-8")).body:
        members = node.body if isinstance(node, ast.ClassDef) else [node]
        for member in members:
            if isinstance(member, ast.FunctionDef):
                owner = node if isinstance(node, ast.ClassDef) else None
                name = f"{owner.name}.{member.name}" if owner else member.name
                first = min([member.lineno, *(d.lineno for d in member.decorator_list)])
                found[first] = name, member, owner
    return found


def calls_of(run: Callable[[], None]) -> dict[Hop, int]:
    """How often `run` calls each function of the packages, in the order of the first calls.

    Ops that another op's forward or backward calls do not count.
    """
    found: dict[Hop, int] = {}
    rules: list[Any] = []  # the frame of the forward or backward that is running
    generators: list[Any] = []  # a generator is called again for each value

    def see(frame: Any, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "return" and rules and rules[-1] is frame:
            rules.pop()
        if event != "call" or not code.co_filename.startswith(PACKAGES):
            return
        path = Path(code.co_filename).relative_to(ROOT).as_posix()
        if code.co_firstlineno not in definitions(path):
            return  # a comprehension, or a function within a function
        if code.co_flags & inspect.CO_GENERATOR:
            if frame in generators:
                return
            generators.append(frame)
        name, _, owner = definitions(path)[code.co_firstlineno]
        in_ops = path.startswith(OPS)
        if in_ops and rules:
            return
        if in_ops and owner is not None:
            rules.append(frame)
        hop = Hop(path, name, code.co_firstlineno)
        found[hop] = found.get(hop, 0) + 1

    sys.setprofile(see)
    try:
        run()
    finally:
        sys.setprofile(None)
    return found


def is_shown(hop: Hop) -> bool:
    """Whether the page names this function."""
    if SKIPPED.match(f"{hop.path}#{hop.name}"):
        return False
    if ALWAYS.match(hop.name):
        return True
    if hop.path.startswith(OPS):
        return hop.name in tt.ops.__all__
    function = definitions(hop.path)[hop.line][1]
    lines = sum(isinstance(node, ast.stmt) for node in ast.walk(function)) - 2  # def, docstring
    return not hop.name.split(".")[-1].startswith("_") and lines > 1


def text_of(hop: Hop) -> str:
    """The first line of a function's docstring, or of its class's; an op's equation."""
    name, function, owner = definitions(hop.path)[hop.line]
    own = ast.get_docstring(function)
    if own or owner is None:
        return own.splitlines()[0] if own else ""
    first = " ".join((ast.get_docstring(owner) or "").split("\n\n")[0].split("\n"))
    if hop.path.startswith(OPS):
        forward, _, backward = first.partition(";")
        first = backward if name.endswith(".backward") else forward
    return first.strip()


def hops() -> dict[str, dict[Hop, int]]:
    """The functions that the page shows, phase by phase, each where it is first called."""
    step = Step()
    for run in step.phases().values():  # warm up: imports, and state made on first use
        run()
    known: set[Hop] = set()
    result = {}
    for phase, run in step.phases().items():
        calls = calls_of(run)
        result[phase] = {h: n for h, n in calls.items() if h not in known and is_shown(h)}
        known |= calls.keys()
    return result


# ------------------------------------------------------------------------------------------
# The page
# ------------------------------------------------------------------------------------------


def lists() -> dict[str, str]:
    """The Markdown of each phase's list; the numbers go on from one to the next."""
    number, result = 0, {}
    for phase, found in hops().items():
        lines = []
        for hop, count in found.items():
            number += 1
            times = f" ×{count}" if count > 1 else ""
            link = f"[`{hop.name}`](../{hop.path}#{hop.name})"
            lines.append(f"{number}. {link}{times} · {hop.path}<br>\n    {prose(text_of(hop))}")
        result[phase] = "\n".join(lines)
    return result


def with_lists(page: str) -> str:
    """The page with each list, between its two comments, replaced."""
    for phase, text in lists().items():
        start, end = f"<!-- {phase} -->", f"<!-- end of {phase} -->"
        before, opened, rest = page.partition(start)
        _, closed, after = rest.partition(end)
        if not (opened and closed):
            raise LookupError(f"docs/a_step.md has no place for {phase}: {start} … {end}")
        page = f"{before}{start}\n\n{text}\n\n{end}{after}"
    return page


def main() -> int:
    page = PAGE.read_text("utf-8")
    new = with_lists(page)
    if "--check" in sys.argv:
        if new != page:
            print("docs/a_step.md is out of date: run `python docs/step_hops.py`")
        return int(new != page)
    PAGE.write_text(new, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
