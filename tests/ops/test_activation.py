"""Activations beyond their rows: huge values, corners, dtypes, inplace=True, errors."""

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
F = torch and torch.nn.functional

INF, NAN = math.inf, math.nan
EXTREMES = [-INF, -1e4, -100.0, -20.5, -1.0, -0.0, 0.0, 1.0, 20.0, 20.5, 100.0, 1e4, INF, NAN]
CORNERS = [-6.0, -3.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 3.0, 6.0, NAN]

SMOOTH = [
    ("gelu", {}), ("gelu", {"approximate": "tanh"}), ("silu", {}), ("mish", {}), ("softplus", {}),
    ("softplus", {"beta": 2.0, "threshold": 5.0}), ("logsigmoid", {}), ("elu", {}),
    ("elu", {"alpha": 2.0}), ("selu", {}), ("celu", {"alpha": 2.0}), ("softsign", {}),
    ("tanhshrink", {}),
]  # fmt: skip
STRAIGHT = [
    ("relu", {}), ("leaky_relu", {}), ("leaky_relu", {"negative_slope": 0.5}), ("relu6", {}),
    ("hardtanh", {}), ("hardtanh", {"min_val": -0.5, "max_val": 3.0}), ("hardsigmoid", {}),
    ("hardswish", {}), ("threshold", {"threshold": 0.5, "value": 7.0}), ("hardshrink", {}),
    ("softshrink", {}), ("softshrink", {"lambd": 1.0}),
]  # fmt: skip


def value_and_slopes(library, function, values, dtype, order, **kwargs):
    """The function's values, its gradient and (order 2) the gradient's gradient, with g = 1."""
    x = library.tensor(values, dtype=getattr(library, dtype), requires_grad=True)
    found = [function(x, **kwargs)]
    for _ in range(order):
        again = library.autograd.grad(
            found[-1], x, library.ones_like(found[-1]), create_graph=True, allow_unused=True
        )
        found.append(again[0])
    return [t.detach().numpy() for t in found]


def assert_like_torch(name, kwargs, values, dtype, rtol, order=1):
    ours = value_and_slopes(tt, getattr(tt, name), values, dtype, order, **kwargs)
    theirs = value_and_slopes(torch, getattr(F, name), values, dtype, order, **kwargs)
    for a, b, what in zip(ours, theirs, ("value", "gradient", "second gradient"), strict=False):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * 1e-2, err_msg=f"{name}: {what}")


@needs_torch
@pytest.mark.parametrize("name, kwargs", SMOOTH + STRAIGHT)
@pytest.mark.parametrize("dtype, rtol", [("float64", 1e-7), ("float32", 1e-5)])
def test_extreme_values_like_pytorch(name: str, kwargs: dict, dtype: str, rtol: float) -> None:
    values = EXTREMES
    if name == "gelu" and dtype == "float32":
        values = [v for v in EXTREMES if v != INF]  # PyTorch: inf in float64, NaN in float32
    assert_like_torch(name, kwargs, values, dtype, rtol)


@needs_torch
@pytest.mark.parametrize("name, kwargs", SMOOTH + STRAIGHT)
def test_corners_like_pytorch_to_second_order(name: str, kwargs: dict) -> None:
    order = 1 if name == "hardsigmoid" else 2  # PyTorch's has no second order
    assert_like_torch(name, kwargs, CORNERS, "float64", 1e-7, order)


@pytest.mark.parametrize("name, kwargs", SMOOTH)
def test_second_order_is_finite_at_huge_values(name: str, kwargs: dict) -> None:
    found = value_and_slopes(tt, getattr(tt, name), [-1e4, 1e4], "float32", 2, **kwargs)
    np.testing.assert_allclose(found[2], 0, atol=1e-6)


@needs_torch
@pytest.mark.parametrize("name, kwargs", STRAIGHT)
def test_an_infinite_gradient_is_stopped_where_the_slope_is_0(name: str, kwargs: dict) -> None:
    grads = []
    for library, home in ((tt, tt), (torch, F)):
        x = library.tensor([-5.0, -0.2, 0.2, 5.0, 7.0], requires_grad=True)
        getattr(home, name)(x, **kwargs).backward(library.full((5,), INF))
        grads.append(x.grad.numpy())
    np.testing.assert_array_equal(*grads)


@needs_torch
@pytest.mark.parametrize("name, kwargs", SMOOTH + STRAIGHT)
def test_float16_like_pytorch(name: str, kwargs: dict) -> None:
    values = [-300.0, -12.0, -3.0, -0.3, 0.0, 0.3, 3.0, 12.0, 300.0]
    # One unit in the last place of float16, and what lies below its smallest normal number.
    ours = value_and_slopes(tt, getattr(tt, name), values, "float16", 1, **kwargs)
    theirs = value_and_slopes(torch, getattr(F, name), values, "float16", 1, **kwargs)
    for a, b in zip(ours, theirs, strict=True):
        assert a.dtype == np.float16
        np.testing.assert_allclose(a, b, rtol=2e-3, atol=1e-4, err_msg=name)


# ------------------------------------------------------------------------------------------
# Dtypes
# ------------------------------------------------------------------------------------------


@needs_torch
@pytest.mark.parametrize("name, kwargs", SMOOTH + [("leaky_relu", {}), ("hardswish", {})])
def test_integers_like_pytorch(name: str, kwargs: dict) -> None:
    """Most refuse them; those that PyTorch computes give floats."""
    try:
        expected = getattr(F, name)(torch.tensor([-2, 0, 3]), **kwargs)
    except NotImplementedError:
        with pytest.raises(NotImplementedError, match=f"{name}: got dtype int64"):
            getattr(tt, name)(tt.tensor([-2, 0, 3]), **kwargs)
        return
    y = getattr(tt, name)(tt.tensor([-2, 0, 3]), **kwargs)
    assert y.dtype == tt.float32
    np.testing.assert_allclose(y.numpy(), expected.numpy(), rtol=1e-6)


