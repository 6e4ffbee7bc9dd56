"""What a row cannot say of the products: errors, dtypes, writing in place, the cost of a batch."""

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
        lambda: ones(2, 3) @ ones(4, 5),
        RuntimeError,
        "matmul: shapes (2, 3) and (4, 5) cannot be multiplied (3 and 4 differ)",
    ),
    (
        lambda: ones(3) @ ones(4, 5),
        RuntimeError,
        "matmul: shapes (3,) and (4, 5) cannot be multiplied (3 and 4 differ)",
    ),
    (
        lambda: ones(2, 3) @ ones(4),
        RuntimeError,
        "matmul: shapes (2, 3) and (4,) cannot be multiplied (3 and 4 differ)",
    ),
    (
        lambda: ones(2, 2, 3) @ ones(4, 5),
        RuntimeError,
        "matmul: shapes (2, 2, 3) and (4, 5) cannot be multiplied (3 and 4 differ)",
    ),
    (
        lambda: ones(2, 3, 4) @ ones(3, 4, 5),
        RuntimeError,
        "matmul: shapes (2, 3, 4), (3, 4, 5) do not fit",
    ),
    (
        lambda: ones(2, 3) @ ones(),
        RuntimeError,
        "matmul: both arguments need at least 1 dimension, got 2 and 0",
    ),
    (
        lambda: ones(2, 3) @ ones(3, 2, dtype=np.float64),
        RuntimeError,
        "matmul: expected m1 and m2 to have the same dtype, but got: float32 and float64",
    ),
    (
        lambda: ones(2, 3) @ ones(3, 2, dtype=np.int64),
        RuntimeError,
        "matmul: expected m1 and m2 to have the same dtype, but got: float32 and int64",
    ),
    (
        lambda: ones(2, 2, dtype=bool) @ ones(2, 2, dtype=bool),
        NotImplementedError,
        "matmul: not implemented for bool",
    ),
    (lambda: ones(2, 2) @ 3, TypeError, "matmul: got int, expected a tensor"),
    (lambda: 3 @ ones(2, 2), TypeError, "matmul: got int, expected a tensor"),
    (
        lambda: tt.mm(ones(2, 3, 4), ones(2, 2)),
        RuntimeError,
        "mm: got shapes (2, 3, 4) and (2, 2), expected 2-D and 2-D",
    ),
    (
        lambda: tt.mm(ones(2, 3), ones(4, 5)),
        RuntimeError,
        "mm: shapes (2, 3) and (4, 5) cannot be multiplied (3 and 4 differ)",
    ),
    (
        lambda: tt.bmm(ones(2, 3), ones(3, 2)),
        RuntimeError,
        "bmm: got shapes (2, 3) and (3, 2), expected 3-D and 3-D",
    ),
    (
        lambda: tt.bmm(ones(2, 3, 4), ones(1, 4, 5)),
        RuntimeError,
        "bmm: shapes (2, 3, 4) and (1, 4, 5) have batches of 2 and 1",
    ),
    (
        lambda: tt.mv(ones(2, 3), ones(4)),
        RuntimeError,
        "mv: shapes (2, 3) and (4,) cannot be multiplied (3 and 4 differ)",
    ),
    (
        lambda: tt.dot(ones(2), ones(3)),
        RuntimeError,
        "dot: shapes (2,) and (3,) cannot be multiplied (2 and 3 differ)",
    ),
    (
        lambda: tt.dot(ones(2, 2), ones(2)),
        RuntimeError,
        "dot: got shapes (2, 2) and (2,), expected 1-D and 1-D",
    ),
    (
        lambda: tt.inner(ones(2, 3), ones(2, 4)),
        RuntimeError,
        "inner: the last dimension must match, got shapes (2, 3) and (2, 4)",
    ),
    (
        lambda: tt.outer(ones(2, 2), ones(2)),
        RuntimeError,
        "outer: got shapes (2, 2) and (2,), expected two 1-D tensors",
    ),
    (
        lambda: tt.cross(ones(2, 4), ones(2, 4), dim=1),
        RuntimeError,
        "cross: dimension 1 has lengths 4 and 4 in shapes (2, 4) and (2, 4), expected 3",
    ),
    (
        lambda: tt.cross(ones(3), ones(2, 3)),
        RuntimeError,
        "cross: got shapes (3,) and (2, 3), expected as many dimensions in both",
    ),
    (lambda: tt.cross(ones(2, 3), ones(2, 3), dim=2), IndexError, "cross: dim 2 is out of range"),
    (
        lambda: tt.linear(ones(2, 5), ones(3, 4)),
        RuntimeError,
        "linear: input has 5 features (shape (2, 5)), weight (3, 4) expects 4",
    ),
    (
        lambda: tt.linear(ones(2, 4), ones(3, 4), ones(2)),
        RuntimeError,
        "linear: bias has shape (2,), which does not expand to (2, 3)",
    ),
    (
        lambda: tt.linear(ones(2, 4), ones(2, 3, 4)),
        RuntimeError,
        "linear: got input of shape (2, 4) and weight of shape (2, 3, 4)",
    ),
    (
        lambda: tt.linear(ones(2, 4), ones(3, 4, dtype=np.float64)),
        RuntimeError,
        "linear: expected m1 and m2 to have the same dtype, but got: float32 and float64",
    ),
    (
        lambda: tt.linear(ones(2, 4), ones(3, 4), ones(3, dtype=np.float64)),
        RuntimeError,
        "linear: expected m1 and m2 to have the same dtype, but got: float32 and float64",
    ),
    (lambda: tt.linear([1.0, 2.0], ones(3, 2)), TypeError, "linear: got list, expected a tensor"),
    (
        lambda: tt.bilinear(ones(2, 3), ones(2, 4), ones(2, 4, 3)),
        RuntimeError,
        "bilinear: got inputs of shapes (2, 3) and (2, 4) and weight of shape (2, 4, 3)",
    ),
    (
        lambda: tt.addmm(ones(3), ones(2, 2), ones(2, 2)),
        RuntimeError,
        "addmm: input has shape (3,), which does not expand to (2, 2)",
    ),
    (
        lambda: tt.addmm(ones(3, 2, 2), ones(2, 2), ones(2, 2)),
        RuntimeError,
        "addmm: input has shape (3, 2, 2), which does not expand to (2, 2)",
    ),
    (
        lambda: tt.addmm(ones(2, 2, dtype=np.float64), ones(2, 2), ones(2, 2)),
        RuntimeError,
        "addmm: expected m1 and m2 to have the same dtype, but got: float64 and float32",
    ),
    (
        lambda: tt.baddbmm(ones(2, 2), ones(2, 2), ones(2, 2)),
        RuntimeError,
        "baddbmm: got shapes (2, 2) and (2, 2), expected 3-D and 3-D",
    ),
    (
        lambda: tt.addr(ones(2, 2), ones(2, 2), ones(2)),
        RuntimeError,
        "addr: got shapes (2, 2) and (2,), expected two vectors",
    ),
]


