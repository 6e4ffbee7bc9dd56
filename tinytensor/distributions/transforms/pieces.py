"""Transforms that change the shape, or act on each piece of a tensor in its own way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ops import cat, stack
from ...size import Size
from ...tensor import Tensor
from .. import constraints
from ..utils import sum_rightmost
from .base import Transform, _require_dims


class ReshapeTransform(Transform):
    """y = x with its last dimensions reshaped from in_shape to out_shape;  log |det| = 0"""

    bijective = True

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0):
        super().__init__(cache_size)
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError(
                "ReshapeTransform: in_shape, out_shape have different numbers of elements: got "
                f"{tuple(in_shape)} and {tuple(out_shape)}"
            )

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape((*x.shape[: x.dim() - len(self.in_shape)], *self.out_shape))

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape((*y.shape[: y.dim() - len(self.out_shape)], *self.in_shape))

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def _swap(self, shape: Any, old: Size, new: Size) -> Any:
        _require_dims(self, len(shape), len(old))
        cut = len(shape) - len(old)
        if tuple(shape[cut:]) != tuple(old):
            raise ValueError(
                f"ReshapeTransform: Shape mismatch: got {tuple(shape[cut:])}, expected {tuple(old)}"
            )
        return (*shape[:cut], *new)

    def forward_shape(self, shape: Any) -> Any:
        return self._swap(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._swap(shape, self.out_shape, self.in_shape)


class _Pieces(Transform):
    """Base class: a sequence of transforms, each for one piece along a dimension."""

    transforms: list[Transform]
    dim: int

    def _set(self, name: str, tseq: Sequence[Transform], dim: int, cache_size: int) -> None:
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError(f"{name}: expected transforms only, got {tseq}")
        self.transforms = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq)
        self.dim = dim

    @property
    def bijective(self) -> bool:
        return all(t.bijective for t in self.transforms)

    def _check(self, x: Tensor, length: int) -> None:
        if not -x.dim() <= self.dim < x.dim() or x.size(self.dim) != length:
            raise AssertionError(
                f"{type(self).__name__}: got shape {tuple(x.shape)}, expected {length} elements in "
                f"dimension {self.dim}"
            )


class CatTransform(_Pieces):
    """y = the transforms of consecutive pieces of x, of the given lengths along dim"""

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, lengths: Any = None,
                 cache_size: int = 0):  # fmt: skip
        super().__init__(cache_size)
        self._set("CatTransform", tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(
                f"CatTransform: got {len(self.lengths)} lengths for {len(self.transforms)} "
                "transforms, expected as many"
            )

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    @property
    def event_dim(self) -> int:
        return max(t.event_dim for t in self.transforms)

    @property
    def length(self) -> int:
        return sum(self.lengths)

    def _split(self, x: Tensor) -> Any:
        self._check(x, self.length)
        return x.split(self.lengths, self.dim)

    def _call(self, x: Tensor) -> Tensor:
        parts = zip(self.transforms, self._split(x), strict=True)
        return cat([t(part) for t, part in parts], self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        parts = zip(self.transforms, self._split(y), strict=True)
        return cat([t.inv(part) for t, part in parts], self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        each = []
        for t, before, after in zip(self.transforms, self._split(x), self._split(y), strict=True):
            found = t.log_abs_det_jacobian(before, after)
            each.append(sum_rightmost(found, self.event_dim - t.event_dim))
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + self.event_dim
        if dim < 0:  # dim is a batch dimension
            return cat(each, dim)
        total = each[0]
        for found in each[1:]:
            total = total + found
        return total

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_Pieces):
    """y = the transforms of the slices of x along dim, one for each"""

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0):
        super().__init__(cache_size)
        self._set("StackTransform", tseq, dim, cache_size)

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return StackTransform(self.transforms, self.dim, cache_size)

    def _slices(self, x: Tensor) -> Any:
        self._check(x, len(self.transforms))
        return x.unbind(self.dim)

    def _call(self, x: Tensor) -> Tensor:
        parts = zip(self.transforms, self._slices(x), strict=True)
        return stack([t(part) for t, part in parts], self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        parts = zip(self.transforms, self._slices(y), strict=True)
        return stack([t.inv(part) for t, part in parts], self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        parts = zip(self.transforms, self._slices(x), self._slices(y), strict=True)
        return stack([t.log_abs_det_jacobian(a, b) for t, a, b in parts], self.dim)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.stack([t.codomain for t in self.transforms], self.dim)
