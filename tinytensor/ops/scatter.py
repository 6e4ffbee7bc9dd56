"""Write to selected places of a copy, by an index along a dimension or by a flat index.

A written value gets the gradient at its place (a gather); a value that was overwritten gets none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.arguments import array_of, check_flags, check_given, require_tensor
from ..autograd.inplace import write
from ..autograd.mode import state
from ..autograd.op import Op
from ..autograd.variable import unwrap
from ..backend import Array, xp
from ..errors import GradientError, ShapeError
from ..out import takes_out
from .accumulate import multiply_rows
from .broadcast import atleast_1d, broadcast_to
from .dims import accepts_axis, normalize_dim
from .gather import (
    Gather,
    Ungather,
    as_index,
    as_vector,
    check_index_range,
    check_index_shape,
    flat_positions,
)
from .index import IndexPut, Unindex, index_shape, write_item
from .masked import MaskedFill, check_0d, fill_where
from .parse_index import slices_at, take_apart
from .promote import refuse_complex, require_same_dtype

if TYPE_CHECKING:
    from ..tensor import Tensor


# ------------------------------------------------------------------------------------------
# scatter: an index for each element
# ------------------------------------------------------------------------------------------


class Scatter(Op):
    """y = x, but y[i, index[i, j]] = src[i, j] (along dim 1);
    dx = g with zeros there, dsrc = g gathered from there
    """

    saves = ("index",)

    def forward(self, x: Array, dim: int, index: Array, src: Any) -> Array:
        self.dim = dim
        y = x.copy(order="C")
        y.reshape(-1)[flat_positions(x.shape, dim, index)] = src
        return y

    def backward(self, g: Any) -> Any:
        (index,) = self.saved
        dx = Scatter.apply(g, self.dim, index, 0) if self.needs(0) else None
        dsrc = Gather.apply(g, self.dim, index) if self.needs(3) else None
        return dx, None, None, dsrc


class ScatterProd(Op):
    """y = x·∏ of the src sent to its place;  dx = g·y/x, dsrc = gathered g·y / src

    Where a factor is zero: the product of the other factors.
    """

    saves = ("x", "index", "src", "out")

    def forward(self, x: Array, dim: int, index: Array, src: Array) -> Array:
        self.dim = dim
        return _scatter_product(x, dim, index, src)

    def backward(self, g: Any) -> Any:
        x, index, src, y = self.saved
        x_is_zero, src_is_zero = unwrap(x) == 0, unwrap(src) == 0
        if not (bool(x_is_zero.any()) or bool(src_is_zero.any())):
            return g * y / x, None, None, Gather.apply(g * y, self.dim, index) / src
        if state.mode.grad:
            raise GradientError(
                "scatter_reduce: the second derivative of 'prod' where a factor is zero is not "
                "implemented (nor in PyTorch)"
            )
        library, dim = xp(x), self.dim
        x_or_1 = library.where(x_is_zero, 1, x).astype(x.dtype)
        src_or_1 = library.where(src_is_zero, 1, src).astype(x.dtype)
        product = _scatter_product(x_or_1, dim, index, src_or_1)  # of the factors not zero
        zeros = x_is_zero + Ungather.apply(src_is_zero.astype(x.dtype), x.shape, dim, index)
        others = library.where(zeros == x_is_zero, product / x_or_1, 0)
        dx = g * others
        zeros, product = (Gather.apply(v, dim, index) for v in (zeros, product))
        others = library.where(zeros == src_is_zero, product / src_or_1, 0)
        return dx, None, None, Gather.apply(g, dim, index) * others


class ScatterExtremum(Op):
    """y = max (or min) of x and the src sent to its place;
    dx, dsrc = even shares of g for all that equal y there, else 0
    """

    saves = ("x", "index", "src", "out")

    def forward(self, x: Array, dim: int, index: Array, src: Array, largest: bool) -> Array:
        self.dim = dim
        y = x.copy(order="C")
        ufunc = xp(x).maximum if largest else xp(x).minimum
        ufunc.at(y.reshape(-1), flat_positions(x.shape, dim, index).reshape(-1), src.reshape(-1))
        return y

    def backward(self, g: Any) -> Any:
        x, index, src, y = (unwrap(value) for value in self.saved)  # only compared: constants
        x_attains = (x == y).astype(y.dtype)
        src_attains = (src == Gather.apply(y, self.dim, index)).astype(y.dtype)
        share = g / (x_attains + Ungather.apply(src_attains, x.shape, self.dim, index))
        return share * x_attains, None, None, Gather.apply(share, self.dim, index) * src_attains


def _scatter_product(x: Array, dim: int, index: Array, src: Array) -> Array:
    y = x.copy(order="C")
    positions = flat_positions(x.shape, dim, index).reshape(-1)
    multiply_rows(y.reshape(-1), positions, src.reshape(-1))
    return y


def _prepare(name: str, input: Any, dim: int, index: Any, src: Any) -> tuple:
    """Checked (input, dim, index, src): none of them 0-d, src cut to index's shape."""
    dim = normalize_dim(name, dim, input.ndim)
    input, index = atleast_1d(input), atleast_1d(as_index(name, index))
    if unwrap(index).size:
        check_index_shape(name, index, dim, input.shape, "input")
        check_index_range(name, index, dim, input.shape[dim], RuntimeError)
    else:
        index = index.reshape((0,) * input.ndim)
    if getattr(unwrap(src), "dtype", None) is None:
        return input, dim, index, src
    require_same_dtype(name, "src", src, input)
    src = atleast_1d(src)
    if not unwrap(index).size:
        src = src.reshape(-1)[:0].reshape(index.shape)
    check_index_shape(name, index, -1, src.shape, "src")
    if tuple(src.shape) != tuple(index.shape):
        src = src[tuple(slice(n) for n in index.shape)]
    return input, dim, index, src


