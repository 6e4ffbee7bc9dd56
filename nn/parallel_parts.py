"""The parts of data parallelism, on one device: scatter, replicate, parallel_apply, gather.

`devices` only says in how many parts a batch is split. The parts run one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tinytensor as tt
from tinytensor.tensor import Tensor

from .module import Module


def scatter(inputs: Any, target_gpus: Sequence, dim: int = 0) -> Any:
    """Split tensors, also in lists, tuples and dicts, in len(target_gpus) parts along `dim`.

    Other values are repeated. Returns one value for each part; a tensor of few rows gives fewer.
    """
    if isinstance(inputs, Tensor):
        return tuple(inputs.chunk(len(target_gpus), dim))
    parts: list
    if isinstance(inputs, tuple) and hasattr(inputs, "_fields"):
        parts = list(zip(*(scatter(value, target_gpus, dim) for value in inputs)))
        return [type(inputs)(*part) for part in parts]
    if isinstance(inputs, (list, tuple)) and inputs:
        parts = list(zip(*(scatter(value, target_gpus, dim) for value in inputs)))
        return parts if isinstance(inputs, tuple) else [list(part) for part in parts]
    if isinstance(inputs, dict) and inputs:
        parts = list(zip(*(scatter(value, target_gpus, dim) for value in inputs.values())))
        return [type(inputs)(zip(inputs, part)) for part in parts]
    return [inputs for _ in target_gpus]


def scatter_kwargs(
    inputs: Any, kwargs: dict | None, target_gpus: Sequence, dim: int = 0
) -> tuple[tuple, tuple]:
    """`scatter` for positional and keyword arguments, as many parts of either."""
    args = list(scatter(inputs, target_gpus, dim)) if inputs else []
    named = list(scatter(kwargs, target_gpus, dim)) if kwargs else []
    args += [() for _ in range(len(named) - len(args))]
    named += [{} for _ in range(len(args) - len(named))]
    return tuple(args), tuple(named)


def replicate(network: Module, devices: Sequence, detach: bool = False) -> list[Module]:
    """The module, len(devices) times: on one device the parts share its parameters."""
    if detach:
        raise NotImplementedError("replicate: got detach=True, which does not exist on one device")
    return [network for _ in devices]


def parallel_apply(
    modules: Sequence[Module],
    inputs: Sequence,
    kwargs_tup: Sequence[dict] | None = None,
    devices: Sequence | None = None,
) -> list:
    """[m(*x, **k)] for the modules and their inputs; an input that is no tuple is one argument."""
    named = kwargs_tup if kwargs_tup is not None else [{} for _ in modules]
    if not len(modules) == len(inputs) == len(named):
        raise AssertionError(
            f"parallel_apply: got {len(modules)} modules, {len(inputs)} inputs and {len(named)} "
            "keyword arguments, expected as many of each"
        )
    calls = zip(modules, inputs, named)
    return [m(*(x if isinstance(x, (list, tuple)) else (x,)), **(k or {})) for m, x, k in calls]


def gather(outputs: Sequence, target_device: Any = None, dim: int = 0) -> Any:
    """Join the parts of `parallel_apply` along `dim`, also in lists, tuples and dicts."""
    first = outputs[0]
    if isinstance(first, Tensor):
        if all(t.ndim == 0 for t in outputs) and dim == 0:
            outputs = [t.reshape((1,)) for t in outputs]
        return tt.cat(list(outputs), dim)
    if first is None:
        return None
    if isinstance(first, dict):
        if any(len(part) != len(first) for part in outputs):
            raise ValueError("gather: got dicts of several lengths, expected the same keys in each")
        return type(first)(
            (key, gather([part[key] for part in outputs], None, dim)) for key in first
        )
    joined = [gather(parts, None, dim) for parts in zip(*outputs)]
    return type(first)(*joined) if hasattr(first, "_fields") else type(first)(joined)


__all__ = ["gather", "parallel_apply", "replicate", "scatter", "scatter_kwargs"]
