"""New tensors of evenly spaced numbers: arange, linspace and logspace."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.variable import Variable, wrap
from ..backend import Array
from ..devices import module_for
from ..dtype import complex_dtype, default_float, to_numpy_dtype
from ..out import takes_out
from .from_data import INT64
from .memory_errors import named_if_out_of_memory
from .size_arguments import size_from

if TYPE_CHECKING:
    from ..tensor import Tensor


@takes_out("dtype of out", any_shape=True)
@named_if_out_of_memory("arange")
def arange(start: Any = None, end: Any = None, step: Any = 1, *, dtype: Any = None,
           device: Any = None, requires_grad: bool = False, **others: Any) -> Tensor:  # fmt: skip
    """start, start + step, … below end; arange(end) starts at 0. int64 if all three are ints."""
    size_from("arange", ((),), others)
    start, end = (start, end) if end is not None else (None, start)
    start, end, step = (_number("arange", v) for v in (0 if start is None else start, end, step))
    integers = all(isinstance(v, int) for v in (start, end, step))
    natural = INT64 if integers else default_float()
    numpy_dtype = natural if dtype is None else to_numpy_dtype(dtype)
    if numpy_dtype.kind == "c":
        raise NotImplementedError(f"arange: got dtype {numpy_dtype}, expected a real dtype")
    if not math.isfinite(start) or not math.isfinite(end):
        raise RuntimeError(f"arange: from {start} to {end}, expected finite numbers")
    if (end - start) * step < 0:
        raise RuntimeError(
            f"arange: from {start} to {end} by step {step} goes the wrong way; change step's sign"
        )
    if numpy_dtype == INT64:
        if step and not int(step):
            raise ValueError(f"arange: step {step} is 0 in int64, expected another number")
        start, end, step = int(start), int(end), int(step)
    if step == 0:
        raise RuntimeError("arange: step is 0, expected another number")
    library = module_for(device)
    if integers or numpy_dtype == INT64:
        array = library.arange(start, end, step, dtype=INT64)
    else:
        count = math.ceil((end - start) / step)
        if numpy_dtype.kind not in "fV":  # float arguments set only the length of an integer range
            start, step = int(start), int(step)
        array = start + step * library.arange(count, dtype=np.float64)
    return wrap(_to_dtype(array, numpy_dtype)).requires_grad_(requires_grad)


def _number(name: str, value: Any, may_be_complex: bool = False) -> Any:
    """A Python number from a number or a 0-d tensor."""
    if isinstance(value, np.generic) or (isinstance(value, Variable) and not value.array.ndim):
        return value.item()
    if isinstance(value, Variable):
        raise RuntimeError(f"{name}: got a tensor of shape {tuple(value.shape)}, expected a number")
    if not isinstance(value, (int, float, complex) if may_be_complex else (int, float)):
        raise TypeError(f"{name}: got a {type(value).__name__}, expected a number")
    return value


@np.errstate(all="ignore")
def _to_dtype(array: Array, dtype: np.dtype) -> Array:
    """float64 or int64 values converted to a dtype; integers out of range wrap."""
    return (array.astype(INT64) if dtype.kind in "iu" else array).astype(dtype)


def _dtype_between(name: str, start: Any, end: Any, dtype: Any) -> np.dtype:
    """The dtype of numbers from start to end, of which one or both may be complex."""
    natural = default_float()
    if isinstance(_number(name, start, True), complex) or isinstance(
        _number(name, end, True), complex
    ):
        natural = complex_dtype(natural)
    if dtype is None:
        return natural
    given = to_numpy_dtype(dtype)
    if natural.kind == "c" and given.kind != "c":
        raise RuntimeError(f"{name}: got dtype {given}, expected a complex one, as start or end")
    return given


def _evenly(name: str, start: Any, end: Any, steps: Any, dtype: np.dtype, device: Any) -> Array:
    """`steps` float64 or complex128 numbers from start to end, counted from the nearer one."""
    start, end = _number(name, start, True), _number(name, end, True)
    steps = operator.index(steps)
    if steps < 0:
        raise RuntimeError(f"{name}: steps={steps}, expected a non-negative number")
    if dtype.kind not in "fVc":
        start, end = int(start), int(end)
    index = module_for(device).arange(steps, dtype=np.float64)
    step = (end - start) / (steps - 1) if steps > 1 else 0.0
    upper = end - step * (steps - 1 - index) if steps > 1 else index + start
    return module_for(device).where(index < steps // 2, start + step * index, upper)


@takes_out("dtype of out", any_shape=True)
@named_if_out_of_memory("linspace")
def linspace(start: Any, end: Any, steps: int, *, dtype: Any = None, device: Any = None,
             requires_grad: bool = False, **others: Any) -> Tensor:  # fmt: skip
    """`steps` numbers from start to end, both included, evenly apart."""
    size_from("linspace", ((),), others)
    numpy_dtype = _dtype_between("linspace", start, end, dtype)
    array = _evenly("linspace", start, end, steps, numpy_dtype, device)
    return wrap(_to_dtype(array, numpy_dtype)).requires_grad_(requires_grad)


@takes_out("dtype of out", any_shape=True)
@named_if_out_of_memory("logspace")
def logspace(start: Any, end: Any, steps: int, base: float = 10.0, *, dtype: Any = None,
             device: Any = None, requires_grad: bool = False, **others: Any) -> Tensor:  # fmt: skip
    """base to the power of each number of linspace(start, end, steps)."""
    size_from("logspace", ((),), others)
    numpy_dtype = _dtype_between("logspace", start, end, dtype)
    exponents = _evenly("logspace", start, end, steps, numpy_dtype, device)
    with np.errstate(all="ignore"):  # overflow is inf, without a warning
        array = module_for(device).power(float(base), exponents)
    return wrap(_to_dtype(array, numpy_dtype)).requires_grad_(requires_grad)


__all__ = ["arange", "linspace", "logspace"]
