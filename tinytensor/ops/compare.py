"""True or False for each element: comparisons, isnan and similar tests, logic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..autograd.arguments import check_flags, require_tensor
from ..autograd.op import Op
from ..autograd.variable import unwrap
from ..backend import Array, is_array, xp
from ..out import takes_out
from .promote import library_of, promote, promote_ordered, require_same_dtype

if TYPE_CHECKING:
    from ..tensor import Tensor
    from .promote import Operand


class Question(Op):
    """An op whose result is boolean: it has no gradient."""

    differentiable = False


class Eq(Question):
    """y = (a = b)"""

    def forward(self, a: Array, b: Array) -> Array:
        return a == b


class Ne(Question):
    """y = (a ≠ b)"""

    def forward(self, a: Array, b: Array) -> Array:
        return a != b


class Lt(Question):
    """y = (a < b)"""

    def forward(self, a: Array, b: Array) -> Array:
        return a < b


class Le(Question):
    """y = (a ≤ b)"""

    def forward(self, a: Array, b: Array) -> Array:
        return a <= b


class Gt(Question):
    """y = (a > b)"""

    def forward(self, a: Array, b: Array) -> Array:
        return a > b


class Ge(Question):
    """y = (a ≥ b)"""

    def forward(self, a: Array, b: Array) -> Array:
        return a >= b


@takes_out("cast", elementwise=True)
def eq(input: Operand, other: Operand) -> Tensor:
    """input = other, elementwise."""
    return Eq.apply(*promote(input, other, "eq"))


@takes_out("cast", elementwise=True)
def ne(input: Operand, other: Operand) -> Tensor:
    """input ≠ other, elementwise."""
    return Ne.apply(*promote(input, other, "ne"))


@takes_out("cast", elementwise=True)
def lt(input: Operand, other: Operand) -> Tensor:
    """input < other, elementwise."""
    return Lt.apply(*promote_ordered(input, other, "lt"))


@takes_out("cast", elementwise=True)
def le(input: Operand, other: Operand) -> Tensor:
    """input ≤ other, elementwise."""
    return Le.apply(*promote_ordered(input, other, "le"))


@takes_out("cast", elementwise=True)
def gt(input: Operand, other: Operand) -> Tensor:
    """input > other, elementwise."""
    return Gt.apply(*promote_ordered(input, other, "gt"))


@takes_out("cast", elementwise=True)
def ge(input: Operand, other: Operand) -> Tensor:
    """input ≥ other, elementwise."""
    return Ge.apply(*promote_ordered(input, other, "ge"))


# ------------------------------------------------------------------------------------------
# Alike
# ------------------------------------------------------------------------------------------


class IsClose(Question):
    """y = |a − b| ≤ atol + rtol·|b|, or a = b"""

    op_name = "isclose"

    def forward(self, a: Array, b: Array, rtol: float, atol: float, equal_nan: bool) -> Array:
        close = a == b
        if equal_nan:
            close = close | ((a != a) & (b != b))  # only NaN differs from itself
        if a.dtype.kind == "b":
            return close
        error = abs(a - b)
        return close | (xp(a).isfinite(error) & (error <= atol + abs(rtol * b)))


def isclose(
    input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Tensor:
    """|input − other| ≤ atol + rtol·|other|, elementwise."""
    if type(equal_nan) is not bool:
        check_flags("isclose", equal_nan=equal_nan)
    _expect_tensors("isclose", input, other)
    require_same_dtype("isclose", "other", other, input)
    if rtol < 0 or atol < 0:
        raise RuntimeError(f"isclose: got rtol {rtol} and atol {atol}, expected none below 0")
    return IsClose.apply(input, other, rtol, atol, equal_nan)


def allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """Whether `isclose` holds for every element."""
    if type(equal_nan) is not bool:
        check_flags("allclose", equal_nan=equal_nan)
    return bool(unwrap(isclose(input, other, rtol, atol, equal_nan)).all())


def equal(input: Tensor, other: Tensor) -> bool:
    """Whether the two have the same shape and the same elements."""
    _expect_tensors("equal", input, other)
    return input.shape == other.shape and bool(unwrap(eq(input, other)).all())


def _expect_tensors(name: str, *values: Any) -> None:
    for value in values:
        if not is_array(unwrap(value)):
            raise TypeError(f"{name}: got a {type(value).__name__}, expected a tensor")


# ------------------------------------------------------------------------------------------
# NaN and infinity
# ------------------------------------------------------------------------------------------


class IsNan(Question):
    """y = whether x is NaN"""

    op_name = "isnan"

    def forward(self, x: Array) -> Array:
        return xp(x).isnan(x)


class IsInf(Question):
    """y = whether x is ∞ or −∞"""

    op_name = "isinf"

    def forward(self, x: Array) -> Array:
        return xp(x).isinf(x)


class IsFinite(Question):
    """y = whether x is neither NaN nor infinite"""

    op_name = "isfinite"

    def forward(self, x: Array) -> Array:
        return xp(x).isfinite(x)


def isnan(input: Tensor) -> Tensor:
    """Whether each element is NaN."""
    require_tensor("isnan", input)
    return IsNan.apply(input)


def isinf(input: Tensor) -> Tensor:
    """Whether each element is ∞ or −∞."""
    require_tensor("isinf", input)
    return IsInf.apply(input)


def isfinite(input: Tensor) -> Tensor:
    """Whether each element is neither NaN nor infinite."""
    require_tensor("isfinite", input)
    return IsFinite.apply(input)


# ------------------------------------------------------------------------------------------
# Logic
# ------------------------------------------------------------------------------------------


class LogicalAnd(Question):
    """y = a ≠ 0 and b ≠ 0"""

    def forward(self, a: Array, b: Array) -> Array:
        return library_of(a, b).logical_and(a, b)


class LogicalOr(Question):
    """y = a ≠ 0 or b ≠ 0"""

    def forward(self, a: Array, b: Array) -> Array:
        return library_of(a, b).logical_or(a, b)


class LogicalXor(Question):
    """y = either a ≠ 0 or b ≠ 0"""

    def forward(self, a: Array, b: Array) -> Array:
        return library_of(a, b).logical_xor(a, b)


class LogicalNot(Question):
    """y = (x = 0)"""

    def forward(self, x: Array) -> Array:
        return xp(x).logical_not(x)


@takes_out("cast", elementwise=True)
def logical_and(input: Tensor, other: Tensor) -> Tensor:
    """Both are true, elementwise; a number is true unless it is 0."""
    _expect_tensors("logical_and", input, other)
    return LogicalAnd.apply(input, other)


@takes_out("cast", elementwise=True)
def logical_or(input: Tensor, other: Tensor) -> Tensor:
    """At least one is true, elementwise."""
    _expect_tensors("logical_or", input, other)
    return LogicalOr.apply(input, other)


@takes_out("cast", elementwise=True)
def logical_xor(input: Tensor, other: Tensor) -> Tensor:
    """Exactly one is true, elementwise."""
    _expect_tensors("logical_xor", input, other)
    return LogicalXor.apply(input, other)


@takes_out("cast", elementwise=True)
def logical_not(input: Tensor) -> Tensor:
    """Whether each element is 0 or False."""
    require_tensor("logical_not", input)
    return LogicalNot.apply(input)


greater, greater_equal, less, less_equal, not_equal = gt, ge, lt, le, ne

__all__ = [
    "allclose", "eq", "equal", "ge", "greater", "greater_equal", "gt", "isclose", "isfinite",
    "isinf", "isnan", "le", "less", "less_equal", "logical_and", "logical_not", "logical_or",
    "logical_xor", "lt", "ne", "not_equal",
]  # fmt: skip
