"""torch.special: values, gradients and refusals, against PyTorch; most by SciPy."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import special
from tinytensor.autograd.gradcheck import gradcheck, gradgradcheck

RNG = np.random.default_rng(0)
INF, NAN = float("inf"), float("nan")
REAL = np.concatenate([RNG.uniform(-8, 8, 200), [0.0, -0.0, 1.0, -1.0, INF, -INF, NAN]])
POSITIVE = np.concatenate([RNG.uniform(0.01, 20, 200), [0.0, 1.0, INF, NAN]])
SHARE = np.concatenate([RNG.uniform(0, 1, 200), [1e-20, 0.0, 0.5, 1.0, -0.5, 1.5, NAN]])

# name: (where it is compared, relative tolerance in float64: PyTorch's own precision)
DIFFERENTIABLE = {
    "i0": (REAL, 1e-13),
    "i0e": (REAL, 1e-13),
    "i1": (REAL, 1e-13),
    "i1e": (REAL, 1e-13),
    "erfcx": (REAL, 1e-12),
    "ndtr": (REAL, 1e-13),
    "ndtri": (SHARE, 1e-12),
    "log_ndtr": (REAL, 1e-12),
    "entr": (POSITIVE, 1e-13),
    "sinc": (REAL[:201], 1e-12),
}
OTHERS = {
    "airy_ai": (REAL, 1e-4),
    "bessel_j0": (REAL, 1e-5),
    "bessel_j1": (REAL, 1e-5),
    "bessel_y0": (POSITIVE, 1e-5),
    "bessel_y1": (POSITIVE, 1e-5),
    "modified_bessel_i0": (REAL, 1e-12),
    "modified_bessel_i1": (REAL, 1e-12),
    "modified_bessel_k0": (POSITIVE, 1e-12),
    "modified_bessel_k1": (POSITIVE, 1e-12),
    "scaled_modified_bessel_k0": (POSITIVE, 1e-12),
    "scaled_modified_bessel_k1": (POSITIVE, 1e-12),
    "spherical_bessel_j0": (REAL, 1e-9),
}
WITHOUT_SCIPY = {"ndtr", "entr", "sinc", "spherical_bessel_j0"}
POLYNOMIALS = [name for name in special.__all__ if "_polynomial_" in name]


def require_scipy(name: str) -> None:
    if name not in WITHOUT_SCIPY:
        pytest.importorskip("scipy")


def both(name: str, dtype: str) -> tuple[Any, Any, Any, Any]:
    """(our x and y, PyTorch's x and y)."""
    torch = pytest.importorskip("torch")
    require_scipy(name)
    array = {**DIFFERENTIABLE, **OTHERS}[name][0].astype(dtype)
    x, z = tt.tensor(array, requires_grad=True), torch.tensor(array, requires_grad=True)
    return x, getattr(special, name)(x), z, getattr(torch.special, name)(z)


@pytest.mark.parametrize("name", [*DIFFERENTIABLE, *OTHERS])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_values(name: str, dtype: str) -> None:
    _, y, _, expected = both(name, dtype)
    tolerance = {**DIFFERENTIABLE, **OTHERS}[name][1] if dtype == "float64" else 2e-5
    assert str(y.dtype).endswith(dtype)
    found, expected = y.detach().numpy(), expected.detach().numpy()
    finite = np.isfinite(found) & np.isfinite(expected)
    scale = 1e-6 if name in OTHERS or dtype == "float32" else 1e-14  # next to a zero
    np.testing.assert_allclose(found[finite], expected[finite], rtol=tolerance, atol=scale)
    ends = ~np.isfinite(expected)
    np.testing.assert_array_equal(found[ends], expected[ends])


@pytest.mark.parametrize("name", DIFFERENTIABLE)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_gradients(name: str, dtype: str) -> None:
    x, y, z, expected = both(name, dtype)
    y.sum().backward()
    expected.sum().backward()
    found, wanted = x.grad.numpy(), z.grad.numpy()
    tolerance = 1e-10 if dtype == "float64" else 2e-4
    inner = np.isfinite(wanted) & np.isfinite(found)
    np.testing.assert_allclose(found[inner], wanted[inner], rtol=tolerance, atol=tolerance)
    assert inner[:200].all()


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_derivatives_by_finite_differences(name: str) -> None:
    require_scipy(name)
    low, high = (0.1, 0.9) if name in ("ndtri", "entr") else (-2, 2)
    x = tt.tensor(RNG.uniform(low, high, 6), requires_grad=True)
    gradcheck(getattr(special, name), (x,))
    gradgradcheck(getattr(special, name), (x,))


@pytest.mark.parametrize("name", ["i1", "i1e"])
def test_gradient_at_zero(name: str) -> None:
    require_scipy(name)
    x = tt.zeros(1, requires_grad=True)
    getattr(special, name)(x).sum().backward()
    assert x.grad.item() == 0.5


@pytest.mark.parametrize("name", POLYNOMIALS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_polynomials(name: str, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    x = np.concatenate([RNG.uniform(-1, 1, 20), [0.0, 1.0, -1.0, 0.5, 2.5]]).astype(dtype)
    n = np.arange(-1, 12)[:, None]
    found = getattr(special, name)(tt.tensor(x), tt.tensor(n)).numpy()
    expected = getattr(torch.special, name)(torch.tensor(x), torch.tensor(n)).numpy()
    assert found.dtype == expected.dtype == dtype
    rtol = 1e-8 if dtype == "float64" else 1e-2
    scale = np.abs(expected).max(1, keepdims=True)
    np.testing.assert_allclose(found / scale.clip(1), expected / scale.clip(1), rtol, rtol)
    one = getattr(special, name)(tt.tensor(x), 3)
    np.testing.assert_allclose(one.numpy(), found[4], rtol=1e-6)


def test_zeta() -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("scipy")
    x, q = RNG.uniform(1.1, 9, (5, 1)), RNG.uniform(0.2, 9, 7)
    ours = tt.tensor(q, requires_grad=True)
    y = special.zeta(tt.tensor(x), ours)
    expected = torch.special.zeta(torch.tensor(x), torch.tensor(q))
    np.testing.assert_allclose(y.detach().numpy(), expected.numpy(), rtol=1e-12)
    gradcheck(lambda q: special.zeta(tt.tensor(x), q), (ours,))
    ends = [0.5, 1.0, 2.0, 3.0, NAN], [1.0, 1.0, 0.0, -1.0, 1.0]
    found = special.zeta(*map(tt.tensor, ends)).numpy()
    np.testing.assert_array_equal(found, torch.special.zeta(*map(torch.tensor, ends)).numpy())
    first = tt.tensor([2.0], requires_grad=True)
    with pytest.raises(NotImplementedError, match="zeta: the derivative for input"):
        special.zeta(first, 1.5).sum().backward()


def test_functions_without_a_gradient_say_so() -> None:
    x = tt.tensor([0.5], requires_grad=True)
    with pytest.raises(NotImplementedError, match="spherical_bessel_j0: the derivative"):
        special.spherical_bessel_j0(x).sum().backward()
    with pytest.raises(TypeError, match="at least one tensor"):
        special.legendre_polynomial_p(1.0, 2)


def test_a_missing_scipy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.special", None)
    with pytest.raises(ImportError, match=r"special\.i0e: needs SciPy.*pip install scipy"):
        special.i0e(tt.ones(2))


def test_all_names_of_pytorch() -> None:
    torch = pytest.importorskip("torch")
    theirs = {n for n in dir(torch.special) if not n.startswith("_")}
    theirs -= {"Tensor", "torch", "common_args", "multi_dim_common"}
    assert not {n for n in theirs if callable(getattr(torch.special, n))} - set(dir(special))
