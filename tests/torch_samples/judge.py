"""One call on both libraries: do they agree?"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

import tinytensor
from tinytensor.autograd.variable import wrap

from .convert import NotHere, leaves, ours

# (rtol, atol); the absolute tolerance is for numbers about 1 and grows with the largest.
CLOSE = {"float64": (1e-7, 1e-9), "float32": (1e-4, 2e-5), "float16": (1e-2, 1e-2)}
CLOSE["complex128"], CLOSE["complex64"] = CLOSE["float64"], CLOSE["float32"]


REFUSALS = (RuntimeError, ValueError, IndexError, TypeError)


class Differs(Exception):
    """The two libraries do not agree; the message says in what."""


@dataclass
class Outcome:
    """What a call did: a result, or the exception it raised."""

    result: Any = None
    error: Exception | None = None


def attempt(function: Callable, *args: Any, **kwargs: Any) -> Outcome:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return Outcome(function(*args, **kwargs))
        except NotHere:
            raise
        except Exception as error:
            return Outcome(error=error)


def agree(mine: Outcome, reference: Outcome, values: bool = True, types: bool = True) -> None:
    """Raise Differs unless both returned the same, or both raised the same type of exception.

    types=False: any exception that says what is wrong will do.
    """
    if reference.error is not None:
        if mine.error is None:
            raise Differs(f"computed where PyTorch refuses: {first_line(reference.error)}")
        if types or not isinstance(mine.error, REFUSALS):
            same_refusal(mine.error, reference.error)
        return
    if mine.error is not None:
        raise Differs(f"refused: {type(mine.error).__name__}: {first_line(mine.error)}")
    same(mine.result, reference.result, "result", values)


def same_refusal(mine: Exception, reference: Exception) -> None:
    expected = type(reference)
    if expected.__module__.startswith("torch"):
        expected = expected.__mro__[1]  # LinAlgError is a RuntimeError, AcceleratorError too
    if not isinstance(mine, expected):
        raise Differs(
            f"raised {type(mine).__name__} ({first_line(mine)}), PyTorch {expected.__name__} "
            f"({first_line(reference)})"
        )


def first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0][:150]


def same(mine: Any, reference: Any, what: str, values: bool = True) -> None:
    if isinstance(reference, torch.Tensor) and reference.layout != torch.strided:
        if str(getattr(mine, "layout", None)).split(".")[-1] != str(reference.layout)[6:]:
            raise Differs(f"{what}: got a {type(mine).__name__}, expected {reference.layout}")
        same_tensor(mine.to_dense(), reference.to_dense(), what, values)
    elif isinstance(reference, torch.Tensor):
        same_tensor(mine, reference, what, values)
    elif isinstance(reference, (list, tuple)):
        if not isinstance(mine, (list, tuple)) or len(mine) != len(reference):
            raise Differs(f"{what}: got {type(mine).__name__}, expected {len(reference)} values")
        for i, (a, b) in enumerate(zip(mine, reference)):
            same(a, b, f"{what} {i}" if len(reference) > 1 else what, values)
    elif isinstance(reference, torch.dtype):
        if mine != ours(reference):
            raise Differs(f"{what}: got {mine}, expected {reference}")
    elif isinstance(reference, float):
        if not isinstance(mine, float) or (
            values and not math.isclose(mine, reference, rel_tol=1e-6) and mine == mine
        ):
            raise Differs(f"{what}: got {mine!r}, expected {reference!r}")
    elif type(mine) is not type(reference) or (values and mine != reference):
        raise Differs(f"{what}: got {mine!r}, expected {reference!r}")


def same_tensor(mine: Any, reference: torch.Tensor, what: str, values: bool) -> None:
    if not isinstance(mine, tinytensor.Tensor):
        raise Differs(f"{what}: got a {type(mine).__name__}, expected a tensor")
    if tuple(mine.shape) != tuple(reference.shape):
        raise Differs(f"{what}: shape {tuple(mine.shape)}, expected {tuple(reference.shape)}")
    name = str(reference.dtype).removeprefix("torch.")
    if mine.dtype.name != name:
        raise Differs(f"{what}: dtype {mine.dtype.name}, expected {name}")
    if mine.requires_grad != reference.requires_grad:
        raise Differs(f"{what}: requires_grad {mine.requires_grad}, not {reference.requires_grad}")
    if values and name == "bfloat16":
        mine, reference = mine.detach().float(), reference.detach().float()  # NumPy has none
    if values:
        same_values(mine.detach().numpy(), to_numpy(reference), what)


def to_numpy(tensor: torch.Tensor) -> np.ndarray:
    if tensor._is_zerotensor():
        return torch.zeros(tensor.shape, dtype=tensor.dtype).numpy()
    return tensor.detach().resolve_conj().resolve_neg().numpy()


def same_values(x: np.ndarray, y: np.ndarray, what: str) -> None:
    if x.dtype.kind not in "fc":
        if not np.array_equal(x, y):
            raise Differs(f"{what}: values differ, {show(x, y, x != y)}")
        return
    rtol, atol = CLOSE[y.dtype.name]
    finite = np.abs(y[np.isfinite(y)])
    scale = max(1.0, float(finite.max(initial=0))) if y.dtype.itemsize < 8 else 1.0
    close = np.isclose(x, y, rtol=rtol, atol=atol * scale, equal_nan=True)
    if not close.all():
        raise Differs(f"{what}: values differ, {show(x, y, ~close)}")


def show(x: np.ndarray, y: np.ndarray, where: np.ndarray) -> str:
    return (
        f"{int(where.sum())} of {x.size}: got {x[where].flat[0]!r}, expected {y[where].flat[0]!r}"
    )


# ------------------------------------------------------------------------------------------
# Derivatives
# ------------------------------------------------------------------------------------------


def same_gradients(mine: Any, inputs: list, reference: Any, their_inputs: list,
                   order: int = 1) -> None:  # fmt: skip
    """Compare d(Σ w·y)/dx, and for order 2 also the derivative of the sum of that with weights."""
    for level in range(1, order + 1):
        outputs = [y for y in leaves(mine) if y.requires_grad]
        expected = [y for y in leaves(reference) if y.requires_grad]
        if len(outputs) != len(expected):
            raise Differs(f"{len(outputs)} results require grad, expected {len(expected)}")
        if not expected:
            return
        weights = weights_for(expected)
        theirs = attempt(gradients, torch, expected, their_inputs,
                         [torch.from_numpy(w) for w in weights], level < order)  # fmt: skip
        if theirs.error is not None and level > 1:
            return  # PyTorch has no second derivative
        found = attempt(gradients, tinytensor, outputs, inputs, [wrap(w) for w in weights],
                        level < order)  # fmt: skip
        if theirs.error is not None:
            agree(found, theirs)
            return
        if found.error is not None:
            raise Differs(
                f"derivative {level}: {type(found.error).__name__}: {first_line(found.error)}"
            )
        for i, (a, b) in enumerate(zip(found.result, theirs.result)):
            what = f"derivative {level} of input {i}"
            if a is None or b is None:  # one library says None where the other has zeros
                given = to_numpy(b) if a is None and b is not None else None
                if b is None and a is not None:
                    given = a.detach().numpy()
                if given is not None and np.any(given):
                    raise Differs(f"{what}: None against numbers")
                continue
            if tuple(a.shape) != tuple(b.shape) or a.dtype.name != str(b.dtype)[6:]:
                raise Differs(f"{what}: got {a.dtype} {a.shape}, expected {b.dtype} {b.shape}")
            same_values(a.detach().numpy(), to_numpy(b), what)
        pairs = [(a, b) for a, b in zip(found.result, theirs.result)
                 if a is not None and b is not None and b.requires_grad]  # fmt: skip
        mine, reference = [a for a, _ in pairs], [b for _, b in pairs]
        if any(not a.requires_grad for a in mine):
            # PyTorch records a derivative that does not depend on x, such as that of x + y.
            keep = [i for i, a in enumerate(mine) if a.requires_grad]
            mine, reference = [mine[i] for i in keep], [reference[i] for i in keep]


def gradients(library: Any, outputs: list, inputs: list, weights: list, create: bool) -> Any:
    return library.autograd.grad(
        outputs, inputs, weights, allow_unused=True, create_graph=create, retain_graph=create
    )


def weights_for(outputs: list) -> list:
    rng = np.random.default_rng(1)
    made = []
    for y in outputs:
        dtype = np.dtype(np.float32) if y.dtype == torch.bfloat16 else to_numpy(y).dtype
        w = rng.uniform(0.5, 1.5, tuple(y.shape))
        if dtype.kind == "c":
            w = w + 1j * rng.uniform(0.5, 1.5, tuple(y.shape))
        made.append(np.asarray(w).astype(dtype))
    return made