@needs_torch
@pytest.mark.parametrize(
    "name, args",
    [("relu", ()), ("relu6", ()), ("hardtanh", (-1.5, 2.5)), ("threshold", (0.5, 2.5))],
)
def test_integers_stay_integers_like_pytorch(name: str, args: tuple) -> None:
    ours = getattr(tt, name)(tt.tensor([-3, 0, 1, 9]), *args)
    theirs = getattr(F, name)(torch.tensor([-3, 0, 1, 9]), *args)
    assert ours.dtype == tt.int64 and ours.tolist() == theirs.tolist()


NUMBERS = [
    ("leaky_relu", {"negative_slope": 0.2}), ("elu", {"alpha": 2.0}), ("celu", {"alpha": 2.0}),
    ("softplus", {"beta": 2.0, "threshold": 5.0}), ("hardtanh", {"min_val": -2.0, "max_val": 1.0}),
    ("threshold", {"threshold": 0.1, "value": 3.0}), ("hardshrink", {"lambd": 0.1}),
    ("softshrink", {"lambd": 0.1}), ("logit", {"eps": 0.1}),
]  # fmt: skip


@pytest.mark.parametrize("name, kwargs", NUMBERS)
def test_a_numpy_number_as_an_argument_does_not_widen(name: str, kwargs: dict) -> None:
    x = tt.tensor([-1.5, 0.3, 0.7], requires_grad=True)
    y = getattr(tt, name)(x, **{k: np.float64(v) for k, v in kwargs.items()})
    y.backward(tt.ones(3))
    assert y.dtype == x.grad.dtype == tt.float32


# ------------------------------------------------------------------------------------------
# In place
# ------------------------------------------------------------------------------------------

IN_PLACE = [
    ("relu", {}), ("leaky_relu", {"negative_slope": 0.2}), ("relu6", {}), ("elu", {"alpha": 2.0}),
    ("selu", {}), ("celu", {"alpha": 2.0}), ("silu", {}), ("mish", {}), ("hardsigmoid", {}),
    ("hardtanh", {"min_val": -0.5, "max_val": 0.5}), ("hardswish", {}),
    ("threshold", {"threshold": 0.1, "value": -9.0}),
]  # fmt: skip


@pytest.mark.parametrize("name, kwargs", IN_PLACE)
def test_inplace(name: str, kwargs: dict) -> None:
    values = [-1.0, -0.2, 0.4, 8.0]
    function = getattr(tt, name)
    x = tt.tensor(values, requires_grad=True)
    y = x * 1
    assert function(y, inplace=True, **kwargs) is y
    expected = tt.tensor(values, requires_grad=True)
    z = function(expected * 1, **kwargs)
    np.testing.assert_array_equal(y.detach().numpy(), z.detach().numpy())
    y.backward(tt.ones(4))
    z.backward(tt.ones(4))
    np.testing.assert_array_equal(x.grad.numpy(), expected.grad.numpy())
    with pytest.raises(RuntimeError, match=f"{name}_: a leaf"):
        function(tt.zeros(2, requires_grad=True), inplace=True, **kwargs)


def test_relu_as_a_method_in_place() -> None:
    x = tt.tensor([-1.0, 2.0])
    assert x.relu_() is x and x.tolist() == [0.0, 2.0]


# ------------------------------------------------------------------------------------------
# Errors
# ------------------------------------------------------------------------------------------

ERRORS = [
    (lambda: tt.gelu(1.0), TypeError, "gelu: got a float as its first argument, expected a tensor"),
    (lambda: tt.gelu(tt.ones(2), approximate="x"), RuntimeError, "gelu: got approximate='x', exp"),
    (lambda: tt.celu(tt.ones(2), alpha=0.0), RuntimeError, "celu: got alpha=0, expected"),
    (lambda: tt.hardtanh(tt.ones(2), 1.0, -1.0), ValueError, "hardtanh: min_val 1.0 is greater"),
    (lambda: tt.softshrink(tt.ones(2), -1.0), RuntimeError, "softshrink: got lambd=-1.0, expected"),
    (lambda: tt.relu(tt.tensor([True])), RuntimeError, "relu: got dtype bool, expected numbers"),
    (lambda: tt.relu6(tt.tensor([True])), RuntimeError, "hardtanh: got dtype bool"),
    (lambda: tt.glu(tt.ones(2, 3)), RuntimeError, r"glu: dim 1 has size 3, expected an even size"),
    (lambda: tt.glu(tt.tensor(1.0)), RuntimeError, "glu: got a 0-d tensor, expected"),
    (lambda: tt.glu(tt.ones(2, 4), 2), IndexError, "glu: dim 2 is out of range for a tensor of 2"),
    (lambda: tt.prelu(tt.ones(2, 3), tt.ones(2)), RuntimeError,
     r"prelu: weight has shape \(2,\), expected \(1,\) or \(3,\), the channels of input \(2, 3\)"),
    (lambda: tt.prelu(tt.ones(3), tt.ones(3)), RuntimeError, r"expected \(1,\)"),
    (lambda: tt.prelu(tt.ones(2, 3), tt.ones(1, 3)), RuntimeError,
     r"prelu: weight has shape \(1, 3\), expected \(\) or \(C,\)"),
    (lambda: tt.prelu(tt.ones(2).double(), tt.ones(1)), RuntimeError, "prelu: weight has dtype"),
]  # fmt: skip


@pytest.mark.parametrize("call, error, message", ERRORS)
def test_errors(call, error, message) -> None:
    with pytest.raises(error, match=message):
        call()
