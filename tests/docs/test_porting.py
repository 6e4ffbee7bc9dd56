"""docs/porting.md: what it says is there is there, and what it says is missing is missing.

The names are those of PyTorch, under the roots below. Where PyTorch is installed in the version
that the page names, its lists of missing names are checked to be whole.

    python -m tests.docs.test_porting      prints the rows of the second table
"""

from __future__ import annotations

import importlib
import inspect
import operator
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import nn
import tinytensor as tt

PAGE = Path(__file__).parents[2] / "docs" / "porting.md"
TEXT = PAGE.read_text("utf-8")
NAME = re.compile(r"`([A-Za-z_][\w.]*)`")


def table(heading: str) -> list[list[str]]:
    """The cells of the table below a heading, without its head."""
    _, _, below = TEXT.partition(f"\n## {heading}\n")
    assert below, f"porting.md has no heading {heading!r}"
    lines = [line for line in below.partition("\n## ")[0].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def names_in(cell: str) -> list[str]:
    return NAME.findall(cell)


def found(name: str) -> bool:
    """Whether tinytensor has a name of PyTorch, which begins with one of the roots."""
    roots = {"torch": tt, "nn": nn, "F": nn.functional, "optim": tt.optim, "Tensor": tt.Tensor}
    root, _, rest = name.partition(".")
    assert root in roots and rest, f"porting.md: got {name!r}, expected a name below {list(roots)}"
    try:
        operator.attrgetter(rest)(roots[root])
    except AttributeError:
        path, _, last = f"{roots[root].__name__}.{rest}".rpartition(".")
        try:
            importlib.import_module(f"{path}.{last}")
        except ImportError:
            try:
                return hasattr(importlib.import_module(path), last)
            except ImportError:
                return False
    return True


AREAS = table("At a glance")
THERE = [name for _, there, nothing, _ in AREAS for name in names_in(there) + names_in(nothing)]
MISSING = [name for *_, missing in AREAS for name in names_in(missing)]


@pytest.mark.parametrize("name", sorted(set(THERE)))
def test_what_is_there(name: str) -> None:
    assert found(name)


@pytest.mark.parametrize("name", sorted(set(MISSING)))
def test_what_is_missing(name: str) -> None:
    assert not found(name), f"{name} is there now: move it in porting.md"


# ------------------------------------------------------------------------------------------
# Whole lists
# ------------------------------------------------------------------------------------------

HELPERS = re.compile(r"_$|_with_indices$|torch_function|^(assert_int_or_pair|boolean_dispatch)$")


def _functions(module: Any) -> list[str]:
    """Public functions; not helpers of PyTorch's own code, nor the in-place forms."""
    return [
        name
        for name, value in vars(module).items()
        if name == name.lower() and not name.startswith("_") and inspect.isroutine(value)
        if not HELPERS.search(name)
    ]


def _classes(base: str) -> Callable[[Any], list[str]]:
    def of(module: Any) -> list[str]:
        parent = getattr(module, base)
        return [
            name
            for name, value in vars(module).items()
            if inspect.isclass(value) and issubclass(value, parent) and not name.startswith("_")
        ]

    return of


def _data_classes(module: Any) -> list[str]:
    """Without data pipes, which PyTorch itself has given up."""
    classes = [name for name in module.__all__ if inspect.isclass(getattr(module, name))]
    return [name for name in classes if name[0].isupper() and not re.search("Pipe|Chunk", name)]


def _fillers(module: Any) -> list[str]:
    return [name for name in vars(module) if name.endswith("_") and not name.startswith("_")]


WHOLE: dict[str, tuple[str, Callable[[Any], list[str]]]] = {
    "torch.nn": ("nn", _classes("Module")),
    "torch.nn.functional": ("nn.functional", _functions),
    "torch.nn.init": ("nn.init", _fillers),
    "torch.nn.utils.rnn": ("nn.utils.rnn", lambda module: module.__all__),
    "torch.optim": ("tinytensor.optim", _classes("Optimizer")),
    "torch.optim.lr_scheduler": ("tinytensor.optim.lr_scheduler", lambda module: module.__all__),
    "torch.utils.data": ("tinytensor.utils.data", _data_classes),
    "torch.linalg": ("tinytensor.linalg", _functions),
    "torch.distributions": ("tinytensor.distributions", _classes("Distribution")),
}


def inventory(name: str) -> tuple[list[str], list[str]]:
    """(PyTorch's names in a module, those that are missing here)."""
    ours, public = WHOLE[name]
    theirs = sorted(set(public(importlib.import_module(name))), key=str.lower)
    module = importlib.import_module(ours)
    return theirs, [n for n in theirs if not hasattr(module, n)]


def row(name: str) -> list[str]:
    theirs, missing = inventory(name)
    there = f"{len(theirs) - len(missing)} of {len(theirs)}"
    return [f"`{name}`", there, ", ".join(f"`{n}`" for n in missing)]


ROWS = {names_in(cells[0])[0]: cells for cells in table("Module by module")}


@pytest.mark.parametrize("name", sorted(ROWS))
def test_names_in_the_lists_are_missing(name: str) -> None:
    module = importlib.import_module(WHOLE[name][0])
    there_now = [n for n in names_in(ROWS[name][2]) if hasattr(module, n)]
    assert not there_now


@pytest.mark.parametrize("name", sorted(WHOLE))
def test_lists_are_whole(name: str) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch has the names to compare with")
    version = ".".join(torch.__version__.split(".")[:2])
    if f"PyTorch {version}" not in TEXT:
        pytest.skip(f"the lists are of another version than PyTorch {version}")
    assert ROWS[name] == row(name)


if __name__ == "__main__":
    for module_name in WHOLE:
        print("| " + " | ".join(row(module_name)) + " |")
