"""What counts as a difference from PyTorch.

Truth is what PyTorch gives in float64 for the same bits. A result in float32 is right if its error
is at most

- a few times PyTorch's own error in float32, or a few units in its last place; or
- a few times what changes in the truth if every input is changed by about one unit in its last
  place. For a sum that is eps·√Σ terms², the error of a careful sum; where terms cancel, it is the
  size of the terms that counts, not that of the small remainder.

Of matrix products over n terms the last two are n/16 times as large (n up to 384, its blocks), as
BLAS adds terms up one after the other. The rounding errors of equal terms have one sign; so the
result of a single product may also have half of the classical bound, n·eps/2·Σ |terms|.

NaN and infinity are to be where PyTorch has them in float32. Which of the two it is depends on the
order of the terms in a rule (∞ − ∞ − ∞ or ∞ − (∞ − ∞)), so only the sign of ∞ counts. Three cases
are right as well: the true number, where PyTorch overflows on the way; NaN or infinity where the
truth has the same; and any of them where the terms themselves are near the largest float, as then
the order of a sum decides whether a part of it overflows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

FEW = 4  # times PyTorch's own error
TIMES = 8  # times the change of the truth when inputs change by one unit in the last place
BLAS_BLOCK = 384  # terms of a product that are added up one after the other
PROBES = 512  # times that the inputs are changed, at most: a sum that cancels may go either way


@dataclass
class Difference:
    """The worst element of one result that is not right."""

    result: str
    place: tuple
    ours: float
    theirs: float
    truth: float
    allowed: float

    def __str__(self) -> str:
        return (
            f"{self.result}{list(map(int, self.place))}: {self.ours!r}, PyTorch {self.theirs!r}, "
            f"in float64 {self.truth!r}; error {abs(self.ours - self.truth):.3g}, "
            f"allowed {self.allowed:.3g}"
        )


def unit(dtype: np.dtype) -> float:
    """The relative error that is granted to each input: half a last place, of float64 more.

    PyTorch's float64 is itself the truth then, so its own rounding has to be far below it.
    """
    return float(np.finfo(dtype).eps) if dtype == np.float32 else 1e-13


def difference(
    name: str,
    ours: np.ndarray,
    theirs: np.ndarray,
    truth: np.ndarray,
    change: Callable[[int], np.ndarray],
    depth: int,
    terms: Callable[[], np.ndarray] | None = None,
) -> Difference | None:
    """What is wrong with `ours`, if anything is.

    change(n): how far the truth moves in n probes.
    depth: the number of terms in the longest matrix product, 1 if there is none.
    terms(): for the result of a single product, Σ |terms|.
    """
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        raise AssertionError(
            f"{name}: got {ours.dtype} of shape {ours.shape}, PyTorch gives {theirs.dtype} of "
            f"shape {theirs.shape}"
        )
    right = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
    if ours.dtype.kind == "f":
        right |= ~np.isfinite(ours) & ~np.isfinite(theirs) & (np.isnan(ours) | np.isnan(theirs))
    if ours.dtype.kind != "f" or right.all():
        return None if right.all() else _worst(name, right, ours, theirs, truth, right * 0.0)
    eps, limits = unit(ours.dtype), np.finfo(ours.dtype)
    with np.errstate(all="ignore"):
        error = np.abs(ours.astype(np.float64) - truth)
        longer = max(1, min(depth, BLAS_BLOCK) / 16)
        allowed = FEW * longer * eps * np.abs(truth) + limits.tiny
        if ours.dtype == np.float32:
            own = np.abs(theirs.astype(np.float64) - truth)
            allowed = np.maximum(allowed, np.where(np.isfinite(own), FEW * own, 0))
            right |= _same_kind(ours, truth)
        right |= (error <= allowed) & np.isfinite(ours)
        if right.all():
            return None
        if terms is not None:
            allowed = np.maximum(allowed, depth / 4 * eps * terms())
            right |= (error <= allowed) & np.isfinite(ours)
        for probes in range(1, PROBES + 1):
            moved = change(probes)
            allowed = np.maximum(allowed, TIMES * longer * moved)
            right |= (error <= allowed) & np.isfinite(ours)
            right |= ~np.isfinite(ours) & np.isfinite(truth) & (moved / eps > limits.max / 16)
            if right.all():
                return None
    return _worst(name, right, ours, theirs, truth, allowed)


def _same_kind(ours: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Where both are NaN, or both the same infinity."""
    return (np.isnan(ours) & np.isnan(truth)) | (np.isinf(truth) & (ours == truth))


def _worst(name: str, right: np.ndarray, *arrays: np.ndarray) -> Difference:
    ours, _, truth, allowed = arrays
    with np.errstate(all="ignore"):
        excess = np.abs(ours.astype(np.float64) - truth) / np.maximum(allowed, 1e-300)
    excess = np.where(right, -1, np.where(np.isnan(excess), np.inf, excess))
    place = np.unravel_index(int(np.argmax(excess)), right.shape)
    return Difference(name, place, *(x[place].item() for x in arrays))
