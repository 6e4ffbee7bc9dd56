"""torch._foreach_*: one op on each tensor of a list. Optimisers written for PyTorch call them.

_foreach_add(xs, ys)[i] = xs[i] + ys[i], where ys is a list, or one number or tensor for all.
_foreach_add_(xs, ys) writes into the tensors of xs and returns them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..tensor import Tensor

ONE = [
    "abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "erfc", "exp", "expm1",
    "floor", "frac", "lgamma", "log", "log10", "log1p", "log2", "neg", "reciprocal", "round",
    "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
]  # fmt: skip
TWO = ["add", "sub", "mul", "div", "maximum", "minimum", "clamp_min", "clamp_max", "pow", "copy"]
THREE = ["lerp", "addcmul", "addcdiv"]


def _each(name: str, value: Any, count: int) -> Sequence:
    """`value` as a list of `count`: itself, or the same number or tensor `count` times."""
    if not isinstance(value, (list, tuple)):
        return [value] * count
    if len(value) != count:
        raise RuntimeError(
            f"_foreach_{name}: got lists of {count} and {len(value)} items, expected equal lengths"
        )
    return value


def _checked(name: str, tensors: Any) -> Sequence[Tensor]:
    if not isinstance(tensors, (list, tuple)) or not all(isinstance(t, Tensor) for t in tensors):
        raise TypeError(
            f"_foreach_{name}: got {type(tensors).__name__}, expected a list or tuple of tensors"
        )
    return tensors


def _make(name: str, operands: int, inplace: bool) -> Callable[..., Any]:
    # clamp_min of a tensor is maximum, of a number clamp(min=…); copy exists only in place.
    method = _METHODS.get(name) or getattr(Tensor, name + "_" * inplace)
    if name in _METHODS and inplace:
        method = _written(method)

    def foreach(self: Sequence[Tensor], *args: Any, **options: Any) -> Any:
        tensors = _checked(name, self)
        lists = [_each(name, a, len(tensors)) for a in args[:operands]]
        rest: dict[str, Any] = {}
        if len(args) > operands:  # addcmul(xs, ys, zs, value); value may be a list, or a tensor
            rest["value"] = args[operands]
        rest |= options
        many = {k: _each(name, _numbers(v), len(tensors)) for k, v in rest.items()}
        results = [
            method(tensor, *(each[i] for each in lists), **{k: v[i] for k, v in many.items()})
            for i, tensor in enumerate(tensors)
        ]
        return results

    foreach.__name__ = f"_foreach_{name}" + "_" * inplace
    foreach.__doc__ = f"`{name}` of each tensor" + (", in place." if inplace else ", as a list.")
    return foreach


def _numbers(value: Any) -> Any:
    """A 1-d tensor of scalars as a list of numbers."""
    return value.tolist() if isinstance(value, Tensor) else value


def _at_least(x: Tensor, low: Any) -> Tensor:
    return x.maximum(low) if isinstance(low, Tensor) else x.clamp(min=low)


def _at_most(x: Tensor, high: Any) -> Tensor:
    return x.minimum(high) if isinstance(high, Tensor) else x.clamp(max=high)


_METHODS: dict[str, Callable[..., Tensor]] = {
    "maximum": _at_least, "clamp_min": _at_least, "minimum": _at_most, "clamp_max": _at_most,
}  # fmt: skip


def _written(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return lambda x, *args: x.copy_(function(x, *args))


def _foreach_norm(self: Sequence[Tensor], ord: float = 2, dtype: Any = None) -> list[Tensor]:
    """The norm of each tensor, as a list of 0-d tensors."""
    return [x.norm(p=ord, dtype=dtype) for x in _checked("norm", self)]


def _foreach_zero_(self: Sequence[Tensor]) -> list[Tensor]:
    """Fill each tensor with zeros."""
    return [x.zero_() for x in _checked("zero_", self)]


FUNCTIONS: dict[str, Callable[..., Any]] = {
    f"_foreach_{name}" + "_" * inplace: _make(name, operands, inplace)
    for operands, names in ((0, ONE), (1, TWO), (2, THREE))
    for name in names
    for inplace in (False, True)
    if inplace or name != "copy"
}
FUNCTIONS |= {"_foreach_norm": _foreach_norm, "_foreach_zero_": _foreach_zero_}
