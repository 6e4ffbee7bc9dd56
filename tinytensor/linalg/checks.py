"""What the functions of linalg share: checks of matrices, and LAPACK with an error for each matrix.

The functions here take the name of the function, for their error messages.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..autograd.arguments import array_of
from ..autograd.variable import unwrap, wrap, wrap_like
from ..backend import Array, is_array, xp
from ..errors import LinAlgError, ShapeError
from ..ops.promote import require_float


def largest_of(array: Array, axes: Any, keepdims: bool = False) -> Array:
    """max |array| over `axes`; 0 where there are no elements."""
    size = abs(array)
    return size.max(axes, keepdims=keepdims) if size.size else size.sum(axes, keepdims=keepdims)


def check_float(name: str, input: Any) -> None:
    """Refuse what is not a tensor of LAPACK's dtypes: float32, float64, complex64, complex128."""
    if array_of(name, input).dtype.kind == "c":
        return
    require_float(name, input)
    if unwrap(input).dtype.itemsize < 4:
        raise RuntimeError(
            f"{name}: got dtype {unwrap(input).dtype}, expected float32 or float64; convert with "
            ".float()"
        )


def check_matrix(name: str, input: Any, what: str = "the input tensor A") -> None:
    """Refuse anything but a matrix of floats, or a batch of them."""
    shape = array_of(name, input).shape
    if len(shape) < 2:
        raise ShapeError(
            f"{name}: {what} must have at least 2 dimensions, got shape {tuple(shape)}"
        )
    check_float(name, input)


def check_square(name: str, input: Any, what: str = "A") -> None:
    """Refuse anything but a square matrix of floats, or a batch of them."""
    check_matrix(name, input, f"the input tensor {what}")
    if input.shape[-1] != input.shape[-2]:
        raise ShapeError(
            f"{name}: {what} must be batches of square matrices, got shape {tuple(input.shape)}"
        )


def check_same(name: str, first: Any, second: Any) -> None:
    """Refuse a second tensor that is none, or has another dtype than the first."""
    array_of(name, second)
    if unwrap(first).dtype != unwrap(second).dtype:
        raise RuntimeError(
            f"{name}: expected all tensors to have the same dtype, got {unwrap(first).dtype} and "
            f"{unwrap(second).dtype}"
        )


def check_not_empty(name: str, input: Any) -> None:
    """Refuse matrices without elements."""
    if 0 in input.shape[-2:]:
        raise ShapeError(
            f"{name}: expected matrices with at least one element, got shape {tuple(input.shape)}"
        )


def broadcast_batch(name: str, A: Any, B: Any) -> tuple[int, ...]:
    """The common shape of the dimensions before the last two."""
    try:
        return np.broadcast_shapes(tuple(A.shape[:-2]), tuple(B.shape[:-2]))
    except ValueError:
        raise ShapeError(
            f"{name}: the batch dimensions of shapes {tuple(A.shape)} and {tuple(B.shape)} "
            "do not broadcast"
        ) from None


# ------------------------------------------------------------------------------------------
# LAPACK
# ------------------------------------------------------------------------------------------


def lapack(name: str, function: str, *args: Any, **options: Any) -> Any:
    """linalg.function(…) of the arrays' library, with its LinAlgError as PyTorch's."""
    try:
        return getattr(xp(args[0]).linalg, function)(*args, **options)
    except np.linalg.LinAlgError as error:
        raise LinAlgError(f"{name}: {error}, in a tensor of shape {args[0].shape}") from None


def with_info(function: str, failed: Callable, info: Array, *arrays: Array) -> Any:
    """linalg.function(arrays) for each matrix of a batch; info says where it failed.

    failed(arrays) returns (result, info) for a single matrix that LAPACK refused. info, an int
    array of the batch's shape, is written to; 0 means success.
    """
    library = xp(arrays[0])
    call = getattr(library.linalg, function)
    info[...] = 0
    try:
        return call(*arrays)
    except np.linalg.LinAlgError:
        pass
    spread = [library.broadcast_to(a, info.shape + a.shape[-2:]) for a in arrays]
    result = library.empty(spread[-1].shape, spread[-1].dtype)
    for place in np.ndindex(info.shape):
        matrices = [a[place] for a in spread]
        try:
            result[place] = call(*matrices)
        except np.linalg.LinAlgError:
            result[place], info[place] = failed(*matrices)
    return result


def new_info(batch: tuple, like: Any) -> Array:
    """Zeros in int32, one for each matrix of a batch."""
    array = unwrap(like)
    return xp(array).zeros(batch, np.int32)


def raise_for(name: str, info: Array, reason: str) -> None:
    """LinAlgError for the first matrix whose info is not 0; {} in reason is that number."""
    if not info.any():
        return
    place = tuple(int(i) for i in np.argwhere(info)[0])
    number = int(info[place])
    where = ""
    if place:
        where = f"(batch element {int(np.ravel_multi_index(place, info.shape))}): "
    raise LinAlgError(f"{name}: {where}{reason.format(number)}")


# ------------------------------------------------------------------------------------------
# For rules
# ------------------------------------------------------------------------------------------


def transposed(x: Any) -> Any:
    """Each matrix transposed."""
    return x.swapaxes(-1, -2)


def adjoint(x: Any) -> Any:
    """Each matrix transposed, and conjugated if it is complex: xᴴ."""
    y = x.swapaxes(-1, -2)
    return y.conj() if unwrap(x).dtype.kind == "c" else y


def real_part(x: Any) -> Any:
    """Re x; x itself if it is real."""
    return x.real if unwrap(x).dtype.kind == "c" else x


def identity_like(x: Any, n: int) -> Any:
    """The n×n identity, an array or a tensor as x is, of its dtype."""
    array = unwrap(x)
    return wrap_like(xp(array).eye(n, dtype=array.dtype), x)


def as_tensor(value: Any) -> Any:
    """A raw array as a tensor."""
    return wrap(value) if is_array(value) else value
