"""embedding_bag: sums, means or maxima over bags of rows of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.arguments import array_of
from ..autograd.variable import unwrap, wrap_like
from ..backend import Array, xp
from ..errors import ShapeError
from .clamp import where
from .embedding import AddRows, Embedding, gradient_factor, renormalize, row_number
from .index import Index
from .parse_index import outside
from .scatter import scatter_reduce

if TYPE_CHECKING:
    from ..tensor import Tensor


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """y[b] = Σ weight[i] over the i in bag b, or their mean or maximum: (bags, D).

    weight (V, D). input: integers, (bags, n) for bags of n rows each, or (M) with offsets (bags),
    where each bag begins. An empty bag gives 0.

    per_sample_weights:   of input's shape: factors of the rows, for mode "sum"
    include_last_offset:  offsets has one number more, the end of the last bag
    padding_idx:          rows with this number are left out of their bags
    max_norm, norm_type, scale_grad_by_freq, sparse: as in `embedding`
    """
    index, table = array_of("embedding_bag", input), unwrap(weight)
    if index.dtype.kind not in "iu" and unwrap(weight).dtype.kind in "iu":  # the old order
        input, weight, index, table = weight, input, table, index
    _check(index, table, mode, per_sample_weights, scale_grad_by_freq)
    library, rows = xp(table), table.shape[0]
    bag, bags = _bags(index, offsets, include_last_offset)  # (M): the bag of each place
    flat = index.reshape(-1)
    wrong = outside(flat, 0, rows)
    if wrong is not None:
        raise RuntimeError(
            f"embedding_bag: index {wrong} is out of range for a table of {rows} rows, expected 0 "
            f"to {rows - 1}"
        )
    if max_norm is not None:
        renormalize(weight, flat, max_norm, norm_type)
    padding = row_number("embedding_bag", padding_idx, rows, RuntimeError)
    kept = (bag >= 0) & (flat != padding) if padding is not None else bag >= 0
    if not kept.all():
        flat, bag = flat[kept], bag[kept]
        if per_sample_weights is not None:
            per_sample_weights = Index.apply(per_sample_weights.reshape(-1), (kept,))
    if mode == "max":
        return _largest(library, weight, flat, bag, bags)
    factor = gradient_factor(table, flat, None, scale_grad_by_freq)
    found = Embedding.apply(weight, flat, factor)  # (M, D)
    if per_sample_weights is not None:
        found = found * per_sample_weights.reshape((-1, 1))
    y = AddRows.apply(found, bag, bags)
    if mode == "mean":
        counts = library.bincount(bag, minlength=bags)[:bags] if bag.size else np.zeros(bags)
        divisor = library.maximum(library.asarray(counts), 1).astype(table.dtype)[:, None]
        y = y / wrap_like(divisor, y)
    return y


def _largest(library: Any, weight: Any, index: Array, bag: Array, bags: int) -> Any:
    """The maxima, each from the first place in the bag that has it; 0 for an empty bag."""
    width = weight.shape[1]
    if not index.size:
        return AddRows.apply(Embedding.apply(weight, index, None), bag, bags)
    found = unwrap(weight)[index]  # (M, D)
    where_to = library.broadcast_to(bag[:, None], found.shape)
    start = library.zeros((bags, width), found.dtype)
    best = scatter_reduce(start, 0, where_to, found, "amax", include_self=False)
    last = float(len(index) - 1)  # places as floats: CuPy has no atomic minimum of int64
    places = library.arange(len(index), dtype=np.float64)[:, None]
    candidate = library.where(found == best[bag], places, last)
    first = library.full((bags, width), last)
    first = scatter_reduce(first, 0, where_to, candidate, "amin")
    row = index[first.astype(np.int64)]  # (bags, D): the row that each maximum is taken from
    y = Index.apply(weight, (row, library.arange(width)))
    filled = library.bincount(bag, minlength=bags) > 0
    return y if filled.all() else where(wrap_like(filled[:, None], y), y, 0.0)


def _bags(index: Array, offsets: Any, include_last: bool) -> tuple[Array, int]:
    """(the bag of each place, −1 for those before the first or after the last; their number)."""
    library = xp(index)
    if index.ndim == 2:
        if offsets is not None:
            raise ValueError(
                f"embedding_bag: got offsets for input of shape {index.shape}, expected None, as "
                "its rows are the bags"
            )
        bags, size = index.shape
        return library.repeat(library.arange(bags), size), bags
    if index.ndim != 1:
        raise ValueError(
            f"embedding_bag: got input of shape {index.shape}, expected 1 or 2 dimensions"
        )
    if offsets is None:
        raise ValueError("embedding_bag: got input of 1 dimension without offsets, expected both")
    starts = unwrap(offsets)
    if starts.ndim != 1:
        raise ValueError(f"embedding_bag: got offsets of shape {starts.shape}, expected (bags)")
    if starts.dtype.kind not in "iu":
        raise RuntimeError(f"embedding_bag: got offsets of dtype {starts.dtype}, expected integers")
    bags = len(starts) - 1 if include_last else len(starts)
    if bags < 0:
        raise RuntimeError(
            "embedding_bag: got empty offsets with include_last_offset, expected at least one"
        )
    if len(starts):
        if int(starts[0]) != 0:
            raise RuntimeError(f"embedding_bag: got offsets from {int(starts[0])}, expected from 0")
        if int(starts[-1]) > len(index):
            raise RuntimeError(
                f"embedding_bag: got offsets up to {int(starts[-1])}, expected at most "
                f"{len(index)}, the length of input"
            )
    bag = library.searchsorted(starts, library.arange(len(index)), side="right") - 1
    return library.where(bag < bags, bag, -1), bags


def _check(index: Array, table: Array, mode: str, weights: Any, by_frequency: bool) -> None:
    if index.dtype.kind not in "iu":
        raise RuntimeError(
            f"embedding_bag: input has dtype {index.dtype}, expected integers; use .long()"
        )
    if table.ndim != 2:
        raise ShapeError(
            f"embedding_bag: 'weight' must be 2-D, (rows, width), got shape {table.shape}"
        )
    if mode not in ("sum", "mean", "max"):
        raise ValueError(f"embedding_bag: got mode {mode!r}, expected 'sum', 'mean' or 'max'")
    if mode == "max" and by_frequency:
        raise ValueError("embedding_bag: mode 'max' takes no scale_grad_by_freq")
    if weights is None:
        return
    if tuple(weights.shape) != index.shape:
        raise ValueError(
            f"embedding_bag: got per_sample_weights of shape {tuple(weights.shape)}, expected "
            f"{index.shape}, as input"
        )
    if mode != "sum":
        raise NotImplementedError(
            f"embedding_bag: got per_sample_weights with mode {mode!r}, expected mode 'sum'"
        )
    if unwrap(weights).dtype != table.dtype:
        raise RuntimeError(
            f"embedding_bag: got per_sample_weights of dtype {unwrap(weights).dtype}, expected "
            f"{table.dtype}, as weight"
        )


__all__ = ["embedding_bag"]
