"""einsum and tensordot: errors, mixed dtypes, the cost of a contraction."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.autograd.variable import wrap


def ones(*shape: int, dtype: Any = np.float32) -> Any:
    return wrap(np.ones(shape, dtype=dtype))


ERRORS = [
    (
        lambda: tt.einsum("ij,jk", ones(2, 3), ones(4, 2)),
        RuntimeError,
        "einsum: subscript j has length 4 in operand 1 of shape (4, 2), but 3 in one before it",
    ),
    (
        lambda: tt.einsum("...i,...i", ones(2, 3), ones(4, 3)),
        RuntimeError,
        "einsum: dimension -1 under '...' has length 4 in operand 1 of shape (4, 3)",
    ),
    (
        lambda: tt.einsum("ii", ones(2, 3)),
        RuntimeError,
        "einsum: subscript i is repeated in operand 0 of shape (2, 3), but the lengths 2 and 3",
    ),
    (
        lambda: tt.einsum("ii", ones(1, 3)),
        RuntimeError,
        "einsum: subscript i is repeated in operand 0 of shape (1, 3)",
    ),
    (
        lambda: tt.einsum("ijk", ones(2, 3)),
        RuntimeError,
        "einsum: 'ijk' in 'ijk' names 3 dimensions, but operand 0 has 2",
    ),
    (
        lambda: tt.einsum("i", ones(2, 3)),
        RuntimeError,
        "einsum: 'i' in 'i' names 1 dimensions, but operand 0 has 2",
    ),
    (
        lambda: tt.einsum("ij->ik", ones(2, 3)),
        RuntimeError,
        "einsum: output subscript k of 'ij->ik' is in no operand",
    ),
    (
        lambda: tt.einsum("ij->ii", ones(2, 3)),
        RuntimeError,
        "einsum: output subscript i of 'ij->ii' is there twice",
    ),
    (lambda: tt.einsum("i1", ones(2, 3)), RuntimeError, "einsum: '1' in 'i1' is no subscript"),
    (lambda: tt.einsum("...i...", ones(2, 3)), RuntimeError, "einsum: '.' in '...i...' is no"),
    (
        lambda: tt.einsum("ij,jk", ones(2, 3)),
        ValueError,
        "einsum: equation 'ij,jk' is for 2 operands, got 1",
    ),
    (lambda: tt.einsum("i", [1.0, 2.0]), ValueError, "einsum: equation 'i' is for 1 operands"),
    (lambda: tt.einsum("i", 3), TypeError, "einsum: got int, expected a tensor"),
    (lambda: tt.einsum(ones(2), ones(2)), TypeError, "einsum: got Tensor first, expected an equ"),
    (lambda: tt.einsum(ones(2), [52]), ValueError, "einsum: got label 52, expected 0 to 51"),
    (
        lambda: tt.einsum("ij,jk", ones(2, 3), ones(3, 2, dtype=np.float64)),
        RuntimeError,
        "einsum: expected m1 and m2 to have the same dtype",
    ),
    (
        lambda: tt.tensordot(ones(2, 3), ones(4, 3)),
        RuntimeError,
        "tensordot: shapes (2, 3) and (4, 3) have lengths 2 and 4 in the contracted dimensions",
    ),
    (
        lambda: tt.tensordot(ones(2, 3), ones(4, 3), dims=3),
        RuntimeError,
        "tensordot: got dims=3, expected 0 to 2",
    ),
    (lambda: tt.tensordot(ones(2), ones(2), dims=-1), RuntimeError, "tensordot: got dims=-1"),
    (
        lambda: tt.tensordot(ones(2, 3), ones(4, 3), dims=([0, 1], [1])),
        RuntimeError,
        "tensordot: both lists of dims should have the same length, got [0, 1] and [1]",
    ),
    (
        lambda: tt.tensordot(ones(2, 2), ones(2, 2), dims=([0, 0], [0, 1])),
        RuntimeError,
        "tensordot: a dim appears more than once",
    ),
    (
        lambda: tt.tensordot(ones(2, 2), ones(2, 2), dims=([2], [0])),
        IndexError,
        "tensordot: dim 2 is out of range",
    ),
    (
        lambda: tt.tensordot(ones(2, 2), ones(2, 2), dims=(1, 0)),
        TypeError,
        "tensordot: got dims=(1, 0), expected an int or two lists",
    ),
    (
        lambda: tt.tensordot(ones(2, 2), ones(2, 2, dtype=np.float64), dims=0),
        RuntimeError,
        "tensordot: expected m1 and m2 to have the same dtype",
    ),
]


@pytest.mark.parametrize("call, error, message", ERRORS, ids=[e[2][:50] for e in ERRORS])
def test_errors_name_what_was_got(call: Any, error: type, message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        call()


def test_products_without_a_sum_promote() -> None:
    assert tt.einsum("i,j->ij", ones(2), ones(3, dtype=np.float64)).dtype == tt.float64
    assert tt.einsum("i,i->i", ones(2, dtype=np.int64), ones(2)).dtype == tt.float32


def test_tensordot_takes_dims_as_a_tensor() -> None:
    a = ones(2, 3)
    dims = wrap(np.array([[1], [1]]))
    np.testing.assert_array_equal(tt.tensordot(a, ones(4, 3), dims).array, np.full((2, 4), 3))


def test_a_contraction_is_one_node() -> None:
    q, k = ones(2, 3, 2, 4).requires_grad_(), ones(2, 3, 5, 4)
    node = tt.einsum("bhqd,bhkd->bhqk", q, k).grad_fn
    assert node.name() == "EinsumBackward"
    assert node.next_functions[0][0].name() == "AccumulateGrad"


def test_order_of_contraction_follows_size() -> None:
    """A column times a row times a column: the two that give one number go first."""
    big = 3000  # the other order needs an array of 3000 × 3000 numbers
    a, b, c = ones(big, 1), ones(1, big), ones(big, 1)
    y = tt.einsum("ij,jk,kl->il", a, b.requires_grad_(), c)
    shapes = []
    node = y.grad_fn
    while node.name() == "EinsumBackward":
        shapes.append(node._shape)
        node = next(n for n, _ in node.next_functions if n is not None)
    assert shapes == [(big, 1), (1, 1)]
