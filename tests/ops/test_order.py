"""The first few in order, found without sorting all: the same as the first of all of them."""

from __future__ import annotations

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.ops.order import first_in_order, in_order


@pytest.mark.parametrize("shape, dim", [((5, 40), 1), ((40, 5), 0), ((3, 40, 4), 1), ((100,), 0)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.int16])
@pytest.mark.parametrize("descending", [True, False])
def test_first_in_order(shape, dim, dtype, descending):
    distinct = np.random.default_rng(0).permutation(np.prod(shape)).reshape(shape).astype(dtype)
    for count in (1, 3, 10):
        found = first_in_order(distinct, dim, descending, count)
        expected = in_order(distinct, dim, descending)
        np.testing.assert_array_equal(found, expected.take(range(count), dim))
    assert first_in_order(distinct, dim, descending, distinct.shape[dim]) is None


def test_equal_elements_and_nan():
    """Of equal elements the first are taken; NaN is the largest."""
    equal = tt.tensor([1.0, 7, 7, 2, 7, 3, 0, 0])
    assert tt.topk(equal, 2).indices.tolist() == [1, 2]
    assert tt.topk(equal, 1, largest=False).indices.tolist() == [6]
    nan = tt.tensor([1.0, 7, float("nan"), 2, 5, 3, 0, 4])
    assert tt.topk(nan, 2).indices.tolist() == [2, 1]
    assert tt.topk(nan, 2, largest=False).indices.tolist() == [6, 0]
