"""The operators and methods of Tensor: each is the function of the same name in `ops`.

`x.softmax(1)` and `softmax(x, 1)` are one function. A trailing underscore writes into x.
"""

from __future__ import annotations

from typing import Any, Callable

from . import ops
from .autograd import inplace
from .autograd.variable import Variable
from .ops.arithmetic import Add, Mul


def in_place(function: Callable) -> Callable:
    """The method that writes function(x, …) into x."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return inplace.write(self, function, *args, **kwargs)

    method.__name__ = f"{function.__name__}_"
    method.__doc__ = f"In place: x ← {function.__name__}(x, …)."
    return method


class Methods(Variable):
    """What a tensor can do; the families follow the files of `ops`."""

    __slots__ = ()

    # ---- arithmetic: operators

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Methods) and self.array.dtype is other.array.dtype:
            return Add.apply(self, other)  # the usual case, without the look at promotion
        return ops.add(self, other)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Methods) and self.array.dtype is other.array.dtype:
            return Mul.apply(self, other)
        return ops.mul(self, other)

    __sub__ = ops.sub

    # ---- arithmetic: methods
    add = ops.add
    mul = ops.mul
    sub = ops.sub
    add_ = in_place(ops.add)
    mul_ = in_place(ops.mul)
    sub_ = in_place(ops.sub)

    # ---- pointwise
    tanh = ops.tanh
    tanh_ = in_place(ops.tanh)

    # ---- activation

    # ---- compare

    # ---- reduce

    # ---- minmax

    # ---- scan

    # ---- sort

    # ---- shape

    # ---- join

    # ---- convert

    # ---- index

    # ---- gather

    # ---- matrix

    # ---- linalg

    # ---- softmax

    # ---- random