@takes_out("same dtype")
@accepts_axis
def scatter(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Any = None,
    *,
    value: Any = None,
    reduce: Any = None,
) -> Tensor:
    """A copy of input in which out[i, index[i, j]] = src[i, j], for dim=1; other dims likewise.

    src: a tensor not smaller than index, or a number (also as value=). reduce: "add" or "multiply"
    combine src with input. If an index repeats without reduce, any of its values may win.
    """
    src = value if src is None else src
    if src is None:
        raise TypeError("scatter: got neither src nor value, expected one of them")
    if reduce not in (None, "add", "multiply"):
        raise RuntimeError(f"scatter: got reduce={reduce!r}, expected 'add' or 'multiply'")
    shape = array_of("scatter", input).shape
    is_number = getattr(unwrap(src), "dtype", None) is None
    if reduce is not None and is_number:
        src = xp(unwrap(input)).full(index.shape, src, dtype=unwrap(input).dtype)
    input, dim, index, src = _prepare("scatter", input, dim, index, src)
    if reduce == "add":
        y = input + Ungather.apply(src, tuple(input.shape), dim, index)
    elif reduce == "multiply":
        y = ScatterProd.apply(input, dim, index, src)
    else:
        y = Scatter.apply(input, dim, index, src)
    return y if shape else y.reshape(())


@takes_out("same dtype")
@accepts_axis
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """A copy of input with src[i, j] added at [i, index[i, j]], for dim=1; other dims likewise."""
    check_given("scatter_add", index=index, src=src)
    shape = array_of("scatter_add", input).shape
    input, dim, index, src = _prepare("scatter_add", input, dim, index, src)
    y = input + Ungather.apply(src, tuple(input.shape), dim, index)
    return y if shape else y.reshape(())


@takes_out("same dtype")
@accepts_axis
def scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """input combined with src[i, j] at [i, index[i, j]], for dim=1; other dims likewise.

    reduce: "sum", "prod", "mean", "amax" or "amin". include_self=False: input's values at
    places that src writes to do not count.
    """
    check_given("scatter_reduce", index=index, src=src)
    if type(include_self) is not bool:
        check_flags("scatter_reduce", include_self=include_self)
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise RuntimeError(
            f"scatter_reduce: got reduce={reduce!r}, expected 'sum', 'prod', 'mean', 'amax' or "
            "'amin'"
        )
    shape = array_of("scatter_reduce", input).shape
    input, dim, index, src = _prepare("scatter_reduce", input, dim, index, src)
    sizes, dtype = tuple(input.shape), unwrap(input).dtype
    if not include_self:
        input = Scatter.apply(input, dim, index, _neutral(reduce, dtype))
    if reduce == "prod":
        y = ScatterProd.apply(input, dim, index, src)
    elif reduce in ("amax", "amin"):
        refuse_complex("scatter_reduce", input)
        y = ScatterExtremum.apply(input, dim, index, src, reduce == "amax")
    else:
        y = input + Ungather.apply(src, sizes, dim, index)
    if reduce == "mean":
        raw = unwrap(index)
        ones = xp(raw).ones(raw.shape, dtype=dtype)
        count = Ungather.apply(ones, sizes, dim, raw)
        count = count + 1 if include_self else xp(raw).maximum(count, 1)
        y = y / count if dtype.kind in "fVc" else y // count
    return y if shape else y.reshape(())


def _neutral(reduce: str, dtype: np.dtype) -> Any:
    """The neutral element of a reduction: combining with it changes nothing."""
    if reduce in ("sum", "mean"):
        return 0
    if reduce == "prod":
        return 1
    if dtype.kind in "fV":
        return -np.inf if reduce == "amax" else np.inf
    if dtype.kind == "b":
        return reduce == "amin"
    limits = np.iinfo(dtype)
    return int(limits.min if reduce == "amax" else limits.max)


# ------------------------------------------------------------------------------------------
# index_…: an index for each slice along a dimension
# ------------------------------------------------------------------------------------------


