"""Reductions, beyond the op table: errors, dtypes, empty input, NumPy's argument names."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.ops.dims import normalize_dim, normalize_dims

X = tt.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
REDUCTIONS = [
    *("sum", "mean", "prod", "var", "std", "norm", "all", "any", "logsumexp", "nansum", "nanmean"),
    *("amax", "amin", "max", "min", "argmax", "argmin", "median"),
    *("cumsum", "cumprod", "logcumsumexp", "cummax", "cummin", "sort", "argsort"),
]


# ------------------------------------------------------------------------------------------
# dim
# ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dim, ndim, expected", [(0, 2, 0), (-1, 3, 2), (0, 0, 0), (-1, 0, 0)])
def test_normalize_dim(dim: int, ndim: int, expected: int) -> None:
    assert normalize_dim("op", dim, ndim) == expected
    assert normalize_dim("op", np.int64(dim), ndim) == expected


@pytest.mark.parametrize(
    "dims, ndim, expected",
    [(None, 3, (0, 1, 2)), ((), 2, (0, 1)), (-1, 2, (1,)), ([0, -1], 3, (0, 2)), (-1, 0, ())],
)
def test_normalize_dims(dims: object, ndim: int, expected: tuple) -> None:
    assert normalize_dims("op", dims, ndim) == expected


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("dim", [2, -3])
def test_dim_out_of_range(name: str, dim: int) -> None:
    message = rf"^{name}: dim {dim} is out of range for a tensor of 2 dimensions, expected -2 to 1"
    with pytest.raises(IndexError, match=message):
        getattr(tt, name)(X, dim=dim)


@pytest.mark.parametrize("name", ["sum", "mean", "var", "std", "norm", "amax", "all", "logsumexp"])
def test_dim_named_twice(name: str) -> None:
    with pytest.raises(RuntimeError, match=rf"^{name}: a dim appears more than once in \(0, -2\)"):
        getattr(tt, name)(X, dim=(0, -2))


@pytest.mark.parametrize("name", REDUCTIONS)
def test_dim_of_a_wrong_type(name: str) -> None:
    with pytest.raises(TypeError, match=rf"^{name}: got dim 0.5, expected an int"):
        getattr(tt, name)(X, dim=0.5)


@pytest.mark.parametrize("name", [n for n in REDUCTIONS if "cum" not in n and "sort" not in n])
def test_numpy_names_for_dim_and_keepdim(name: str) -> None:
    function = getattr(tt, name)
    flat, same = function(X, axis=1, keepdims=True), function(X, dim=1, keepdim=True)
    for a, b in zip(*(r if isinstance(r, tuple) else (r,) for r in (flat, same)), strict=True):
        assert a.shape == b.shape == (2, 1)
        assert a.tolist() == b.tolist()
    with pytest.raises(TypeError, match=rf"^{name}: got both dim and axis"):
        function(X, dim=0, axis=0)
    with pytest.raises(TypeError, match=rf"^{name}: got both keepdim and keepdims"):
        function(X, dim=0, keepdim=True, keepdims=True)


# ------------------------------------------------------------------------------------------
# dtype
# ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [tt.bool, tt.uint8, tt.int8, tt.int32, tt.int64])
@pytest.mark.parametrize("name", ["sum", "prod", "nansum"])
def test_integers_add_up_in_int64(name: str, dtype: tt.dtype) -> None:
    x = tt.tensor([1, 1, 1], dtype=dtype)
    assert getattr(tt, name)(x).dtype == tt.int64
    assert getattr(tt, name)(x, 0, dtype=tt.float64).dtype == tt.float64


def test_uint8_sum_does_not_wrap_around() -> None:
    assert tt.tensor([200, 200], dtype=tt.uint8).sum().item() == 400


@pytest.mark.parametrize("name", ["mean", "var", "std", "var_mean", "std_mean", "norm", "nanmean"])
@pytest.mark.parametrize("dtype", [tt.int64, tt.bool])
def test_integers_are_refused_where_the_result_is_a_float(name: str, dtype: tt.dtype) -> None:
    with pytest.raises(RuntimeError, match=rf"^{name}: got dtype {dtype.name}, expecte"):
        getattr(tt, name)(tt.tensor([1, 0], dtype=dtype))


def test_dtype_argument_carries_the_gradient_back() -> None:
    x = tt.tensor([1.0, 2.0], requires_grad=True)
    y = x.sum(dtype=tt.float64)
    y.backward()
    assert y.dtype == tt.float64
    assert x.grad.dtype == tt.float32
    assert x.grad.tolist() == [1.0, 1.0]


def test_float16_is_added_up_in_float32() -> None:
    x = tt.ones(10_000, dtype=tt.float16)
    assert x.sum().item() == 10_000
    assert x.mean().item() == 1
    assert x.sum().dtype == tt.float16


@pytest.mark.parametrize("name", ["all", "any"])
def test_all_and_any_of_uint8_are_uint8(name: str) -> None:
    assert getattr(tt, name)(tt.tensor([0, 2], dtype=tt.uint8)).dtype == tt.uint8
    assert getattr(tt, name)(tt.tensor([0, 2])).dtype == tt.bool


# ------------------------------------------------------------------------------------------
# Empty and degenerate input
# ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name, expected",
    [("sum", 0), ("prod", 1), ("mean", math.nan), ("var", math.nan), ("std", math.nan),
     ("norm", 0), ("all", True), ("any", False), ("count_nonzero", 0), ("nansum", 0),
     ("nanmean", math.nan), ("median", math.nan)],
)  # fmt: skip
def test_of_no_elements(name: str, expected: float) -> None:
    x = tt.zeros(0, requires_grad=True)
    y = getattr(tt, name)(x)
    np.testing.assert_equal(y.item(), expected)
    if y.requires_grad:
        y.backward()
        assert x.grad.shape == (0,)


@pytest.mark.parametrize("name", ["var", "std"])
@pytest.mark.parametrize("shape, correction", [((1,), 1), ((), 1), ((0,), 0), ((2, 0), 0)])
def test_spread_of_too_few_elements_is_nan(name: str, shape: tuple, correction: int) -> None:
    assert math.isnan(getattr(tt, name)(tt.zeros(shape), correction=correction).item())


def test_infinite_norm_of_no_elements() -> None:
    with pytest.raises(RuntimeError, match=r"^norm: got a tensor of shape \(0, 3\)"):
        tt.norm(tt.zeros(0, 3), math.inf, 0)


# ------------------------------------------------------------------------------------------
# Arguments
# ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["var", "std", "var_mean", "std_mean"])
def test_unbiased_and_correction_exclude_each_other(name: str) -> None:
    with pytest.raises(TypeError, match=rf"^{name}: got both unbiased and correction"):
        getattr(tt, name)(X, unbiased=True, correction=1)


def test_unknown_norm() -> None:
    with pytest.raises(ValueError, match=r"^norm: got p = 'max', expected 'fro'"):
        tt.norm(X, "max")


def test_logsumexp_needs_a_dim() -> None:
    with pytest.raises(TypeError, match=r"^logsumexp: got dim None"):
        tt.logsumexp(X, None)


def test_all_over_no_dims_asks_each_element() -> None:
    assert tt.all(X > 3, dim=()).tolist() == (X > 3).tolist()


# ------------------------------------------------------------------------------------------
# Gradients
# ------------------------------------------------------------------------------------------


def test_gradient_of_sum_is_its_own_writable_array() -> None:
    x = tt.zeros(2, 3, requires_grad=True)
    x.sum().backward()
    x.grad.array[0, 0] = 5  # would fail, or change all elements, if it were a broadcast view
    assert x.grad.tolist() == [[5, 1, 1], [1, 1, 1]]


def test_std_of_equal_elements_has_gradient_zero() -> None:
    x = tt.full((3,), 0.1, dtype=tt.float64).requires_grad_()
    x.std().backward()
    assert x.grad.tolist() == [0, 0, 0]


@pytest.mark.parametrize("p", [2, 1, 3, 0.5, 0, math.inf, -math.inf, -1])
def test_norm_of_zeros_has_gradient_zero(p: float) -> None:
    x = tt.zeros(3, dtype=tt.float64, requires_grad=True)
    y = x.norm(p)
    y.backward()
    assert y.item() == 0
    assert x.grad.tolist() == [0, 0, 0]


def test_product_of_many_elements_with_a_zero_takes_no_square_of_memory() -> None:
    x = tt.ones(100_000, dtype=tt.float64)
    x[77] = 0
    x.requires_grad_()
    (g,) = tt.autograd.grad(x.prod(), [x], create_graph=True)
    assert g[77].item() == 1
    assert g.sum().item() == 1
    (gg,) = tt.autograd.grad(g[77], [x])  # d² / (dx₇₇ dxⱼ) = 1 for every other j
    assert gg[77].item() == 0
    assert gg.sum().item() == 99_999
