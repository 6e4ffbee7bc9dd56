"""Watch: statistics of each layer in a training step, for the log.

    trainer = Trainer(model, optimizer, loss, data, folder="out/run", watch=True)

or in your own loop:

    watch = Watch(model)
    with watch.step() as layers:
        loss = …; loss.backward(); optimizer.step()
    print(layers["grad_norm"])

`graph.training_report` plots them. Watching a step costs one copy of the weights.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..autograd.mode import state
from ..backend import Array
from ..ops.rectifier import Relu

Figures = dict[str, dict[str, float | None]]


class Watch:
    """Statistics of each layer (a module with parameters of its own):

    grad_norm     ‖g‖ of the gradients that the optimiser used
    update_ratio  ‖w after − w before‖ / ‖w before‖; typically about 1e-3
    dead_relu     the fraction of a ReLU's units that are 0 for the whole batch

    A figure that is missing or not finite is None.
    """

    def __init__(self, model: Any):
        self.layers: dict[str, list[Any]] = {}
        for name, parameter in model.named_parameters():
            layer = name.rpartition(".")[0] or type(model).__name__
            self.layers.setdefault(layer, []).append(parameter)

    @contextmanager
    def step(self) -> Iterator[Figures]:
        """Watch a block: a forward, a backward and an update.

        Yields a dict that is filled at the end of the block.
        """
        before = {name: [p.array.copy() for p in layer] for name, layer in self.layers.items()}
        figures: Figures = {}
        relus = _ReluCounter()
        mode = state.mode
        others = mode.recording
        mode.recording = relus if others is None else others  # an active recording has priority
        try:
            yield figures
        finally:
            mode.recording = others
        grads = {
            name: [p.grad.array for p in layer if p.grad is not None]
            for name, layer in self.layers.items()
        }
        figures["grad_norm"] = {name: _norm(arrays) for name, arrays in grads.items()}
        figures["update_ratio"] = {
            name: _ratio(before[name], [p.array for p in layer])
            for name, layer in self.layers.items()
        }
        if relus.units:
            figures["dead_relu"] = relus.shares()


def _norm(arrays: list[Array]) -> float | None:
    """The norm of all elements of the arrays together; None if there are none."""
    if not arrays:
        return None
    return _finite(math.sqrt(sum(_square(array) for array in arrays)))


def _square(array: Array) -> float:
    """Σ x² in float64: in float16 it would soon overflow."""
    flat = array.reshape(-1).astype(np.float64)  # (…) → (n)
    return float(flat @ flat)


def _ratio(before: list[Array], after: list[Array]) -> float | None:
    weights, change = _norm(before), _norm([b - a for a, b in zip(before, after)])
    return None if not weights or change is None else _finite(change / weights)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


class _ReluCounter:
    """A recording that counts the units of ReLUs, and the dead ones, by module."""

    def __init__(self) -> None:
        self.units: dict[str, int] = {}
        self.dead: dict[str, int] = {}

    def add(self, node: Any, args: tuple, outputs: tuple) -> None:
        out = outputs[0].array
        if not isinstance(node, Relu) or not out.size:
            return
        unit_dim = 1 if out.ndim == 4 else out.ndim - 1  # channels of images, else the last
        others = tuple(dim for dim in range(out.ndim) if dim != unit_dim)
        alive = (out != 0).any(axis=others)
        name = state.mode.scope.partition(".")[2] or state.mode.scope or "relu"
        self.units[name] = self.units.get(name, 0) + alive.size
        self.dead[name] = self.dead.get(name, 0) + alive.size - int(alive.sum())

    def shares(self) -> dict[str, float | None]:
        return {name: self.dead[name] / count for name, count in self.units.items()}


__all__ = ["Watch"]
