"""Operations on the bits of integers, and on booleans: & | ^ ~ << >>."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..autograd.arguments import array_of
from ..autograd.op import Op
from ..backend import Array
from ..out import takes_out
from .promote import common_dtype, promote_to

if TYPE_CHECKING:
    from ..tensor import Tensor
    from .promote import Operand


class Bitwise(Op):
    """An op on integers: it has no gradient."""

    differentiable = False


class BitwiseAnd(Bitwise):
    """y = a & b"""

    def forward(self, a: Array, b: Array) -> Array:
        return a & b


class BitwiseOr(Bitwise):
    """y = a | b"""

    def forward(self, a: Array, b: Array) -> Array:
        return a | b


class BitwiseXor(Bitwise):
    """y = a ^ b"""

    def forward(self, a: Array, b: Array) -> Array:
        return a ^ b


class BitwiseNot(Bitwise):
    """y = ~x"""

    def forward(self, x: Array) -> Array:
        return ~x


class BitwiseLeftShift(Bitwise):
    """y = a·2ᵇ, without the bits that leave the dtype"""

    def forward(self, a: Array, b: Array) -> Array:
        return a << b


class BitwiseRightShift(Bitwise):
    """y = ⌊a/2ᵇ⌋"""

    def forward(self, a: Array, b: Array) -> Array:
        return a >> b


def _integers(name: str, kinds: str, a: Operand, b: Operand) -> tuple:
    """The operands in their common dtype, which must be of one of `kinds`."""
    dtype = common_dtype(name, a, b)
    if dtype.kind not in kinds:
        expected = "integers or bools" if "b" in kinds else "integers"
        raise NotImplementedError(f"{name}: got dtype {dtype}, expected {expected}")
    return promote_to(dtype, a, b)


@takes_out("cast", elementwise=True)
def bitwise_and(input: Operand, other: Operand) -> Tensor:
    """The bits set in both; for bools: both are true."""
    return BitwiseAnd.apply(*_integers("bitwise_and", "biu", input, other))


@takes_out("cast", elementwise=True)
def bitwise_or(input: Operand, other: Operand) -> Tensor:
    """The bits set in at least one; for bools: at least one is true."""
    return BitwiseOr.apply(*_integers("bitwise_or", "biu", input, other))


@takes_out("cast", elementwise=True)
def bitwise_xor(input: Operand, other: Operand) -> Tensor:
    """The bits set in exactly one; for bools: exactly one is true."""
    return BitwiseXor.apply(*_integers("bitwise_xor", "biu", input, other))


@takes_out("cast", elementwise=True)
def bitwise_not(input: Tensor) -> Tensor:
    """Every bit flipped; for bools: not."""
    dtype = array_of("bitwise_not", input).dtype
    if dtype.kind in "fV":
        raise TypeError(f"bitwise_not: got dtype {dtype}, expected integers or bools")
    return BitwiseNot.apply(input)


@takes_out("cast", elementwise=True)
def bitwise_left_shift(input: Operand, other: Operand) -> Tensor:
    """The bits moved up by `other` places."""
    return BitwiseLeftShift.apply(*_integers("bitwise_left_shift", "iu", input, other))


@takes_out("cast", elementwise=True)
def bitwise_right_shift(input: Operand, other: Operand) -> Tensor:
    """The bits moved down by `other` places; the sign stays."""
    return BitwiseRightShift.apply(*_integers("bitwise_right_shift", "iu", input, other))


__all__ = [
    "bitwise_and", "bitwise_left_shift", "bitwise_not", "bitwise_or", "bitwise_right_shift",
    "bitwise_xor",
]  # fmt: skip
