"""Tensors made to fit each other: dimensions of size 1 repeated, and dimensions added.

A repeated element gets the sum of its gradients, which the engine takes wherever ops broadcast.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.arguments import array_of, check_given, require_tensor
from ..autograd.op import Op
from ..autograd.variable import Variable
from ..backend import Array, xp
from ..errors import ShapeError
from ..size import Size
from .dims import Ints, as_ints
from .shape import reshape, unsqueeze

if TYPE_CHECKING:
    from ..tensor import Tensor


class Expand(Op):
    """y = x repeated along dimensions of size 1;  dx = g summed along them"""

    view = True

    def forward(self, x: Array, shape: tuple) -> Array:
        if math.prod(shape) == x.size:
            return x.reshape(shape)  # nothing is repeated: can be written to
        return repeated(x, shape)

    def backward(self, g: Any) -> Any:
        return g  # the engine sums out what was broadcast


def repeated(x: Array, shape: tuple) -> Array:
    """broadcast_to of a raw array. A part in which nothing is repeated can be written to."""
    extra = len(shape) - x.ndim
    if type(x) is np.ndarray and x.flags.c_contiguous and x.dtype.kind in "fiub" and extra >= 0:
        # The same by strides of 0, because NumPy's function costs 4 µs.
        sizes = zip(x.strides, x.shape, shape[extra:])
        strides = [s if n == m else 0 if n == 1 else None for s, n, m in sizes]
        if x.size and None not in strides:
            return np.ndarray(shape, x.dtype, x, 0, (0,) * extra + tuple(strides))
    y = xp(x).broadcast_to(x, shape)
    if isinstance(y, np.ndarray):
        y.setflags(write=isinstance(x, np.ndarray) and x.flags.writeable)  # NumPy's is read-only
    return y


def expand(input: Tensor, size: Ints, *more: int) -> Tensor:
    """Dimensions of size 1 repeated, and new ones in front, without copying; −1 keeps a size.

    Several elements of the result share memory: clone() it before writing.
    """
    return _expand("expand", input, as_ints("expand", size, more))


def _expand(name: str, input: Any, size: tuple[int, ...]) -> Any:
    shape = array_of(name, input).shape
    extra = len(size) - len(shape)
    if extra < 0:
        raise ShapeError(
            f"{name}: got {len(size)} sizes {size}, expected at least {len(shape)}, one for each "
            f"dimension of shape {shape}"
        )
    new = tuple(shape[i - extra] if n == -1 and i >= extra else n for i, n in enumerate(size))
    fits = all(old in (1, n) for old, n in zip(shape, new[extra:], strict=True))
    if not fits or min(new, default=0) < 0:
        raise ShapeError(
            f"{name}: shape {shape} cannot become {size}, only dimensions of size 1 can be "
            "repeated, and -1 keeps the size of one that is there"
        )
    return Expand.apply(input, new)


def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """expand to the shape of `other`."""
    check_given("expand_as", other=other)
    return _expand("expand_as", input, tuple(other.shape))


def broadcast_to(input: Tensor, size: Ints) -> Tensor:
    """expand, under NumPy's name."""
    return _expand("broadcast_to", input, as_ints("broadcast_to", size))


def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that tensors of these shapes broadcast to."""
    sizes = [as_ints("broadcast_shapes", s) for s in shapes]
    for size in sizes:
        if any(n < 0 for n in size):
            raise ValueError(f"broadcast_shapes: got shape {size}, expected no negative sizes")
    return Size(common_shape("broadcast_shapes", sizes))


def common_shape(name: str, shapes: Sequence) -> tuple[int, ...]:
    """The shape that `shapes` broadcast to, or an error that names the op."""
    sizes = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    result = [1] * max(map(len, sizes), default=0)
    for size in sizes:
        for i in range(-len(size), 0):
            if result[i] == 1:
                result[i] = size[i]
            elif size[i] not in (1, result[i]):
                raise ShapeError(
                    f"{name}: shapes {', '.join(map(str, sizes))} do not broadcast: "
                    f"sizes {result[i]} and {size[i]} at dimension {i}, expected them equal or 1"
                )
    return tuple(result)


def expands_to(shape: tuple, target: tuple) -> bool:
    """Whether `shape` broadcasts to exactly `target`."""
    pairs = zip(reversed(shape), reversed(target), strict=False)
    return len(shape) <= len(target) and all(n in (1, m) for n, m in pairs)


def as_sequence(tensors: tuple) -> Sequence:
    """What a function took as *tensors: several of them, or one list of them."""
    is_list = len(tensors) == 1 and isinstance(tensors[0], (tuple, list))
    return tensors[0] if is_list else tensors


def broadcast_tensors(*tensors: Any) -> tuple:
    """The tensors, expanded to their common shape."""
    given = as_sequence(tensors)
    shapes = [array_of("broadcast_tensors", t).shape for t in given]
    shape = common_shape("broadcast_tensors", shapes)
    return tuple([Expand.apply(t, shape) for t in given])


def atleast_1d(*tensors: Any) -> Any:
    """At least one dimension: () becomes (1). For several tensors, a tuple."""
    if len(tensors) == 1 and isinstance(tensors[0], Variable) and tensors[0].array.ndim:
        return tensors[0]  # softmax, sort and others ask each time
    return _for_each("atleast_1d", tensors, lambda x: reshape(x, 1) if x.ndim == 0 else x)


def atleast_2d(*tensors: Any) -> Any:
    """At least two dimensions: (n) becomes (1, n). For several tensors, a tuple."""
    return _for_each("atleast_2d", tensors, lambda x: reshape(x, 1, -1) if x.ndim < 2 else x)


def atleast_3d(*tensors: Any) -> Any:
    """At least three dimensions: (n) becomes (1, n, 1), (m, n) becomes (m, n, 1)."""

    def widen(x: Any) -> Any:
        if x.ndim < 2:
            return reshape(x, 1, -1, 1)
        return unsqueeze(x, -1) if x.ndim == 2 else x

    return _for_each("atleast_3d", tensors, widen)


def _for_each(name: str, tensors: tuple, function: Callable) -> Any:
    """function(tensor) for a single one, a tuple of results for several or a list."""
    given = as_sequence(tensors)
    for tensor in given:
        require_tensor(name, tensor)
    if given is tensors and len(tensors) == 1:
        return function(tensors[0])
    return tuple(map(function, given))


__all__ = [
    "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_shapes", "broadcast_tensors",
    "broadcast_to", "expand", "expand_as",
]  # fmt: skip
