"""histogramdd: a histogram of points, with bins along each of their coordinates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.arguments import array_of, check_flags
from ..autograd.variable import unwrap, wrap
from ..backend import Array, is_array, xp
from . import return_types
from .histogram import edges_given, equal_edges

if TYPE_CHECKING:
    from ..tensor import Tensor


def histogramdd(
    input: Tensor,
    bins: Any,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> return_types.histogramdd:
    """(hist, bin_edges): how many points lie in each bin, and the edges along each coordinate.

    input (…, D): points; hist (bins[0], …, bins[D − 1]). bins: the number of equal bins along each
    coordinate, one number for all, or a list of increasing edges. range: low and high of each
    coordinate, 2·D numbers; default: its smallest and largest. weight (…): what each point counts.
    density: the volume of the histogram is 1.
    """
    name = "histogramdd"
    check_flags(name, density=density)
    x = array_of(name, input)
    if x.dtype not in (np.float32, np.float64):
        raise NotImplementedError(f"{name}: got {x.dtype}, expected float32 or float64")
    if x.ndim < 2:
        raise RuntimeError(f"{name}: got a tensor of shape {x.shape}, expected (…, D)")
    points = x.reshape((-1, x.shape[-1]))  # (N, D)
    edges = _edges(name, points, bins, range)
    shape = tuple(len(e) - 1 for e in edges)
    lib = xp(x)
    inside = lib.ones(len(points), dtype=bool)
    places = []
    for column, e in zip(points.T, edges, strict=True):
        inside &= (column >= e[0]) & (column <= e[-1])  # NaN is not
        places.append(lib.clip(lib.searchsorted(e, column, side="right") - 1, 0, len(e) - 2))
    flat = lib.ravel_multi_index(places, shape)[inside]
    counted = _weights(name, x, weight)
    total = lib.bincount(flat, None if counted is None else counted[inside], math.prod(shape))
    hist = total.reshape(shape).astype(x.dtype)
    if density:
        with np.errstate(all="ignore"):  # 0/0 is nan, without a warning
            hist = hist / hist.sum()
            for d, e in enumerate(edges):
                width = e[1:] - e[:-1]
                hist = hist / width.reshape([-1 if i == d else 1 for i in np.arange(len(shape))])
    return return_types.histogramdd(
        wrap(lib.asarray(hist, dtype=x.dtype)), tuple(wrap(e) for e in edges)
    )


def _edges(name: str, points: Array, bins: Any, range: Any) -> list[Array]:
    """The edges along each coordinate."""
    count = points.shape[1]
    each = list(bins) if isinstance(bins, (list, tuple)) else [bins] * count
    if len(each) != count:
        raise RuntimeError(f"{name}: got bins for {len(each)} coordinates, expected {count}")
    if range is not None and len(range) != 2 * count:
        raise RuntimeError(f"{name}: got a range of {len(range)} numbers, expected {2 * count}")
    edges = []
    for d, (column, wanted) in enumerate(zip(points.T, each, strict=True)):
        part = None if range is None else tuple(range[2 * d : 2 * d + 2])
        given = is_array(unwrap(wanted))
        edges.append((edges_given if given else equal_edges)(column, wanted, part))
    return edges


def _weights(name: str, x: Array, weight: Any) -> Array | None:
    if weight is None:
        return None
    weights = array_of(name, weight)
    if weights.shape != x.shape[:-1] or weights.dtype != x.dtype:
        raise RuntimeError(
            f"{name}: weight is {weights.dtype} of shape {weights.shape}, expected {x.dtype} of "
            f"shape {x.shape[:-1]}"
        )
    return weights.reshape(-1).astype(np.float64)


__all__ = ["histogramdd"]
