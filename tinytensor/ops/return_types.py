"""Named tuples for functions with several results, under PyTorch's names: `x.max(0).values`."""

from __future__ import annotations

from typing import Any, NamedTuple


def _text(result: Any) -> str:
    fields = ",\n".join(f"{name}={value!r}" for name, value in result._asdict().items())
    return f"tinytensor.return_types.{type(result).__name__}(\n{fields})"


class ValuesIndices(NamedTuple):
    """Elements picked along a dimension, and where they were."""

    values: Any
    indices: Any

    def __repr__(self) -> str:
        return _text(self)


class aminmax(NamedTuple):
    """The smallest and the largest element."""

    min: Any
    max: Any

    def __repr__(self) -> str:
        return _text(self)


class histogram(NamedTuple):
    """The height of each bin, and the edges of the bins, one more."""

    hist: Any
    bin_edges: Any

    def __repr__(self) -> str:
        return _text(self)


class max(ValuesIndices): ...


class min(ValuesIndices): ...


class median(ValuesIndices): ...


class nanmedian(ValuesIndices): ...


class cummax(ValuesIndices): ...


class cummin(ValuesIndices): ...


class sort(ValuesIndices): ...


class topk(ValuesIndices): ...


class kthvalue(ValuesIndices): ...


class mode(ValuesIndices): ...
