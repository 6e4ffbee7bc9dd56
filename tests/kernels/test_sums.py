"""Kernels that add at an index: gather's gradient, scatter_add, products with a sparse matrix."""

from __future__ import annotations

import numpy as np
import pytest

import tinytensor as tt

from .test_convolution import agree, both, draw

pytest.importorskip("numba")


def index(high, *shape):
    return tt.tensor(np.random.default_rng(2).integers(0, high, shape))


@pytest.mark.parametrize(
    "function, shapes",
    [
        (lambda x: x.gather(1, index(9, 5, 7)), [(5, 9)]),
        (lambda x: x.gather(-1, index(9, 2, 7)), [(5, 9)]),  # of the first lines only
        (lambda x: x.gather(0, index(5, 3, 9)), [(5, 9)]),
        (lambda x, y: x.scatter_add(2, index(9, 2, 3, 5), y), [(2, 3, 9), (2, 3, 7)]),
        (lambda x, y: x.scatter_add(0, index(5, 30, 1).expand(30, 9), y), [(5, 9), (30, 9)]),
        (lambda x, y: x.scatter_add(0, index(5, 30, 1).expand(30, 4), y[:, :4]), [(5, 9), (30, 9)]),
        (lambda x, y: x.scatter_add(0, index(5, 1).expand(30), y), [(5,), (30,)]),
    ],
)  # fmt: skip
def test_adding_at_an_index(function, shapes):
    agree(*both(function, *draw(*shapes)))


@pytest.mark.parametrize("columns", [1, 7, 40])
def test_sparse_product(columns):
    """Entries in any order, some at the same place."""
    places = tt.stack([index(6, 50), index(8, 50)])
    arrays = draw((8, columns), (50,))
    agree(*both(lambda x, v: tt.sparse.mm(tt.sparse_coo_tensor(places, v, (6, 8)), x), *arrays))
