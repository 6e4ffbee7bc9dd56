"""Backward rules for complex numbers, by PyTorch's convention.

The gradient of a real loss L with respect to z = a + ib is ∂L/∂a + i·∂L/∂b, so that z − lr·grad
descends. For y = f(z) with a complex derivative f′ that is

    dz = g·conj(f′(z)) = conj(conj(g)·f′(z))

Rules are written as for real numbers, dx = g·f′(x). For a complex result the engine therefore
conjugates g, applies the rule, and conjugates what it returns. Real ops are not affected: the
choice is made once, when a node with a complex result enters the graph.

An op that has no complex derivative (conj, sgn, polar) states its own rule for complex numbers and
sets `complex_rule = True`. So does one with a complex result from real inputs. An op with a real
result (abs, real, angle) has a real g, and its rule is used as it is.
"""

from __future__ import annotations

import functools
from typing import Any

from .mode import outside
from .op import Op


def conjugate_rule(node: Op) -> None:
    """Make backward of `node` conj(rule(conj g)), unless that is the rule itself.

    It is for ops that move and add up elements: they save no values and have real factors.
    """
    if getattr(node, "complex_rule", False):
        return
    if node._plan or node._kept or any(map(_is_complex, vars(node).values())):
        kind: Any = type(node)
        node.__class__ = _conjugated(kind)


def _is_complex(value: Any) -> bool:
    dtype = getattr(value, "dtype", None)
    return isinstance(value, complex) or getattr(dtype, "kind", "") == "c"


@functools.cache
def _conjugated(op: Any) -> Any:
    """The op with the rule dx = conj(rule(conj g))."""

    def backward(self: Any, *grads: Any) -> Any:
        results = op.backward(self, *map(_conj, grads))
        return tuple(map(_conj, results)) if type(results) is tuple else _conj(results)

    names = {"__doc__": op.__doc__, "op_name": op.op_name, "backward": backward}
    return type(op.__name__, (op,), names)


def _conj(value: Any) -> Any:
    """The conjugate of an array or a tensor; None stays."""
    return None if value is None else value.conj()


outside.conjugate_rule = conjugate_rule