@pytest.mark.parametrize("call, error, message", ERRORS, ids=[e[2][:50] for e in ERRORS])
def test_errors_name_what_was_got(call: Any, error: type, message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        call()


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "int64", "float16", "float64"])
def test_dtype_is_kept(dtype: str) -> None:
    a, b = ones(2, 3, dtype=dtype), ones(3, 2, dtype=dtype)
    for y in (a @ b, tt.einsum("ij,jk", a, b), tt.linear(a, ones(2, 3, dtype=dtype))):
        assert y.array.dtype == dtype
        np.testing.assert_array_equal(y.array, 3)


def test_float16_sums_are_not_rounded_at_every_step() -> None:
    y = ones(1, 4096, dtype=np.float16) @ ones(4096, 1, dtype=np.float16)
    assert y.item() == 4096  # adding 1 to 2048 in float16 would stop there


def test_outer_promotes() -> None:
    assert tt.outer(ones(2), ones(3, dtype=np.float64)).dtype == tt.float64
    assert tt.outer(ones(2, dtype=np.int64), ones(3)).dtype == tt.float32


def test_beta_zero_ignores_the_input() -> None:
    x = wrap(np.full((2, 2), np.nan, dtype=np.float32))
    np.testing.assert_array_equal(tt.addmm(x, ones(2, 2), ones(2, 2), beta=0).array, 2)


def test_numpy_array_on_the_left() -> None:
    y = np.ones((2, 3), np.float32) @ ones(3, 4)
    assert isinstance(y, tt.Tensor)
    np.testing.assert_array_equal(y.array, 3)


def test_raw_arrays_give_raw_arrays() -> None:
    a = np.ones((2, 3))
    assert type(tt.matmul(a, a.T)) is np.ndarray
    assert type(tt.linear(a, a)) is np.ndarray
    assert type(tt.einsum("ij,kj->ik", a, a)) is np.ndarray


def test_addmm_in_place() -> None:
    leaf = ones(2, 2).requires_grad_()
    x = leaf * 2
    result = x.addmm_(ones(2, 3), ones(3, 2), beta=0.5, alpha=2)
    assert result is x
    np.testing.assert_array_equal(x.detach().numpy(), 7)
    x.sum().backward()
    np.testing.assert_array_equal(leaf.grad.array, 1)
    with pytest.raises(RuntimeError, match="addmm_: "):
        ones(2).addmm_(ones(2, 3), ones(3, 2))


def test_a_matrix_shared_by_a_batch_gets_its_gradient_from_one_product() -> None:
    """The rule itself sums over the batch: no gradient of batch size is left to the engine."""
    x, w = ones(4, 2, 3).requires_grad_(), ones(3, 5).requires_grad_()
    node = (x @ w).grad_fn
    with tt.no_grad():
        dx, dw = node.backward(np.ones((4, 2, 5), np.float32))
    assert dx.shape == (4, 2, 3) and dw.shape == (3, 5)
    w, x = ones(5, 3).requires_grad_(), ones(4, 3, 2).requires_grad_()
    node = (w @ x).grad_fn
    with tt.no_grad():
        dw, dx = node.backward(np.ones((4, 5, 2), np.float32))
    assert dx.shape == (4, 3, 2) and dw.shape == (5, 3)


def test_nothing_is_saved_for_a_constant() -> None:
    x, w = ones(2, 3), ones(3, 4).requires_grad_()
    node = (x @ w).grad_fn
    saved_x, saved_w = node.saved
    assert saved_x is not None and saved_w is None