def prepare_source(name: str, input: Any, dim: int, index: Any, source: Any) -> tuple[int, Any]:
    """Checked (dim, index) for a source that holds one slice of input for each index."""
    dim = normalize_dim(name, dim, array_of(name, input).ndim)
    index = as_vector(name, index)
    expected = list(input.shape)
    if expected:
        expected[dim] = index.shape[0]
    if tuple(source.shape) != tuple(expected):
        raise ShapeError(
            f"{name}: source has shape {tuple(source.shape)}, expected {tuple(expected)}: input's "
            f"{tuple(input.shape)} with one slice for each index along dim {dim}"
        )
    require_same_dtype(name, "source", source, input)
    return dim, index


@takes_out("same dtype")
@accepts_axis
def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    """A copy of input with alpha·(slice i of source) added to slice index[i], along dim."""
    check_given("index_add", index=index, source=source)
    dim, index = prepare_source("index_add", input, dim, index, source)
    if not input.ndim:
        y = index_add(input.reshape((1,)), 0, index, source.reshape((1,)), alpha=alpha)
        return y.reshape(())
    check_index_range("index_add", index, dim, input.shape[dim], RuntimeError)
    source = source if alpha == 1 else source * alpha
    return input + Unindex.apply(source, tuple(input.shape), slices_at(dim, index))


@takes_out("same dtype")
@accepts_axis
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """A copy of input with slice index[i] replaced by slice i of source, along dim."""
    check_given("index_copy", index=index, source=source)
    if array_of("index_copy", input).ndim + array_of("index_copy", source).ndim == 1:
        # PyTorch accepts a number for a vector of one element, on either side.
        y = index_copy(input.reshape((-1,)), dim, index, source.reshape((-1,)))
        return y.reshape(tuple(input.shape))
    dim, index = prepare_source("index_copy", input, dim, index, source)
    if not input.ndim:
        return index_copy(input.reshape((1,)), 0, index, source.reshape((1,))).reshape(())
    check_index_range("index_copy", index, dim, input.shape[dim])
    return IndexPut.apply(input, source, slices_at(dim, index))


@accepts_axis
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """A copy of input with the slices at `index` along dim filled with value, a number or 0-d."""
    return MaskedFill.apply(input, _mask_of_slices("index_fill", input, dim, index, value), value)


@accepts_axis
def index_fill_(self: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """self ← value in the slices at `index` along dim."""
    mask = _mask_of_slices("index_fill_", self, dim, index, value)
    return fill_where("index_fill_", self, mask, value)


def _mask_of_slices(name: str, input: Any, dim: int, index: Any, value: Any) -> Array:
    """A mask, broadcast to input, of its slices at `index` along dim.

    With a mask an index that repeats counts once in the gradient of value.
    """
    dim = normalize_dim(name, dim, array_of(name, input).ndim)
    if array_of(name, index).dtype != np.int64:
        raise IndexError(f"{name}: got index of dtype {unwrap(index).dtype}, expected int64")
    index = as_vector(name, index)
    check_0d(name, value)
    size = input.shape[dim] if input.ndim else 1
    check_index_range(name, index, dim, size, negative=True)
    mask = xp(unwrap(input)).zeros(size, dtype=bool)
    mask[unwrap(index)] = True
    if not input.ndim:
        return mask.reshape(())
    return mask.reshape(-1, *(1,) * (input.ndim - dim - 1))  # (size, 1, …), as input from dim on


def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """A copy of input with input[indices] = values; accumulate: with values added there.

    indices: a tuple of integer tensors or masks. values: broadcast to input[indices].
    """
    check_given("index_put", values=values)
    if type(accumulate) is not bool:
        check_flags("index_put", accumulate=accumulate)
    require_tensor("index_put", input)
    basic, index = take_apart(input, tuple(indices))
    index = basic if index is None else index
    assert index is not None
    require_same_dtype("index_put", "values", values, input)
    if not accumulate:
        return IndexPut.apply(input, values, index)
    values = broadcast_to(values, index_shape(unwrap(input), index))
    return input + Unindex.apply(values, tuple(input.shape), index)


def index_put_(self: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """self[indices] ← values, or with values added there."""
    require_same_dtype("index_put_", "values", values, self)
    if accumulate:
        return write(self, index_put, indices, values, accumulate)
    write_item("index_put_", self, tuple(indices), values)
    return self


def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """A copy of input with input.reshape(-1)[index] = source, or with source added there."""
    check_given("put", index=index, source=source)
    if type(accumulate) is not bool:
        check_flags("put", accumulate=accumulate)
    require_tensor("put", input)
    index = as_index("put", index).reshape(-1)
    flat, source = input.reshape(-1), source.reshape(-1)
    if source.shape != index.shape:
        raise IndexError(
            f"put: source has {source.shape[0]} elements, expected {index.shape[0]}, as index has"
        )
    check_index_range("put", index, 0, flat.shape[0], negative=True)
    return index_put(flat, (index,), source, accumulate).reshape(input.shape)


__all__ = [
    "index_add", "index_copy", "index_fill", "index_put", "put", "scatter", "scatter_add",
    "scatter_reduce",
]  # fmt: skip
