"""func and autograd.functional: against analytic derivatives, and against PyTorch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import func
from tinytensor.autograd import functional
from tinytensor.utils.tree import flatten

try:
    import torch
    import torch.func
except ImportError:
    torch = None  # type: ignore[assignment]

needs_torch = pytest.mark.skipif(torch is None, reason="PyTorch is not installed")

X = np.random.default_rng(0).normal(size=3)
Y = np.random.default_rng(1).normal(size=3)
M = np.random.default_rng(2).normal(size=(3, 2))


def number(value: float) -> tt.Tensor:
    return tt.tensor(value, dtype=tt.float64)


# ------------------------------------------------------------------------------------------
# Against PyTorch: the same lines, run on both
# ------------------------------------------------------------------------------------------

# t is the library, f its func, g its autograd.functional, m makes a tensor.
CASES: dict[str, Any] = {
    "grad": lambda t, f, g, m: f.grad(lambda x: (x**3).sum())(m(X)),
    "grad of dicts": lambda t, f, g, m: f.grad(lambda p, x: ((x @ p["w"] + p["b"][0]) ** 2).sum())(
        {"w": m(M), "b": [m(M[0])]}, m(X)
    ),
    "grad argnums": lambda t, f, g, m: f.grad(lambda x, y: (x * y * y).sum(), argnums=1)(
        m(X), m(Y)
    ),
    "grad argnums -1": lambda t, f, g, m: f.grad(lambda x, y: (x * y * y).sum(), -1)(m(X), m(Y)),
    "grad argnums tuple": lambda t, f, g, m: f.grad(lambda x, y: (x * y * y).sum(), argnums=(1, 0))(
        m(X), m(Y)
    ),
    "grad has_aux": lambda t, f, g, m: f.grad(
        lambda x: ((x * x).sum(), {"x": x * 2}), has_aux=True
    )(m(X)),
    "grad kwargs": lambda t, f, g, m: f.grad(lambda x, k: (x * k).sum())(m(X), k=m(Y)),
    "grad_and_value": lambda t, f, g, m: f.grad_and_value(lambda x: (x * x).sum())(m(X)),
    "grad_and_value aux": lambda t, f, g, m: f.grad_and_value(
        lambda x: ((x * x).sum(), x), has_aux=True
    )(m(X)),
    "grad⁴": lambda t, f, g, m: f.grad(f.grad(f.grad(f.grad(lambda x: t.sin(x) * x**3))))(m(0.7)),
    "grad unused": lambda t, f, g, m: f.grad(lambda x, y: (x * x).sum(), (0, 1))(m(X), m(Y)),
    "perturbations apart": lambda t, f, g, m: f.grad(
        lambda x: x * f.grad(lambda y: x * y * y)(m(2.0))
    )(m(3.0)),
    "vjp": lambda t, f, g, m: f.vjp(lambda x: t.tanh(x) * x, m(X))[1](m(Y)),
    "vjp tuples": lambda t, f, g, m: f.vjp(lambda x, y: (t.tanh(x) * y, y * y), m(X), m(Y))[1](
        (m(Y), m(X))
    ),
    "vjp aux": lambda t, f, g, m: f.vjp(lambda x: (x * x, x * 3), m(X), has_aux=True)[::2],
    "jvp": lambda t, f, g, m: f.jvp(lambda x: t.tanh(x) * x, (m(X),), (m(Y),)),
    "jvp tuples": lambda t, f, g, m: f.jvp(
        lambda x, y: (t.tanh(x) * y, y * y), (m(X), m(Y)), (m(Y), m(X))
    ),
    "jvp aux": lambda t, f, g, m: f.jvp(lambda x: (x * x, x * 3), (m(X),), (m(Y),), has_aux=True),
    "jacrev": lambda t, f, g, m: f.jacrev(lambda x: x @ m(M) * x[0])(m(X)),
    "jacrev trees": lambda t, f, g, m: f.jacrev(
        lambda x, y: {"a": (x * y).sum(), "b": x[:2] * y[0]}, argnums=(0, 1)
    )(m(X), m(Y)),
    "jacrev aux": lambda t, f, g, m: f.jacrev(lambda x: (x * x, x * 3), has_aux=True)(m(X)),
    "jacfwd": lambda t, f, g, m: f.jacfwd(lambda x: t.tanh(x @ m(M)))(m(X)),
    "jacfwd trees": lambda t, f, g, m: f.jacfwd(lambda x, y: (x * y, y[:2] * x[0]), argnums=(0, 1))(
        m(X), m(Y)
    ),
    "jacfwd constant": lambda t, f, g, m: f.jacfwd(lambda x: m(Y) * 2)(m(X)),
    "jacfwd(jacrev)": lambda t, f, g, m: f.jacfwd(f.jacrev(lambda x: t.tanh(x) * x[0]))(m(X)),
    "jacrev(jacfwd)": lambda t, f, g, m: f.jacrev(f.jacfwd(lambda x: t.tanh(x) * x[0]))(m(X)),
    "hessian": lambda t, f, g, m: f.hessian(lambda x: (t.tanh(x) * x * x[0]).sum())(m(X)),
    "hessian blocks": lambda t, f, g, m: f.hessian(
        lambda x, y: (t.tanh(x) * y).sum(), argnums=(0, 1)
    )(m(X), m(Y)),
    "functional.vjp": lambda t, f, g, m: g.vjp(lambda x: t.tanh(x) * x, m(X), m(Y)),
    "functional.vjp scalar": lambda t, f, g, m: g.vjp(lambda x, y: (x * y).sum(), (m(X), m(Y))),
    "functional.jvp": lambda t, f, g, m: g.jvp(lambda x: t.tanh(x) * x, m(X), m(Y)),
    "functional.jvp tuples": lambda t, f, g, m: g.jvp(
        lambda x, y: (x * y, x.sum()), (m(X), m(Y)), (m(Y), m(Y))
    ),
    "functional.hvp": lambda t, f, g, m: g.hvp(lambda x: (t.tanh(x) * x * x[0]).sum(), m(X), m(Y)),
    "functional.hvp tuples": lambda t, f, g, m: g.hvp(
        lambda x, y: (t.tanh(x) * y * y).sum(), (m(X), m(Y)), (m(Y), m(X))
    ),
    "functional.vhp": lambda t, f, g, m: g.vhp(lambda x: (t.tanh(x) * x * x[0]).sum(), m(X), m(Y)),
    "functional.hvp linear": lambda t, f, g, m: g.hvp(lambda x: (x * 3).sum(), m(X), m(Y)),
    "functional.jacobian": lambda t, f, g, m: g.jacobian(lambda x: x @ m(M), m(X)),
    "functional.jacobian tuples": lambda t, f, g, m: g.jacobian(
        lambda x, y: (x * y, t.tanh(x), y.sum()), (m(X), m(Y))
    ),
    "functional.jacobian forward": lambda t, f, g, m: g.jacobian(
        lambda x, y: (x * y, t.tanh(x)), (m(X), m(Y)), vectorize=True, strategy="forward-mode"
    ),
    "functional.hessian": lambda t, f, g, m: g.hessian(lambda x: (t.tanh(x) * x[0]).sum(), m(X)),
    "functional.hessian tuples": lambda t, f, g, m: g.hessian(
        lambda x, y: (x * y * y * t.tanh(x)).sum(), (m(X), m(Y))
    ),
}


def structure(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {k: structure(v) for k, v in tree.items()}
    if isinstance(tree, (tuple, list)):
        return [structure(v) for v in tree]
    return tuple(tree.shape)


@needs_torch
@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")  # of PyTorch's own
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_as_pytorch(case: Any) -> None:
    ours = case(tt, func, functional, lambda v: tt.tensor(v, dtype=tt.float64))
    theirs = case(
        torch, torch.func, torch.autograd.functional, lambda v: torch.tensor(v, dtype=torch.float64)
    )
    assert structure(ours) == structure(theirs)
    for a, b in zip(flatten(ours)[0], flatten(theirs)[0]):
        assert not a.requires_grad
        np.testing.assert_allclose(a.numpy(), b.detach().numpy(), rtol=1e-10, atol=1e-12)


# ------------------------------------------------------------------------------------------
# Against formulas
# ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
@pytest.mark.parametrize("at", [-0.8, 0.3, 1.7])
def test_nested_grad_is_the_nth_derivative(depth: int, at: float) -> None:
    derivative = lambda x: x.exp() * x * x  # noqa: E731
    for _ in range(depth):
        derivative = func.grad(derivative)
    # dⁿ(x²·eˣ) = eˣ·(x² + 2n·x + n(n−1))
    expected = math.exp(at) * (at**2 + 2 * depth * at + depth * (depth - 1))
    assert derivative(number(at)).item() == pytest.approx(expected, rel=1e-12)


def test_value_and_grad() -> None:
    value, gradient = func.value_and_grad(lambda x: (x * x).sum())(tt.tensor([1.0, 2.0]))
    assert value.item() == 5.0 and gradient.tolist() == [2.0, 4.0]
    (value, aux), (gx, gy) = func.value_and_grad(
        lambda x, y: ((x * y).sum(), "aux"), argnums=(0, 1), has_aux=True
    )(tt.tensor([1.0]), tt.tensor([3.0]))
    assert (value.item(), aux, gx.tolist(), gy.tolist()) == (3.0, "aux", [3.0], [1.0])


def test_the_inputs_are_left_alone() -> None:
    x = tt.ones(2)
    func.grad(lambda v: (v * v).sum())(x)
    func.jacrev(lambda v: v * v)(x)
    functional.hessian(lambda v: (v * v).sum(), x)
    assert not x.requires_grad and x.grad is None


def test_works_under_no_grad() -> None:
    x = tt.tensor([3.0], requires_grad=True)
    with tt.no_grad():
        g = func.grad(lambda v: (v * v).sum())(x)
        h = func.hessian(lambda v: (v * v * v).sum())(x)
    assert g.tolist() == [6.0] and h.tolist() == [[18.0]] and not g.requires_grad


def test_results_stay_in_the_graph_of_tracked_inputs() -> None:
    x = tt.tensor([2.0, 3.0], dtype=tt.float64, requires_grad=True)
    g = func.grad(lambda v: (v**3).sum())(x)
    (second,) = tt.autograd.grad(g.sum(), x)
    assert second.tolist() == [12.0, 18.0]
    value, pull_back = func.vjp(lambda v: v * v, x)
    (first,) = tt.autograd.grad(pull_back(tt.ones(2, dtype=tt.float64))[0].sum(), x)
    assert value.requires_grad and first.tolist() == [2.0, 2.0]


def test_results_stay_in_the_graph_of_captured_tensors() -> None:
    w = tt.tensor([2.0], dtype=tt.float64, requires_grad=True)
    g = func.grad(lambda v: (v * v * w * w).sum())(number(3.0).reshape(1))
    assert g.requires_grad
    (gw,) = tt.autograd.grad(g.sum(), w)  # d(2·v·w²)/dw = 4·v·w
    assert gw.tolist() == [24.0]


def test_vjp_can_be_called_again() -> None:
    _, pull_back = func.vjp(lambda v: v * v, tt.tensor([1.0, 2.0]))
    assert pull_back(tt.tensor([1.0, 0.0]))[0].tolist() == [2.0, 0.0]
    assert pull_back(tt.tensor([0.0, 1.0]))[0].tolist() == [0.0, 4.0]


def test_create_graph_of_the_functional_forms() -> None:
    x = tt.tensor([2.0], dtype=tt.float64, requires_grad=True)
    for call in (
        lambda: functional.jacobian(lambda v: v**3, x, create_graph=True),
        lambda: functional.vjp(lambda v: v**3, x, tt.ones(1, dtype=tt.float64), create_graph=True)[
            1
        ],
        lambda: functional.jvp(lambda v: v**3, x, tt.ones(1, dtype=tt.float64), create_graph=True)[
            1
        ],
    ):
        assert tt.autograd.grad(call().sum(), x)[0].tolist() == [12.0]
    hessian = functional.hessian(lambda v: (v**3).sum(), x, create_graph=True)
    assert tt.autograd.grad(hessian.sum(), x)[0].tolist() == [6.0]


def test_both_ways_to_call_jacobian_and_hessian() -> None:
    x = tt.tensor([1.0, 2.0])
    square, total = (lambda v: v * v), (lambda v: (v * v).sum())
    for jacobian in (
        func.jacobian(square)(x),
        func.jacobian(square, x),
        func.jacobian(square, 0)(x),
    ):
        assert jacobian.tolist() == [[2.0, 0.0], [0.0, 4.0]]
    for hessian in (func.hessian(total)(x), func.hessian(total, x), func.hessian(total, inputs=x)):
        assert hessian.tolist() == [[2.0, 0.0], [0.0, 2.0]]
    assert func.hvp(total, x, x)[1].tolist() == func.vhp(total, x, x)[1].tolist() == [2.0, 4.0]


def test_empty_jacobians() -> None:
    x = tt.ones(3)
    assert func.jacrev(lambda v: v[:0] * 2)(x).shape == (0, 3)
    assert func.jacfwd(lambda v: v * 2)(tt.ones(0)).shape == (0, 0)


ERRORS: list[tuple[Any, type, str]] = [
    (lambda: func.grad(lambda x: x * 2)(tt.ones(2)), RuntimeError, r"grad: .*\(2,\).*0-d"),
    (lambda: func.grad(lambda x: x)(3.0), TypeError, "grad: .*float, expected tensors"),
    (lambda: func.grad(lambda x: 3.0)(tt.ones(2)), TypeError, "grad: .*output of type float"),
    (lambda: func.grad(lambda x: x.sum(), 1)(tt.ones(2)), RuntimeError,
     "argnums has 1.*1 arguments"),
    (lambda: func.grad(lambda x: x.sum(), has_aux=True)(tt.ones(2)), RuntimeError, "has_aux"),
    (lambda: func.grad(lambda x: x.sum())(tt.ones(2, dtype=tt.int64)), RuntimeError, "floating"),
    (lambda: func.vjp(lambda x: x * 2, tt.ones(2))[1](tt.ones(3)), RuntimeError, r"vjp: .*\(3,\)"),
    (lambda: func.jvp(lambda x: x, (tt.ones(2),), (tt.ones(3),)), RuntimeError, r"jvp: .*\(3,\)"),
    (lambda: func.jvp(lambda x: x, tt.ones(2), tt.ones(2)), RuntimeError, "jvp: .*tuples"),
    (lambda: functional.vjp(lambda x: x * 2, tt.ones(2)), RuntimeError, "vjp: v may be left out"),
    (lambda: functional.jvp(lambda x: x, tt.ones(2), tt.ones(3)), RuntimeError,
     r"jvp: v 0 has shape \(3,\), expected \(2,\)"),
    (lambda: functional.vjp(lambda x: x, tt.ones(2), (tt.ones(2),) * 2), RuntimeError,
     "v has 2 tensors, expected 1"),
    (lambda: functional.hvp(lambda x: x, tt.ones(2), tt.ones(2)), RuntimeError,
     r"hvp: .*\[\(2,\)\]"),
    (lambda: functional.hessian(lambda x: x * 2, tt.ones(2)), RuntimeError,
     "hessian: .*one number"),
    (lambda: functional.jacobian(lambda x: 3, tt.ones(2)), TypeError, "jacobian: output 0 is int"),
    (lambda: functional.jacobian(lambda x: x, [1.0]), TypeError, "jacobian: input 0 is list"),
    (lambda: functional.jacobian(lambda x: x, tt.ones(1), strategy="?"), ValueError, "strategy"),
    (lambda: functional.jacobian(lambda x, y: x * 2, (tt.ones(1), tt.ones(1)), strict=True),
     RuntimeError, "output 0 is independent of input 1"),
    (lambda: functional.hessian(lambda x: (x * 2).sum(), tt.ones(1), strict=True), RuntimeError,
     "independent of input 0"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "pattern"), ERRORS)
def test_errors(call: Any, error: type, pattern: str) -> None:
    with pytest.raises(error, match=pattern):
        call()
