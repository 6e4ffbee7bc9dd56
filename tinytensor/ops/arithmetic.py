"""Arithmetic, elementwise: sums, products, quotients and remainders.

Operands of different shapes are broadcast. The engine undoes that in backward, for every rule.
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.arguments import check_given, require_tensor
from ..autograd.op import Op
from ..autograd.variable import Variable
from ..backend import Array, xp
from ..kernels.machinery.route import accelerated
from ..out import takes_out
from .older_forms import older_form
from .promote import (
    NUMBERS,
    cast,
    common_dtype,
    library_of,
    promote,
    promote_float,
    refuse_complex,
    require_float,
    require_numbers,
    require_same_dtype,
    zeros_for,
)

if TYPE_CHECKING:
    from ..tensor import Tensor
    from .promote import Operand


# ------------------------------------------------------------------------------------------
# Sums and products
# ------------------------------------------------------------------------------------------


@accelerated("arithmetic", threshold=32768, directions=("forward",))
class Add(Op):
    """y = a + b;  da = g, db = g"""

    def forward(self, a: Array, b: Array) -> Array:
        return a + b

    def backward(self, g: Any) -> Any:
        return g, g


class Sub(Op):
    """y = a − b;  da = g, db = −g"""

    def forward(self, a: Array, b: Array) -> Array:
        return a - b

    def backward(self, g: Any) -> Any:
        return g, -g if self.needs(1) else None


class Mul(Op):
    """y = a·b;  da = g·b, db = g·a"""

    saves = {"a": "b", "b": "a"}

    def forward(self, a: Array, b: Array) -> Array:
        return a * b

    def backward(self, g: Any) -> Any:
        a, b = self.saved
        return None if b is None else g * b, None if a is None else g * a


class Scale(Op):
    """y = c·x for a number c;  dx = c·g"""

    def forward(self, x: Array, c: float) -> Array:
        self.c = c
        return x * c

    def backward(self, g: Any) -> Any:
        return g * self.c


@takes_out("cast", elementwise=True)
def add(input: Operand, other: Operand, *older: Tensor, alpha: float = 1) -> Tensor:
    """input + alpha·other"""
    if older:
        return older_form(add, input, other, *older)
    a, b = promote(input, other, "add")
    return Add.apply(a, b if alpha == 1 else _scaled("add", a, b, alpha))


@takes_out("cast", elementwise=True)
def sub(input: Operand, other: Operand, *older: Tensor, alpha: float = 1) -> Tensor:
    """input − alpha·other"""
    if older:
        return older_form(sub, input, other, *older)
    if _is_bool(input) or _is_bool(other):
        raise RuntimeError(
            "sub: got a bool operand, expected numbers; use ^ or logical_xor(), or ~ to invert"
        )
    a, b = promote(input, other, "sub")
    return Sub.apply(a, b if alpha == 1 else _scaled("sub", a, b, alpha))


def rsub(input: Operand, other: Operand, *, alpha: float = 1) -> Tensor:
    """other − alpha·input"""
    require_tensor("rsub", input)
    return sub(other, input, alpha=alpha)


@takes_out("cast", elementwise=True)
def mul(input: Operand, other: Operand) -> Tensor:
    """input·other"""
    return Mul.apply(*promote(input, other, "mul"))


def _is_bool(value: Any) -> bool:
    if isinstance(value, Variable):
        return value.array.dtype.kind == "b"
    if isinstance(value, bool):
        return True
    dtype = getattr(value, "dtype", None)
    return dtype is not None and dtype.kind == "b"


def _scaled(name: str, a: Any, b: Any, alpha: float) -> Any:
    """alpha·b, for operands that are already promoted."""
    dtype = common_dtype(name, a, b)
    if isinstance(alpha, float) and dtype.kind not in "fVc":
        raise RuntimeError(
            f"{name}: got alpha={alpha} for {dtype} tensors, expected an integer alpha"
        )
    if isinstance(alpha, complex) and dtype.kind != "c":
        raise RuntimeError(f"{name}: got alpha={alpha} for {dtype} tensors, expected a real alpha")
    if isinstance(b, (int, float, complex)):
        return bool(b * alpha) if dtype.kind == "b" else b * alpha
    if isinstance(b, Variable) and isinstance(alpha, (int, float)) and dtype.kind in "fVc":
        return Scale.apply(cast(b, dtype), alpha)
    if type(b) in NUMBERS:
        return bool(b and alpha) if dtype.kind == "b" else b * alpha
    return Mul.apply(*promote(b, bool(alpha) if dtype.kind == "b" else alpha))


# ------------------------------------------------------------------------------------------
# Quotients
# ------------------------------------------------------------------------------------------


class Div(Op):
    """y = a/b;  da = g/b, db = −g·a/b²"""

    saves = {"a": "b", "b": ("a", "b")}

    def forward(self, a: Array, b: Array) -> Array:
        return a / b

    def backward(self, g: Any) -> Any:
        a, b = self.saved
        da = g / b
        return da, -da * a / b if self.needs(1) else None


class FloorDivide(Op):
    """y = ⌊a/b⌋;  flat: da = 0, db = 0"""

    def forward(self, a: Array, b: Array) -> Array:
        _is_integer_division("floor_divide", a, b)
        return a // b

    def backward(self, g: Any) -> Any:
        return zeros_for(g), zeros_for(g)


class TruncDivide(Op):
    """y = a/b, rounded towards zero;  flat: da = 0, db = 0"""

    op_name = "div"

    def forward(self, a: Array, b: Array) -> Array:
        if not _is_integer_division("div", a, b):
            return library_of(a, b).trunc(a / b)
        quotient = a // b
        rounded_down = (quotient < 0) & (quotient * b != a)
        return quotient + rounded_down

    def backward(self, g: Any) -> Any:
        return zeros_for(g), zeros_for(g)


class Remainder(Op):
    """y = a − b·⌊a/b⌋, with the sign of b;  da = g, db = −g·⌊a/b⌋"""

    saves = {"a": "b", "b": "b"}

    def forward(self, a: Array, b: Array) -> Array:
        _is_integer_division("remainder", a, b)
        return a % b

    def backward(self, g: Any) -> Any:
        a, b = self.saved
        return g, -g * floor_divide(a, b) if self.needs(1) else None


class Fmod(Op):
    """y = a − b·trunc(a/b), with the sign of a;  da = g, db = −g·trunc(a/b)"""

    saves = {"a": "b", "b": "b"}

    def forward(self, a: Array, b: Array) -> Array:
        _is_integer_division("fmod", a, b)
        return library_of(a, b).fmod(a, b)

    def backward(self, g: Any) -> Any:
        a, b = self.saved
        return g, -g * div(a, b, rounding_mode="trunc") if self.needs(1) else None


def _is_integer_division(name: str, a: Array, b: Array) -> bool:
    """Whether a and b are integers; an error for bools and for division of integers by zero."""
    array = a if hasattr(a, "dtype") else b
    if array.dtype.kind == "f":
        return False
    refuse_complex(name, array)
    require_numbers(name, array, NotImplementedError)
    # On a GPU this check would wait for the device; PyTorch raises no error there either.
    if library_of(a, b) is np and not np.all(b):
        raise RuntimeError(f"{name}: integer division by zero (ZeroDivisionError)")
    return True


@takes_out("cast", elementwise=True)
def div(input: Operand, other: Operand, *, rounding_mode: str | None = None) -> Tensor:
    """input / other; rounding_mode "trunc" rounds towards zero, "floor" downwards."""
    if rounding_mode is None:
        return Div.apply(*promote_float(input, other, "div"))
    if rounding_mode == "trunc":
        return TruncDivide.apply(*promote(input, other, "div"))
    if rounding_mode == "floor":
        return FloorDivide.apply(*promote(input, other, "div"))
    raise RuntimeError(
        f"div: got rounding_mode {rounding_mode!r}, expected None, 'trunc' or 'floor'"
    )


@takes_out("cast", elementwise=True)
def floor_divide(input: Operand, other: Operand) -> Tensor:
    """⌊input / other⌋"""
    return FloorDivide.apply(*promote(input, other, "floor_divide"))


@takes_out("cast", elementwise=True)
def remainder(input: Operand, other: Operand) -> Tensor:
    """input − other·⌊input / other⌋: Python's %, with the sign of `other`."""
    return Remainder.apply(*promote(input, other, "remainder"))


