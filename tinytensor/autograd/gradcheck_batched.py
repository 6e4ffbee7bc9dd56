"""gradcheck's options check_batched_grad and check_batched_forward_grad: a batch against a loop.

Two random vectors are passed back (or forward) at once, as `vmap` does, and then one by one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backend import xp
from ..devices import to_device
from ..errors import GradcheckError
from . import engine
from .forward_ad import dual_level, make_dual, unpack_dual
from .jacobians import Function, name_of, outputs_of
from .variable import Variable, wrap

vmap: Any = None  # func/batch_map.py sets it

SIZE = 2


def check_batched_backward(
    func: Function, inputs: tuple, places: list[int], atol: float, rtol: float
) -> None:
    """Compare grad(is_grads_batched=True) with single calls, for each output."""
    sources = [inputs[i] for i in places]
    for o, y in enumerate(outputs_of(func, inputs)):
        if not y._tracked:
            continue
        vectors = _random(y)
        options: dict[str, Any] = {"retain_graph": True, "allow_unused": True}
        loop = [engine.grad(y, sources, vectors[i], **options) for i in range(SIZE)]
        try:
            batch = engine.grad(y, sources, vectors, is_grads_batched=True, **options)
        except RuntimeError as error:
            raise _failed(func, "backward", error) from error
        _compare(func, "backward", o, places, batch, loop, atol, rtol)


def check_batched_forward(
    func: Function, inputs: tuple, places: list[int], atol: float, rtol: float
) -> None:
    """Compare vmap of forward mode with single calls, for each input."""
    plain = [x.detach() if isinstance(x, Variable) else x for x in inputs]
    for i in places:

        def push(tangent: Any, i: int = i) -> tuple:
            with dual_level():
                duals = list(plain)
                duals[i] = make_dual(plain[i], tangent)
                outputs = outputs_of(func, tuple(duals))
                pairs = [(y, unpack_dual(y).tangent) for y in outputs]
                return tuple(y.detach() * 0 if t is None else t for y, t in pairs)

        vectors = _random(plain[i])
        loop = [push(vectors[j]) for j in range(SIZE)]
        try:
            batch = vmap(push)(vectors)
        except RuntimeError as error:
            raise _failed(func, "forward", error) from error
        _compare(func, "forward", i, list(range(len(batch))), batch, loop, atol, rtol)


def _random(like: Any) -> Any:
    """SIZE random vectors of the shape of a tensor, along a new first dimension."""
    rng = np.random.default_rng(0)
    shape = (SIZE, *like.array.shape)
    values: Any = rng.normal(size=shape)
    if like.array.dtype.kind == "c":
        values = values + 1j * rng.normal(size=shape)
    return wrap(xp(like.array).asarray(values, dtype=like.array.dtype))


def _failed(func: Function, by: str, error: RuntimeError) -> GradcheckError:
    return GradcheckError(f"{name_of(func)}: {by} of a batch (vmap) failed: {error}")


def _compare(
    func: Function,
    by: str,
    one: int,
    others: list,
    batch: Any,
    loop: list,
    atol: float,
    rtol: float,
) -> None:
    """Raise if a gradient of the batch differs from the one in the loop."""
    for k, (other, found) in enumerate(zip(others, batch)):
        singles = [each[k] for each in loop]
        if found is None and all(s is None for s in singles):
            continue
        zeros = np.zeros(())
        expected = np.array([zeros if s is None else to_device(s.array, "cpu") for s in singles])
        got = np.zeros_like(expected) if found is None else to_device(found.array, "cpu")
        if got.shape != expected.shape or not np.allclose(
            got, expected, rtol=rtol, atol=atol, equal_nan=True
        ):
            names = (f"output {one}", f"input {other}")
            names = names if by == "backward" else (f"input {one}", f"output {other}")
            raise GradcheckError(
                f"{name_of(func)}: {by} from {names[0]} to {names[1]} differs between a batch "
                "(vmap) and single vectors"
            )
