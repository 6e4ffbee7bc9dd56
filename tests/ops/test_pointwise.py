"""Pointwise functions beyond their rows: huge values, precision, dtypes, in place, errors."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tinytensor as tt

try:
    import torch
except ImportError:
    torch = None  # type: ignore[assignment]

needs_torch = pytest.mark.skipif(torch is None, reason="PyTorch is not installed")

INF, NAN = math.inf, math.nan
EXTREMES = [-INF, -1e4, -800.0, -20.5, -1.0, -0.0, 0.0, 1.0, 20.5, 100.0, 800.0, 1e4, INF, NAN]

TO_FLOAT = [
    "exp", "exp2", "expm1", "log", "log1p", "log2", "log10", "sigmoid", "logit", "sin", "cos",
    "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf",
    "erfc",
]  # fmt: skip
ROUNDING = ["floor", "ceil", "trunc", "round"]


def value_and_slope(library, name, values, dtype, **kwargs):
    """The function's values and its gradient, by one backward with g = 1."""
    x = library.tensor(values, dtype=getattr(library, dtype), requires_grad=True)
    y = getattr(library, name)(x, **kwargs)
    (slope,) = library.autograd.grad(y, x, library.ones_like(y))
    return y.detach().numpy(), slope.numpy()


def assert_like_torch(name, values, dtype, rtol, **kwargs):
    ours = value_and_slope(tt, name, values, dtype, **kwargs)
    theirs = value_and_slope(torch, name, values, dtype, **kwargs)
    for a, b, what in zip(ours, theirs, ("value", "gradient"), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * 1e-3, err_msg=f"{name}: {what}")


@needs_torch
@pytest.mark.parametrize("name", TO_FLOAT + ROUNDING + ["frac"])
@pytest.mark.parametrize("dtype, rtol", [("float64", 1e-12), ("float32", 1e-5)])
def test_extreme_values_like_pytorch(name: str, dtype: str, rtol: float) -> None:
    values = EXTREMES
    if name in ("sin", "cos", "tan"):
        values = [v for v in EXTREMES if abs(v) < 1e3]  # float32 angles beyond mean little
    if name == "logit":
        values = [abs(v) for v in EXTREMES]  # PyTorch's slope at −0 changes with its vector length
    assert_like_torch(name, values, dtype, rtol)


@needs_torch
def test_logit_clamps_like_pytorch() -> None:
    values = [-INF, -1.0, 0.0, 0.05, 0.1, 0.5, 0.9, 0.95, 1.0, 2.0, INF]
    assert_like_torch("logit", values, "float64", 1e-12, eps=0.1)
    assert_like_torch("logit", values, "float64", 1e-12, eps=0.0)


@needs_torch
def test_atan2_in_every_quadrant_and_on_the_axes() -> None:
    points = [(a, b) for a in (-2.0, -0.0, 0.0, 3.0) for b in (-1.0, -0.0, 0.0, 4.0)]
    results = []
    for library in (tt, torch):
        a = library.tensor([p[0] for p in points], requires_grad=True)
        b = library.tensor([p[1] for p in points], requires_grad=True)
        y = library.atan2(a, b)
        grads = library.autograd.grad(y, (a, b), library.ones_like(y))
        results.append([t.detach().numpy() for t in (y, *grads)])
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


# ------------------------------------------------------------------------------------------
# The error function
# ------------------------------------------------------------------------------------------

# Across all of Cody's intervals, and on both sides of where they meet.
ERF_AT = np.concatenate([
    np.linspace(-6, 6, 4001), np.logspace(-300, 0, 301), np.linspace(0.46, 0.48, 201),
    np.linspace(3.9, 4.1, 201), np.linspace(6, 26, 801),
])  # fmt: skip


@pytest.mark.parametrize("name", ["erf", "erfc"])
def test_erf_in_float64(name: str) -> None:
    exact = np.array([getattr(math, name)(v) for v in ERF_AT])
    np.testing.assert_allclose(getattr(tt, name)(tt.tensor(ERF_AT)).numpy(), exact, rtol=2e-15)


@pytest.mark.parametrize("name", ["erf", "erfc"])
def test_erf_in_float32_to_the_last_bit_but_one(name: str) -> None:
    x = ERF_AT[np.abs(ERF_AT) < 9].astype(np.float32)
    exact = np.array([getattr(math, name)(float(v)) for v in x])
    found = getattr(tt, name)(tt.tensor(x)).numpy()
    assert found.dtype == np.float32
    assert np.all(np.abs(found) <= 2) and (name == "erfc" or np.all(np.abs(found) <= 1))
    last_bit = np.spacing(np.abs(exact).astype(np.float32))
    assert np.max(np.abs(found - exact) / last_bit) <= 1


def test_erf_takes_more_than_one_block() -> None:
    x = tt.linspace(-3, 3, 20001, dtype=tt.float64).reshape(3, 6667)
    exact = np.array([math.erf(v) for v in x.numpy().reshape(-1)]).reshape(3, 6667)
    np.testing.assert_allclose(tt.erf(x).numpy(), exact, rtol=2e-15)


# ------------------------------------------------------------------------------------------
# Dtypes
# ------------------------------------------------------------------------------------------


