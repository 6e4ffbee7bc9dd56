"""Choosing between values, elementwise: where, maximum, minimum, clamp, nan_to_num.

The gradient goes to the value that was chosen; the rules use `Where` for that too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..autograd.arguments import require_tensor
from ..autograd.op import Op
from ..autograd.variable import Variable, unwrap
from ..backend import Array, xp
from ..dtype import finfo
from ..out import takes_out
from .compare import isfinite, isnan
from .masked import nonzero
from .promote import (
    check_number_fits,
    common_dtype,
    library_of,
    promote_ordered,
    promote_to,
    refuse_complex,
    require_numbers,
)

if TYPE_CHECKING:
    from ..tensor import Tensor
    from .promote import Operand


class Where(Op):
    """y = a where the condition holds, else b;  da = g where it holds, db = g where it does not"""

    saves = ("condition",)

    def forward(self, condition: Array, a: Array, b: Array) -> Array:
        return xp(condition).where(condition, a, b)

    def backward(self, g: Any) -> Any:
        (condition,) = self.saved
        da = Where.apply(condition, g, 0.0) if self.needs(1) else None
        db = Where.apply(condition, 0.0, g) if self.needs(2) else None
        return None, da, db


@takes_out("same dtype", elementwise=True)
def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """`input` where the condition holds, else `other`; either may be a number.

    where(condition) alone returns the indices at which it holds, one tensor for each dimension.
    """
    if input is None and other is None:
        return nonzero(condition, as_tuple=True)
    dtype = getattr(unwrap(condition), "dtype", None)
    if dtype is None:
        raise TypeError(f"where: condition is a {type(condition).__name__}, expected a bool tensor")
    if dtype.kind != "b":
        if dtype.name != "uint8":
            raise RuntimeError(f"where: condition has dtype {dtype}, expected bool")
        condition = condition != 0  # PyTorch's old booleans
    both = isinstance(input, Variable) and isinstance(other, Variable)
    if both and input.array.dtype is other.array.dtype:  # the common case needs no conversion
        return Where.apply(condition, input, other)
    result = common_dtype("where", input, other)
    check_number_fits("where", result, input, other)
    a, b = promote_to(result, input, other)
    if not hasattr(unwrap(a), "dtype") and not hasattr(unwrap(b), "dtype"):
        # Two numbers: the array library must not choose float64 for them.
        a = xp(unwrap(condition)).asarray(a, dtype=result)
    return Where.apply(condition, a, b)


# ------------------------------------------------------------------------------------------
# The larger and the smaller
# ------------------------------------------------------------------------------------------


class Maximum(Op):
    """y = max(a, b), NaN if either is;
    da = g where a > b, db = g where b > a, half of it each where a = b
    """

    saves = ("a", "b")

    def forward(self, a: Array, b: Array) -> Array:
        return library_of(a, b).maximum(a, b)

    def backward(self, g: Any) -> Any:
        a, b = self.saved
        shared = Where.apply(a == b, g / 2, g)
        da = Where.apply(a < b, 0.0, shared) if self.needs(0) else None
        db = Where.apply(a > b, 0.0, shared) if self.needs(1) else None
        return da, db


class Minimum(Op):
    """y = min(a, b), NaN if either is;
    da = g where a < b, db = g where b < a, half of it each where a = b
    """

    saves = ("a", "b")

    def forward(self, a: Array, b: Array) -> Array:
        return library_of(a, b).minimum(a, b)

    def backward(self, g: Any) -> Any:
        a, b = self.saved
        shared = Where.apply(a == b, g / 2, g)
        da = Where.apply(a > b, 0.0, shared) if self.needs(0) else None
        db = Where.apply(a < b, 0.0, shared) if self.needs(1) else None
        return da, db


class Fmax(Op):
    """y = max(a, b), the other one if one is NaN;  da = g where y is a, db = g elsewhere"""

    saves = ("a", "b")

    def forward(self, a: Array, b: Array) -> Array:
        return library_of(a, b).fmax(a, b)

    def backward(self, g: Any) -> Any:
        a, b = self.saved
        chose_a = (a >= b) | isnan(b)
        return Where.apply(chose_a, g, 0.0), Where.apply(chose_a, 0.0, g)


class Fmin(Op):
    """y = min(a, b), the other one if one is NaN;  da = g where y is a, db = g elsewhere"""

    saves = ("a", "b")

    def forward(self, a: Array, b: Array) -> Array:
        return library_of(a, b).fmin(a, b)

    def backward(self, g: Any) -> Any:
        a, b = self.saved
        chose_a = (a <= b) | isnan(b)
        return Where.apply(chose_a, g, 0.0), Where.apply(chose_a, 0.0, g)


@takes_out("cast", elementwise=True)
def maximum(input: Operand, other: Operand) -> Tensor:
    """The larger of the two, elementwise; NaN if either is."""
    return Maximum.apply(*promote_ordered(input, other, "maximum"))


@takes_out("cast", elementwise=True)
def minimum(input: Operand, other: Operand) -> Tensor:
    """The smaller of the two, elementwise; NaN if either is."""
    return Minimum.apply(*promote_ordered(input, other, "minimum"))


@takes_out("cast", elementwise=True)
def fmax(input: Tensor, other: Tensor) -> Tensor:
    """The larger of the two, elementwise; NaN only if both are."""
    return Fmax.apply(*promote_ordered(input, other, "fmax"))


@takes_out("cast", elementwise=True)
def fmin(input: Tensor, other: Tensor) -> Tensor:
    """The smaller of the two, elementwise; NaN only if both are."""
    return Fmin.apply(*promote_ordered(input, other, "fmin"))


# ------------------------------------------------------------------------------------------
# Within bounds
# ------------------------------------------------------------------------------------------


class Clamp(Op):
    """y = min(max(x, low), high);  dx = g where low ≤ x ≤ high,
    dlow = g where x < low < high, dhigh = g where x > high or low > high.

    A bound may be None.
    """

    saves = ("x", "low", "high")

    def forward(self, x: Array, low: Any, high: Any) -> Array:
        if low is not None:
            x = xp(x).maximum(x, low)
        return x if high is None else xp(x).minimum(x, high)

    def backward(self, g: Any) -> Any:
        x, low, high = self.saved
        dx = dlow = dhigh = None
        if self.needs(0):
            if low is None:
                inside = x <= high
            else:
                inside = x >= low if high is None else (x >= low) & (x <= high)
            dx = Where.apply(inside, g, 0.0)
        if self.needs(1):
            below = x < low if high is None else (x < low) & (low < high)
            dlow = Where.apply(below, g, 0.0)
        if self.needs(2):
            above = x > high if low is None else (x > high) | (high < low)
            dhigh = Where.apply(above, g, 0.0)
        return dx, dlow, dhigh


@takes_out("cast", elementwise=True)
def clamp(input: Tensor, min: Operand | None = None, max: Operand | None = None) -> Tensor:
    """input, held between the bounds min and max: numbers, tensors, or None for no bound."""
    if min is None and max is None:
        raise RuntimeError("clamp: got neither min nor max, expected at least one of them")
    given = [bound for bound in (min, max) if bound is not None]
    dtype = common_dtype("clamp", input, *given)
    if dtype.kind == "c":
        refuse_complex("clamp", input, *given)
    check_number_fits("clamp", dtype, *given)
    x, *given = promote_to(dtype, input, *given)
    low = None if min is None else given[0]
    high = None if max is None else given[-1]
    return Clamp.apply(x, low, high)


def _check_clamped(name: str, input: Any, bound: Any) -> None:
    require_tensor(name, input)
    if type(bound) is bool:
        require_numbers(name, input, NotImplementedError)


@takes_out("cast", elementwise=True)
def clamp_min(input: Tensor, min: Operand) -> Tensor:
    """input, but at least min."""
    _check_clamped("clamp_min", input, min)
    return clamp(input, min)


@takes_out("cast", elementwise=True)
def clamp_max(input: Tensor, max: Operand) -> Tensor:
    """input, but at most max."""
    _check_clamped("clamp_max", input, max)
    return clamp(input, None, max)


class NanToNum(Op):
    """y = x, with numbers in place of NaN and ±∞;  dx = g where x is finite"""

    saves = ("x",)

    def forward(self, x: Array, nan: float, posinf: Any, neginf: Any) -> Array:
        return xp(x).nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)

    def backward(self, g: Any) -> Any:
        (x,) = self.saved
        return Where.apply(isfinite(x), g, 0.0)


@takes_out("same dtype", elementwise=True)
def nan_to_num(
    input: Tensor, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    """input with NaN replaced by `nan`, ∞ by `posinf` and −∞ by `neginf`.

    By default infinities become the dtype's largest and smallest number.
    """
    require_tensor("nan_to_num", input)
    dtype = unwrap(input).dtype
    if dtype.itemsize == 2 and dtype.kind in "fV":  # the op itself sees float32
        limits = finfo(dtype)
        posinf = limits.max if posinf is None else posinf
        neginf = limits.min if neginf is None else neginf
    return NanToNum.apply(input, nan, posinf, neginf)


clip = clamp

__all__ = [
    "clamp", "clamp_max", "clamp_min", "clip", "fmax", "fmin", "maximum", "minimum", "nan_to_num",
    "where",
]  # fmt: skip
