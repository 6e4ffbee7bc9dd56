"""The operators of Tensor: `x + y`, `x @ y`, `x == y`, `x[i]`, `x += y`.

Each calls the function of `ops` that PyTorch's operator stands for: `x @ y` is `ops.matmul(x, y)`.
For an operand of a type it cannot use it returns NotImplemented, from which Python makes its usual
TypeError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import ops
from .autograd import inplace
from .autograd.variable import Variable
from .ops.arithmetic import Add, Div, Mul, Sub
from .ops.power import PowScalar
from .ops.promote import is_operand
from .out import methods_without_out, without_out


def in_place(function: Callable) -> Callable:
    """Make the method that writes function(x, …) into x."""
    function = without_out(function)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return inplace.write(self, function, *args, **kwargs)

    method.__name__ = f"{function.__name__}_"
    method.__doc__ = f"In place: x ← {function.__name__}(x, …)."
    return method


def operator(function: Callable) -> Callable:
    """Make the operator method for function(self, other)."""
    function = without_out(function)

    def method(self: Any, other: Any) -> Any:
        return function(self, other) if is_operand(other) else NotImplemented

    return method


def in_place_operator(function: Callable) -> Callable:
    """Make the method of an operator such as += that writes function(self, other) into self."""
    function = without_out(function)

    def method(self: Any, other: Any) -> Any:
        return inplace.write(self, function, other) if is_operand(other) else NotImplemented

    return method


def reflected(function: Callable) -> Callable:
    """Make the operator method for function(other, self), where self stands on the right."""
    function = without_out(function)

    def method(self: Any, other: Any) -> Any:
        known = is_operand(other) and is_operand(self)
        return function(other, self) if known else NotImplemented

    return method


def tensor_on_the_right(function: Callable) -> Callable:
    """As `reflected`, but a TypeError when called by name on something else than a tensor."""
    function = without_out(function)

    def method(self: Any, other: Any) -> Any:
        if not isinstance(self, Variable):
            raise TypeError(
                f"{function.__name__}: got {type(self).__name__} in place of self, expected "
                "a tensor"
            )
        return function(other, self) if is_operand(other) else NotImplemented

    return method


_matmul = without_out(ops.matmul)
add_to, multiply_by = tensor_on_the_right(ops.add), tensor_on_the_right(ops.mul)


@methods_without_out
class Operators(Variable):
    """A tensor with operators; `Methods` adds the named methods."""

    __slots__ = ()

    # ---- arithmetic

    # The common cases come first and skip dtype promotion: two tensors of one dtype, or a float
    # tensor and a Python number.

    def __add__(self: Any, other: Any) -> Any:
        if isinstance(other, Operators) and self.array.dtype is other.array.dtype:
            return Add.apply(self, other)
        if (type(other) is float or type(other) is int) and self.array.dtype.kind == "f":
            return Add.apply(self, other)
        return ops.add(self, other) if is_operand(other) else NotImplemented

    def __radd__(self: Any, other: Any) -> Any:
        if (type(other) is float or type(other) is int) and self.array.dtype.kind == "f":
            return Add.apply(self, other)
        return add_to(self, other)

    def __sub__(self: Any, other: Any) -> Any:
        if self.array.dtype.kind == "f":
            if isinstance(other, Operators) and self.array.dtype is other.array.dtype:
                return Sub.apply(self, other)
            if type(other) is float or type(other) is int:
                return Sub.apply(self, other)
        return ops.sub(self, other) if is_operand(other) else NotImplemented

    def __mul__(self: Any, other: Any) -> Any:
        if isinstance(other, Operators) and self.array.dtype is other.array.dtype:
            return Mul.apply(self, other)
        if (type(other) is float or type(other) is int) and self.array.dtype.kind == "f":
            return Mul.apply(self, other)
        return ops.mul(self, other) if is_operand(other) else NotImplemented

    def __rmul__(self: Any, other: Any) -> Any:
        if (type(other) is float or type(other) is int) and self.array.dtype.kind == "f":
            return Mul.apply(self, other)
        return multiply_by(self, other)

    def __truediv__(self: Any, other: Any) -> Any:
        if self.array.dtype.kind == "f":
            if isinstance(other, Operators) and self.array.dtype is other.array.dtype:
                return Div.apply(self, other)
            if type(other) is float or type(other) is int:
                return Div.apply(self, other)
        return ops.div(self, other) if is_operand(other) else NotImplemented

    def __rsub__(self: Any, other: Any) -> Any:
        if (type(other) is float or type(other) is int) and self.array.dtype.kind == "f":
            return Sub.apply(other, self)
        known = is_operand(other) and isinstance(self, Variable)
        return ops.sub(other, self) if known else NotImplemented

    def __rtruediv__(self: Any, other: Any) -> Any:
        if (type(other) is float or type(other) is int) and self.array.dtype.kind == "f":
            return Div.apply(other, self)
        return ops.div(other, self) if is_operand(other) else NotImplemented

    def __pow__(self: Any, other: Any) -> Any:
        if (type(other) is float or type(other) is int) and self.array.dtype.kind == "f":
            return PowScalar.apply(self, other)
        return ops.pow(self, other) if is_operand(other) else NotImplemented

    __rpow__ = reflected(ops.pow)
    __floordiv__, __rfloordiv__ = operator(ops.floor_divide), reflected(ops.floor_divide)
    __mod__, __rmod__ = operator(ops.remainder), reflected(ops.remainder)
    __neg__ = ops.neg
    __pos__ = ops.positive
    __abs__ = ops.abs

    __iadd__ = in_place_operator(ops.add)
    __isub__ = in_place_operator(ops.sub)
    __imul__ = in_place_operator(ops.mul)
    __itruediv__ = in_place_operator(ops.div)
    __ifloordiv__ = in_place_operator(ops.floor_divide)
    __imod__ = in_place_operator(ops.remainder)
    __ipow__ = in_place_operator(ops.pow)

    # ---- matrix product

    def __matmul__(self: Any, other: Any) -> Any:
        return _matmul(self, other) if is_operand(other) else NotImplemented

    def __rmatmul__(self: Any, other: Any) -> Any:
        return _matmul(other, self) if is_operand(other) else NotImplemented

    # ---- comparison
    __eq__, __ne__ = operator(ops.eq), operator(ops.ne)
    __lt__, __le__ = operator(ops.lt), operator(ops.le)
    __gt__, __ge__ = operator(ops.gt), operator(ops.ge)
    __hash__ = Variable.__hash__  # Python drops it from a class that defines __eq__

    # ---- bits
    __and__, __rand__ = operator(ops.bitwise_and), tensor_on_the_right(ops.bitwise_and)
    __or__, __ror__ = operator(ops.bitwise_or), tensor_on_the_right(ops.bitwise_or)
    __xor__, __rxor__ = operator(ops.bitwise_xor), tensor_on_the_right(ops.bitwise_xor)
    __lshift__, __rlshift__ = operator(ops.bitwise_left_shift), reflected(ops.bitwise_left_shift)
    __rshift__, __rrshift__ = operator(ops.bitwise_right_shift), reflected(ops.bitwise_right_shift)
    __invert__ = ops.bitwise_not
    __iand__ = in_place_operator(ops.bitwise_and)
    __ior__ = in_place_operator(ops.bitwise_or)
    __ixor__ = in_place_operator(ops.bitwise_xor)
    __ilshift__ = in_place_operator(ops.bitwise_left_shift)
    __irshift__ = in_place_operator(ops.bitwise_right_shift)

    # ---- x[index]
    __getitem__ = ops.index.get_item
    __setitem__ = ops.index.set_item