@takes_out("cast", elementwise=True)
def fmod(input: Operand, other: Operand) -> Tensor:
    """C's remainder, with the sign of `input`."""
    return Fmod.apply(*promote(input, other, "fmod"))


# ------------------------------------------------------------------------------------------
# The opposite
# ------------------------------------------------------------------------------------------


class Neg(Op):
    """y = −x;  dx = −g"""

    def forward(self, x: Array) -> Array:
        if x.dtype.kind == "b":
            raise RuntimeError("neg: got dtype bool, expected numbers; use ~ or logical_not()")
        return -x

    def backward(self, g: Any) -> Any:
        return -g


@takes_out("same dtype", elementwise=True)
def neg(input: Tensor) -> Tensor:
    """−input"""
    return Neg.apply(input)


def positive(input: Tensor) -> Tensor:
    """input, itself"""
    require_numbers("positive", input)
    return input


# ------------------------------------------------------------------------------------------
# Sums of products
# ------------------------------------------------------------------------------------------


class Lerp(Op):
    """y = a + w·(b − a);  da = g·(1 − w), db = g·w, dw = g·(b − a)"""

    saves = {"a": "w", "b": "w", "w": ("a", "b")}

    def forward(self, a: Array, b: Array, w: Any) -> Array:
        # From the nearer end, so that w = 1 gives b exactly.
        return xp(a).where(builtins.abs(w) < 0.5, a + w * (b - a), b - (1 - w) * (b - a))

    def backward(self, g: Any) -> Any:
        a, b, w = self.saved
        da = g * (1 - w) if self.needs(0) else None
        db = g * w if self.needs(1) else None
        dw = g * (b - a) if self.needs(2) else None
        return da, db, dw


