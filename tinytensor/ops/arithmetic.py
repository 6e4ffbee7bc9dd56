"""Arithmetic, elementwise: add, sub, mul, div and what is built of them."""

from __future__ import annotations

from typing import Any

from ..autograd.op import Op
from ..backend import Array
from .promote import promote


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


def add(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """input + alpha·other"""
    if alpha != 1:
        other = mul(other, alpha)
    return Add.apply(*promote(input, other))


def sub(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """input − alpha·other"""
    if alpha != 1:
        other = mul(other, alpha)
    return Sub.apply(*promote(input, other))


def mul(input: Any, other: Any) -> Any:
    """input·other"""
    return Mul.apply(*promote(input, other))


__all__ = ["add", "mul", "sub"]
