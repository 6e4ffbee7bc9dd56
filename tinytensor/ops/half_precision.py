"""float16 and bfloat16: every op computes in float32 and rounds its result once, as PyTorch does.

An op on 16-bit tensors becomes three: the inputs in float32, the op, and its result rounded.

    Mul(a, b)  →  Cast(Mul(Cast(a), Cast(b)))

So rules and kernels never see 16-bit arrays, and gradients pass through the same casts: they are
computed in float32 and rounded to the dtype of each input. Ops that only move or show values run
on the 16-bit arrays themselves.

`apply` below becomes a wrapper of `Op.apply` when the first 16-bit tensor is made, not before: the
check of every argument would slow down programs that have none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..autograd.inplace import IndexWrite, ViewWrite
from ..autograd.op import wrap_apply
from ..autograd.variable import Variable
from ..backend import is_array
from ..dtype import on_first_use
from .arithmetic import Add, FloorDivide, Fmod, Remainder, Sub
from .autocast import cast_arguments
from .autocast_setting import setting
from .convert import Clone, ToDevice
from .float_parts import Nextafter
from .power import PowScalar
from .promote import Cast, cast

FLOAT32 = np.dtype(np.float32)
# As in PyTorch, x + 1.3 adds the 16-bit number nearest to 1.3, while x * 1.3 multiplies by 1.3.
ROUNDS_NUMBERS = (Add, FloorDivide, Fmod, PowScalar, Remainder, Sub)
# They copy values, as view ops do, or (Nextafter) depend on the dtype's own numbers.
EXACT = (Cast, Clone, IndexWrite, Nextafter, ToDevice, ViewWrite)

_halves: list[np.dtype] = []  # the 16-bit dtypes in use


def _half_of(args: tuple) -> np.dtype | None:
    """The dtype that the result is rounded to: that of the first floating point argument.

    None if no argument has a 16-bit dtype. CuPy computes float16 by itself.
    """
    first = None
    found = False
    for arg in args:
        array = arg.array if isinstance(arg, Variable) else arg
        dtype = getattr(array, "dtype", None)
        if dtype is None or not is_array(array) or dtype.kind not in "fcV":
            continue
        first = dtype if first is None else first
        found = found or (dtype in _halves and (dtype.kind == "V" or isinstance(array, np.ndarray)))
    return first if found else None


def apply(plain: Callable, cls: Any, *args: Any) -> Any:
    """`Op.apply` for programs that have 16-bit tensors; plain(op, *args) runs the op itself."""
    if setting.active is not None:
        args = cast_arguments(cls, args)
    dtype = _half_of(args)
    if dtype is None or cls.view or cls in EXACT:
        return plain(cls, *args)
    wide = [_widened(arg) for arg in args]
    if cls in ROUNDS_NUMBERS:
        wide = [_number(arg, dtype) if type(arg) in (float, int) else arg for arg in wide]
    out = plain(cls, *wide)
    if type(out) is tuple:
        return tuple(_rounded(part, dtype) for part in out)
    return _rounded(out, dtype)


def _widened(arg: Any) -> Any:
    """A 16-bit tensor or array in float32; anything else unchanged."""
    array = arg.array if isinstance(arg, Variable) else arg
    return cast(arg, FLOAT32) if is_array(array) and array.dtype in _halves else arg


@np.errstate(all="ignore")  # a large number becomes inf
def _number(value: float, dtype: np.dtype) -> float:
    """A number rounded to 16 bits."""
    return float(np.asarray(value).astype(dtype))


def _rounded(out: Any, dtype: np.dtype) -> Any:
    """A float32 result in the 16-bit dtype; indices and booleans unchanged."""
    array = out.array if isinstance(out, Variable) else np.asarray(out)
    return cast(out, dtype) if array.dtype == FLOAT32 and dtype in _halves else out


def _start(dtype: np.dtype) -> None:
    """From the first 16-bit tensor on, every op checks its arguments."""
    _halves.append(dtype)
    if len(_halves) == 1:
        wrap_apply(apply, True)


on_first_use.append(_start)
__all__: list[str] = []