class LerpByNumber(Op):
    """y = a + w·(b − a) for a number w;  da = g·(1 − w), db = g·w"""

    op_name = "lerp"

    def forward(self, a: Array, b: Array, w: float) -> Array:
        self.w = w
        return a + w * (b - a) if builtins.abs(w) < 0.5 else b - (1 - w) * (b - a)

    def backward(self, g: Any) -> Any:
        return g * (1 - self.w) if self.needs(0) else None, g * self.w if self.needs(1) else None


def _lerp_out(args: tuple, kwargs: dict, result: Any) -> str:
    weight = kwargs["weight"] if "weight" in kwargs else args[-1]
    return "same dtype" if getattr(weight, "ndim", 0) else "cast"


@takes_out(_lerp_out, elementwise=True)
def lerp(input: Tensor, end: Tensor, weight: Operand) -> Tensor:
    """input + weight·(end − input): from `input` at weight 0 to `end` at weight 1."""
    if not isinstance(end, Variable):
        check_given("lerp", end=end)
    require_float("lerp", input, NotImplementedError)
    require_same_dtype("lerp", "end", end, input)
    if isinstance(weight, (int, float, complex)):
        return LerpByNumber.apply(input, end, weight)
    check_given("lerp", weight=weight)
    require_same_dtype("lerp", "weight", weight, input)
    return Lerp.apply(input, end, weight)


@takes_out("cast", elementwise=True)
def addcmul(
    input: Tensor, tensor1: Tensor, tensor2: Tensor, *older: Tensor, value: float = 1
) -> Tensor:
    """input + (value·tensor1)·tensor2"""
    require_tensor("addcmul", input)
    if older:
        return older_form(addcmul, input, tensor1, tensor2, *older)
    if not (isinstance(tensor1, Variable) and isinstance(tensor2, Variable)):
        check_given("addcmul", tensor1=tensor1, tensor2=tensor2)
    dtype = common_dtype("addcmul", tensor1, tensor2)
    if dtype.kind not in "fVc":
        return add(input, mul(tensor1, tensor2), alpha=value)
    return add(input, mul(_times(value, tensor1, dtype), tensor2))


@takes_out("cast", elementwise=True)
def addcdiv(
    input: Tensor, tensor1: Tensor, tensor2: Tensor, *older: Tensor, value: float = 1
) -> Tensor:
    """input + (value·tensor1)/tensor2"""
    if older:
        return older_form(addcdiv, input, tensor1, tensor2, *older)
    if not (isinstance(tensor1, Variable) and isinstance(tensor2, Variable)):
        check_given("addcdiv", tensor1=tensor1, tensor2=tensor2)
    require_tensor("addcdiv", input)
    dtype = common_dtype("addcdiv", tensor1, tensor2)
    if dtype.kind not in "fVc":
        raise RuntimeError(
            "addcdiv: got integer tensor1 and tensor2, expected floating point; convert one first"
        )
    return add(input, div(_times(value, tensor1, dtype), tensor2))


def _times(value: float, tensor: Tensor, dtype: np.dtype) -> Tensor:
    """value·tensor, multiplied first, as in PyTorch: the order decides what overflows."""
    return tensor if value == 1 else mul(cast(tensor, dtype), value)


subtract, multiply, divide, true_divide = sub, mul, div, div
negative = neg

__all__ = [
    "add", "addcdiv", "addcmul", "div", "divide", "floor_divide", "fmod", "lerp",
    "mul", "multiply", "neg", "negative", "positive", "remainder", "rsub", "sub",
    "subtract", "true_divide",
]  # fmt: skip
