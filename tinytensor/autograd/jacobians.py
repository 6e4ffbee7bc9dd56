"""Jacobians by backward, by forward mode and by finite differences, for `gradcheck`.

A Jacobian is an array [input element, output element] of real numbers; a complex number counts as
two, its real and its imaginary part.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..backend import xp
from ..devices import to_device
from ..dtype import real_dtype
from . import engine
from .forward_ad import dual_level, make_dual, unpack_dual
from .settings import enable_grad
from .variable import Variable, own_copy, wrap

Function = Callable[..., Any]


def by_backward(
    func: Function, inputs: tuple, places: list[int], outputs: Any = None
) -> list[list]:
    """For each output and input, the Jacobian computed by backward."""
    outputs = outputs_of(func, inputs) if outputs is None else outputs
    return [of_output(output, [inputs[i] for i in places]) for output in outputs]


def by_forward(func: Function, inputs: tuple, places: list[int], outputs: tuple) -> list[list]:
    """For each output and input, the Jacobian computed by forward mode. No input requires grad."""
    plain = [x.detach() if isinstance(x, Variable) else x for x in inputs]
    jacobians: list[list] = [[] for _ in outputs]
    for i in places:
        rows: list[list] = [[] for _ in outputs]
        for tangent in basis(inputs[i]):
            with dual_level():
                duals = list(plain)
                for k in places:
                    zeros = wrap(xp(plain[k].array).zeros_like(plain[k].array))
                    duals[k] = make_dual(plain[k], tangent if k == i else zeros)
                results = outputs_of(func, tuple(duals))
                for o, y in enumerate(results):
                    derivative = unpack_dual(y).tangent
                    array = y.array * 0 if derivative is None else derivative.array
                    rows[o].append(_real_numbers(to_device(array, "cpu")))
        for o, y in enumerate(outputs):
            size = y.array.size * parts(y.array)
            jacobians[o].append(np.array(rows[o], dtype=np.float64).reshape(len(rows[o]), size))
    return jacobians


def of_output(output: Any, inputs: Sequence[Any]) -> list[np.ndarray]:
    """For each input, the Jacobian [input element, output element] computed by backward."""
    size = output.array.size * parts(output.array)
    jacobians = [np.zeros((x.array.size * parts(x.array), size)) for x in inputs]
    if not output._tracked:
        return jacobians
    for j, weight in enumerate(basis(output)):
        found = engine.grad(output, list(inputs), weight, retain_graph=True, allow_unused=True)
        for jacobian, g in zip(jacobians, found):
            if g is not None:
                jacobian[:, j] = _real_numbers(to_device(g.array, "cpu"))
    return jacobians


def by_differences(func: Function, inputs: tuple, x: Any, o: int, eps: float) -> np.ndarray:
    """The Jacobian [input element, output element] by central differences."""
    rows = []
    home, usual = x.array, outputs_of(func, inputs)[o].array
    flat = _real_numbers(home)
    try:
        for i in range(flat.size):
            shifted = []
            for step in (eps, -eps):
                moved = flat.copy()
                moved[i] += step
                x.array = moved.view(home.dtype).reshape(home.shape)
                with enable_grad():  # func may take derivatives itself
                    out = outputs_of(func, inputs)[o].array
                for what in ("shape", "dtype"):
                    if getattr(out, what) != getattr(usual, what):
                        raise AssertionError(
                            f"gradcheck: output {o} of {name_of(func)} has another {what} when an "
                            f"input is changed by {eps}, expected the same"
                        )
                shifted.append(_real_numbers(to_device(out, "cpu")).astype(np.float64))
            rows.append((shifted[0] - shifted[1]) / (2 * eps))
    finally:
        x.array = home
    return np.array(rows).reshape(flat.size, usual.size * parts(usual))


def parts(array: Any) -> int:
    """The number of real numbers in an element."""
    return 2 if array.dtype.kind == "c" else 1


def _real_numbers(array: Any) -> Any:
    """The elements of an array in one dimension; of complex ones, the two parts in turn."""
    return own_copy(array).reshape(-1).view(real_dtype(array.dtype))


def outputs_of(func: Function, inputs: tuple) -> tuple:
    """The floating point and complex tensors that func returns."""
    outputs = as_tuple(func(*inputs))
    return tuple(y for y in outputs if isinstance(y, Variable) and y.array.dtype.kind in "fc")


def as_tuple(value: Any) -> tuple:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def name_of(func: Function, output: Any = None) -> str:
    """The function's name; for a lambda, also the name of the op that produced its output."""
    name = getattr(func, "__name__", type(func).__name__)
    if name.endswith("<lambda>") and output is not None and output._node is not None:
        name += f" ({output.grad_fn.op_name})"
    return name


def basis(x: Any) -> Iterator[Any]:
    """One tensor of x's shape for each of its elements: 1 there, 0 elsewhere.

    Two for each complex element: 1 and i.
    """
    for i in range(x.array.size):
        for number in (1, 1j)[: parts(x.array)]:
            vector = xp(x.array).zeros(x.array.size, dtype=x.array.dtype)
            vector[i] = number
            yield wrap(vector.reshape(x.array.shape))


# ------------------------------------------------------------------------------------------
# PyTorch's old functions
# ------------------------------------------------------------------------------------------


def get_numerical_jacobian(
    fn: Function, inputs: Any, target: Any = None, eps: float = 1e-3, grad_out: float = 1.0
) -> list:
    """The Jacobians, by differences, of the first output of fn(inputs) for each input.

    target: the inputs to take, by default all that require grad. PyTorch's old function.
    """
    _warn_old("get_numerical_jacobian", grad_out)
    values = as_tuple(inputs)
    chosen = values if target is None else as_tuple(target)
    return [
        wrap(by_differences(lambda *v: fn(v), values, x, 0, eps))
        for x in chosen
        if isinstance(x, Variable) and x._tracked
    ]


def get_analytical_jacobian(
    inputs: Any, output: Any, nondet_tol: float = 0.0, grad_out: float = 1.0
) -> tuple:
    """(Jacobians by backward, whether they are reproducible, sizes right, dtypes right).

    The engine raises for wrong sizes, and converts dtypes. PyTorch's old function.
    """
    _warn_old("get_analytical_jacobian", grad_out)
    tracked = [x for x in as_tuple(inputs) if isinstance(x, Variable) and x._tracked]
    first, again = of_output(output, tracked), of_output(output, tracked)
    same = all(np.allclose(a, b, rtol=0, atol=nondet_tol) for a, b in zip(first, again))
    return tuple(map(wrap, first)), same, True, True


def _warn_old(name: str, grad_out: float) -> None:
    warnings.warn(
        f"{name}: `{name}` was part of PyTorch's private API; use gradcheck, or func.jacrev",
        FutureWarning,
        stacklevel=3,
    )
    if grad_out != 1.0:
        raise ValueError(f"{name}: Expected grad_out to be 1.0, got {grad_out}")
