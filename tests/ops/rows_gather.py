"""Rows of the op table: gather, scatter and their kin."""

from __future__ import annotations

from .table import B, I, Row, T, V

REPEATED = V([0, 2, 2, 0, 1])
PLACES = V([[0, 1, 1], [3, 3, 3]])  # (2, 3), repeated within a row
DISTINCT = V([[0, 2, 1], [3, 0, 1]])  # (2, 3), not repeated within a row

GATHER = [
    Row("gather", T(3, 4), 1, I(3, 2, high=4)),
    Row("gather", T(3, 4), 0, I(5, 4, high=3)),
    Row("gather", T(3, 4), -1, PLACES),
    Row("gather", T(2, 3, 4), 1, I(2, 5, 3, high=3)),
    Row("gather", T(4), 0, I(6, high=4)),
    Row("gather", T(), 0, V([0, 0])),
    Row("gather", T(4), 0, V(2)),
    Row("gather", T(3, 4), 0, I(0, 4)),
    Row("take_along_dim", T(3, 4), I(3, 2, high=4), 1),
    Row("take_along_dim", T(3, 4), I(1, 4, high=3), dim=0),
    Row("take_along_dim", T(1, 4), I(3, 2, high=4), dim=-1),
    Row("take_along_dim", T(3, 4), I(5, high=12)),
    Row("take_along_dim", T(3, 4), V([[-1, 0, -3, 2]]), 0),
    Row("index_select", T(3, 4), 0, REPEATED),
    Row("index_select", T(2, 3, 4), -1, REPEATED),
    Row("index_select", T(2, 3, 4), 1, V(1)),
    Row("index_select", T(), 0, V([0])),
    Row("index_select", T(3, 4), 1, I(0)),
    Row("take", T(3, 4), V([[0, 11], [-1, 0]])),
    Row("take", T(3, 4), V(5)),
    Row("masked_select", T(3, 4), B(3, 4)),
    Row("masked_select", T(3, 4), B(4)),
    Row("masked_select", T(4), B(3, 4)),
    Row("masked_select", T(), V(True)),
    Row("nonzero", V([[0.0, 1.5], [2.0, 0.0]]), order=0, empty=True, scalar=True),
    Row("nonzero", B(2, 3, 2), as_tuple=True, order=0),
    Row("nonzero", V(2.0), as_tuple=True, order=0),
    Row("nonzero", V(0.0), as_tuple=True, order=0),
    Row("argwhere", I(3, 4, high=2), order=0),
]

SCATTER = [
    Row("scatter", T(3, 4), 1, DISTINCT, T(2, 3)),
    Row("scatter", T(4, 3), 0, V([[0, 2, 1], [3, 0, 2]]), T(2, 3)),
    Row("scatter", T(3, 4), -1, DISTINCT, T(3, 4, grad=False)),
    Row("scatter", T(3, 4), 1, DISTINCT, 1.5),
    Row("scatter", T(3, 4), 1, DISTINCT, value=-2),
    Row("scatter", T(3, 4), 1, I(0, 3), T(0, 3)),
    Row("scatter", T(), 0, V(0), T()),
    Row("scatter", T(3, 4, grad=False), 1, PLACES, 3.0, reduce="add", order=0),
    Row("scatter", T(3, 4, grad=False), 1, PLACES, 3.0, reduce="multiply", order=0),
    Row("scatter_add", T(3, 4), 1, PLACES, T(2, 3)),
    Row("scatter_add", T(3, 4), 0, I(5, 4, high=3), T(6, 4, grad=False)),
    Row("scatter_add", T(5), 0, I(8, high=5), T(8)),
    Row("scatter_add", T(), 0, V([0, 0]), T(2)),
    *[
        Row(
            "scatter_reduce",
            T(3, 4, low=1, high=3, distinct=True),
            1,
            PLACES,
            T(2, 3),
            reduce,
            include_self=include_self,
        )
        for reduce in ("sum", "prod", "mean", "amax", "amin")
        for include_self in (True, False)
    ],
    Row("scatter_reduce", T(3), 0, V([0, 0, 2, 2]), T(4), "prod"),
    Row("index_add", T(3, 4), 0, REPEATED, T(5, 4)),
    Row("index_add", T(2, 3), -1, REPEATED, T(2, 5), alpha=-0.5),
    Row("index_add", T(2, 3, 4), 1, V(1), T(2, 1, 4)),
    Row("index_add", T(), 0, V(0), T()),
    Row("index_copy", T(3, 4), 0, V([2, 0]), T(2, 4)),
    Row("index_copy", T(2, 3), -1, V([1]), T(2, 1)),
    Row("index_copy", T(), 0, V([0]), T()),
    Row("index_copy", T(), 0, V([0]), T(1)),
    Row("index_copy", T(3), 0, V([1]), T()),
    Row("index_fill", T(3, 4), 0, V([0, -1]), 7),
    Row("index_fill", T(3, 4), 1, V([0, 0, 2]), T()),
    Row("index_fill", T(), 0, V(0), 1.5),
    Row("index_put", T(3, 4), (V([0, 2]), V([1, 3])), T(2)),
    Row("index_put", T(3, 4), (V([0, 2]),), T(4)),
    Row("index_put", T(3, 4), (B(3, 4),), T()),
    Row("index_put", T(3, 4), (V([0, 0, 1]), V([1, 1, -1])), T(3), accumulate=True),
    Row("index_put", T(3, 4), (REPEATED,), T(1, 4), accumulate=True),
    Row("index_put", T(3, 4), (V([True, False, True]),), T(4), True),
    Row("put", T(3, 4), V([[0, -1], [5, 3]]), T(4)),
    Row("put", T(3, 4), V([0, 0, 5]), T(3), accumulate=True),
    Row("masked_fill", T(3, 4), B(3, 4), 0.5, empty=True),
    Row("masked_fill", T(3, 4), B(4), float("-inf"), order=0),
    Row("masked_fill", T(3, 4), B(4), -1e9),
    Row("masked_fill", T(4), B(3, 4), 2),
    Row("masked_fill", T(3, 4), B(3, 1), T()),
    Row("masked_fill", T(), V(True), T()),
    Row("masked_scatter", T(3, 4), B(3, 4), T(12)),
    Row("masked_scatter", T(3, 4), V([True, False, False, True]), T(4, 3)),
    Row("masked_scatter", T(4), B(2, 4), T(8)),
]

ROWS = GATHER + SCATTER
