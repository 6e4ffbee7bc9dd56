"""index_reduce: slices combined at the places that an index names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..autograd.arguments import check_flags, check_given
from ..out import takes_out
from .broadcast import expand
from .dims import accepts_axis
from .gather import check_index_range
from .scatter import prepare_source, scatter_reduce

if TYPE_CHECKING:
    from ..tensor import Tensor

REDUCTIONS = ("prod", "mean", "amax", "amin")


@takes_out("same dtype")
@accepts_axis
def index_reduce(
    input: Tensor,
    dim: int,
    index: Tensor,
    source: Tensor,
    reduce: str,
    *,
    include_self: bool = True,
) -> Tensor:
    """A copy of input with slice i of source combined into slice index[i], along dim.

    reduce: "prod", "mean", "amax" or "amin". include_self=False: input's slices at `index` do not
    count.
    """
    check_given("index_reduce", index=index, source=source)
    if type(include_self) is not bool:
        check_flags("index_reduce", include_self=include_self)
    if reduce not in REDUCTIONS:
        raise RuntimeError(
            f"index_reduce: got reduce={reduce!r}, expected 'prod', 'mean', 'amax' or 'amin'"
        )
    dim, index = prepare_source("index_reduce", input, dim, index, source)
    if not input.ndim:
        args = index, source.reshape((1,)), reduce
        y = index_reduce(input.reshape((1,)), 0, *args, include_self=include_self)
        return y.reshape(())
    check_index_range("index_reduce", index, dim, input.shape[dim])
    column = index.reshape((-1, *(1,) * (input.ndim - dim - 1)))  # (n, 1, …), as source from dim on
    places = expand(column, tuple(source.shape))
    return scatter_reduce(input, dim, places, source, reduce, include_self=include_self)


__all__ = ["index_reduce"]