@needs_torch
@pytest.mark.parametrize("name", TO_FLOAT)
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int64", "float16"])
def test_dtype_like_pytorch(name: str, dtype: str) -> None:
    values = [0, 1] if dtype == "bool" else [0, 1, 2, 5]
    ours = getattr(tt, name)(tt.tensor(values).to(getattr(tt, dtype)))
    theirs = getattr(torch, name)(torch.tensor(values).to(getattr(torch, dtype)))
    assert ours.dtype.name == str(theirs.dtype).removeprefix("torch.")
    rtol = 2e-3 if dtype == "float16" else 1e-5
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=rtol, atol=1e-7)


def test_integers_follow_the_default_dtype() -> None:
    tt.set_default_dtype(tt.float64)
    try:
        assert tt.exp(tt.tensor([1, 2])).dtype == tt.float64
    finally:
        tt.set_default_dtype(tt.float32)


@pytest.mark.parametrize("name", ROUNDING)
def test_rounding_keeps_integers(name: str) -> None:
    x = tt.tensor([-3, 0, 7], dtype=tt.int16)
    y = getattr(tt, name)(x)
    assert y.dtype == tt.int16 and y.tolist() == [-3, 0, 7]
    y[0] = 9
    assert x.tolist() == [-3, 0, 7]  # a result of its own, not a view


@needs_torch
@pytest.mark.parametrize("a, b", [("int64", "int32"), ("int64", "float32"), ("float32", "float64")])
def test_atan2_promotes(a: str, b: str) -> None:
    ours = tt.atan2(tt.ones(2).to(getattr(tt, a)), tt.ones(2).to(getattr(tt, b)))
    theirs = torch.atan2(torch.ones(2).to(getattr(torch, a)), torch.ones(2).to(getattr(torch, b)))
    assert ours.dtype.name == str(theirs.dtype).removeprefix("torch.")


# ------------------------------------------------------------------------------------------
# In place
# ------------------------------------------------------------------------------------------

IN_PLACE = [
    "exp", "exp2", "expm1", "log", "log1p", "log2", "log10", "sigmoid", "logit", "sin", "cos",
    "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "atanh", "erf", "erfc",
    "floor", "ceil", "trunc", "round", "frac", "arcsin", "arccos", "arctan", "arcsinh",
    "arctanh", "fix",
]  # fmt: skip


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place_like_out_of_place(name: str) -> None:
    values = [0.2, 0.5, 0.7]
    x = tt.tensor(values, requires_grad=True)
    y = x * 1
    memory, version = y.array, y._version
    assert getattr(y, f"{name}_")() is y
    assert y.array is memory and y._version == version + 1
    expected = tt.tensor(values, requires_grad=True)
    z = getattr(tt, name)(expected * 1)
    np.testing.assert_array_equal(y.detach().numpy(), z.detach().numpy())
    y.backward(tt.ones(3))
    z.backward(tt.ones(3))
    np.testing.assert_array_equal(x.grad.numpy(), expected.grad.numpy())


def test_in_place_with_arguments() -> None:
    x = tt.tensor([1.26, 3.14159])
    assert x.round_(decimals=1).tolist() == pytest.approx([1.3, 3.1])
    x = tt.tensor([-1.0, 0.5])
    assert x.logit_(0.1).tolist() == pytest.approx([math.log(0.1 / 0.9), 0.0])
    x = tt.tensor([1.0])
    assert x.atan2_(tt.tensor([-1.0])).tolist() == pytest.approx([math.pi * 3 / 4])


# ------------------------------------------------------------------------------------------
# Errors
# ------------------------------------------------------------------------------------------

ERRORS = [
    (lambda: tt.floor(tt.tensor([True])), NotImplementedError, "floor: got dtype bool, exp"),
    (lambda: tt.ceil(tt.tensor([True])), NotImplementedError, "ceil: got dtype bool"),
    (lambda: tt.trunc(tt.tensor([True])), NotImplementedError, "trunc: got dtype bool"),
    (lambda: tt.round(tt.tensor([True])), NotImplementedError, "round: got dtype bool"),
    (lambda: tt.round(tt.tensor([15]), decimals=1), NotImplementedError, "round: got dtype int64"),
    (lambda: tt.frac(tt.tensor([15])), NotImplementedError, "frac: got dtype int64, expected"),
    (lambda: tt.tensor([1]).exp_(), RuntimeError, "exp_: result type float32 can't be cast"),
    (lambda: tt.atan2(tt.ones(2), tt.ones(3)), RuntimeError, r"atan2: shapes \(2,\), \(3,\)"),
    (lambda: tt.atan2(tt.ones(2), "x"), TypeError, "atan2: got an operand of type str"),
    (lambda: tt.zeros(2, requires_grad=True).exp_(), RuntimeError, "exp_: a leaf"),
]


@pytest.mark.parametrize("call, error, message", ERRORS)
def test_errors(call, error, message) -> None:
    with pytest.raises(error, match=message):
        call()


def test_a_write_over_a_saved_output_is_noticed() -> None:
    x = tt.zeros(2, requires_grad=True)
    y = x.exp()
    y.mul_(2)
    with pytest.raises(RuntimeError, match=r"exp: its output, of shape \(2,\), was changed"):
        y.backward(tt.ones(2))
