"""Scenarios: functions that are run with PyTorch and with tinytensor, and must give the same.

    scenario = Scenarios()

    @scenario
    def two_layers(nn, library):
        return repr(nn.Sequential(nn.ReLU(), nn.Tanh()))

    test_same_as_pytorch = scenario.test()

A scenario returns plain values: numbers, strings, lists of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nn
import tinytensor as tt

from ..ops.test_table import needs_torch, torch


class Scenarios:
    def __init__(self) -> None:
        self.functions: list[Callable] = []

    def __call__(self, function: Callable) -> Callable:
        self.functions.append(function)
        return function

    def test(self) -> Callable:
        """The test function that runs all of them."""

        @needs_torch
        @pytest.mark.parametrize("function", self.functions, ids=lambda f: f.__name__)
        def test_same_as_pytorch(function: Callable) -> None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what PyTorch says of its own ways
                expected = function(torch.nn, torch)
            assert expected not in (None, [], ()), "a scenario that shows nothing"
            found = function(nn, tt)
            if isinstance(found, list):
                for i, (a, b) in enumerate(zip(found, expected, strict=True)):
                    assert a == b, f"item {i} is {a!r}, expected {b!r}"
            assert found == expected, f"got {found!r}, expected {expected!r}"

        return test_same_as_pytorch


def listed(tensor: Any) -> Any:
    """The values, to four digits and five decimals."""
    if tensor is None:
        return None
    values = np.asarray(tensor.detach(), dtype=np.float64)
    return (
        np.array([float(f"{round(v, 5):.4g}") for v in values.flat]).reshape(values.shape).tolist()
    )


def kind(tensor: Any) -> str:
    """The name of the dtype, the same in both libraries."""
    return str(tensor.dtype).split(".")[-1]


def refused(action: Callable) -> str | None:
    """The type of the error that action() raises, as Python knows it, or None."""
    try:
        action()
    except Exception as error:
        return next(c.__name__ for c in type(error).__mro__ if c.__module__ == "builtins")
    return None


def network(nn: Any, library: Any) -> Any:
    """A network with children, a list, a shared layer, a shared weight and buffers."""

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lin = nn.Linear(3, 3)
            self.register_buffer("mask", library.ones(3))
            self.register_buffer("cache", library.zeros(2), persistent=False)
            self.register_buffer("count", library.tensor(7))
            self.scale = nn.Parameter(library.ones(3))
            self.register_parameter("absent", None)

        def forward(self, x: Any) -> Any:
            return self.lin(x) * self.scale * self.mask

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Linear(3, 3, bias=False)
            self.blocks = nn.ModuleList([Block(), Block()])
            self.again = self.blocks[0]
            self.head = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
            self.head[0].weight = self.embed.weight
            self.nothing = None

        def forward(self, x: Any) -> Any:
            x = self.embed(x)
            for block in self.blocks:
                x = block(x)
            return self.head(self.again(x))

    net = Net()
    with library.no_grad():
        for i, parameter in enumerate(net.parameters()):
            values = np.sin(np.arange(parameter.numel()) + i).reshape(tuple(parameter.shape))
            parameter.copy_(library.tensor(values.astype(np.float32)))
    return net
