"""Defaults of arguments are PyTorch's, wherever both have a function or class of one name."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from operator import attrgetter
from typing import Any

import pytest

import tinytensor as tt

# Ours: PyTorch's place, below `torch`
SPACES = {
    "tinytensor": "",
    "tinytensor.autograd": "autograd",
    "tinytensor.autograd.functional": "autograd.functional",
    "tinytensor.distributions": "distributions",
    "tinytensor.nn": "nn",
    "tinytensor.nn.functional": "nn.functional",
    "tinytensor.nn.init": "nn.init",
    "tinytensor.nn.utils": "nn.utils",
    "tinytensor.nn.utils.parametrizations": "nn.utils.parametrizations",
    "tinytensor.nn.utils.rnn": "nn.utils.rnn",
    "tinytensor.optim": "optim",
    "tinytensor.optim.lr_scheduler": "optim.lr_scheduler",
    "tinytensor.utils.checkpoint": "utils.checkpoint",
    "tinytensor.utils.data": "utils.data",
}

# Arguments whose default is another one on purpose.
OTHERS = {
    ("autocast", "device_type"),  # "cpu", where PyTorch asks for it
    ("compile", "options"),  # any, as none has an effect
    ("random_split", "generator"),  # None: the default generator of the moment
    ("checkpoint", "context_fn"),  # None: no context
    ("PackedSequence", "batch_sizes"),  # needed here; PyTorch raises without it
}


def parameters(value: Any) -> dict[str, Any]:
    """{argument: default}; {} if the library does not say, as for functions written in C."""
    if not callable(value):
        return {}
    try:
        found = inspect.signature(value).parameters
    except (TypeError, ValueError):
        return {}
    return {name: parameter.default for name, parameter in found.items()}


def pairs(ours: Any, theirs: Any) -> Iterator[tuple[str, str, Any, Any]]:
    """(function, argument, our default, PyTorch's) for all that both have."""
    for name in sorted(set(dir(ours)) & set(dir(theirs))):
        if not name.startswith("_"):
            mine, other = parameters(getattr(ours, name)), parameters(getattr(theirs, name))
            for argument in mine.keys() & other.keys():
                yield name, argument, mine[argument], other[argument]


def same(mine: Any, other: Any) -> bool:
    if inspect.isfunction(mine) and inspect.isfunction(other):
        return mine.__name__ == other.__name__  # such as activation=relu
    return mine == other


@pytest.mark.parametrize("place", SPACES)
def test_defaults_are_pytorchs(place: str) -> None:
    torch = pytest.importorskip("torch")
    below = place.removeprefix("tinytensor").lstrip(".")
    ours = attrgetter(below)(tt) if below else tt
    theirs = attrgetter(SPACES[place])(torch) if SPACES[place] else torch
    found = list(pairs(ours, theirs))
    wrong = [
        f"{name}({argument}={mine!r}), expected {other!r}"
        for name, argument, mine, other in found
        if (name, argument) not in OTHERS and not same(mine, other)
    ]
    assert not wrong, "\n".join(wrong)
    assert found
