"""tinytensor.fft against PyTorch: every function, arguments, dtypes, inverses, refusals.

Gradients of single transforms are in rows_fourier.py.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinytensor as tt

pytestmark = pytest.mark.filterwarnings("error::numpy.exceptions.ComplexWarning")

torch = pytest.importorskip("torch")

FROM_COMPLEX = ["fft", "ifft", "irfft", "hfft"]
FROM_REAL = ["fft", "ifft", "rfft", "ihfft"]
RNG = np.random.default_rng(0)


def array(*shape: int, dtype: Any = np.float64) -> np.ndarray:
    x = RNG.standard_normal(shape)
    return (x + 1j * RNG.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def same(name: str, x: np.ndarray, *args: Any, rtol: float = 1e-10, **kwargs: Any) -> None:
    """Values, dtype and the gradient of Σ |y|²·w."""
    results = []
    for library in (tt, torch):
        z = library.tensor(x, requires_grad=x.dtype.kind in "fc")
        y = getattr(library.fft, name)(z, *args, **kwargs)
        found = [y.detach().resolve_conj().numpy()]
        if y.requires_grad:
            w = np.linspace(0.5, 1.5, found[0].size).reshape(found[0].shape)
            (y.abs().square() * library.tensor(w)).sum().backward()
            found.append(z.grad.resolve_conj().numpy())
        results.append(found)
    for a, b in zip(*results, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape, (name, a.dtype, b.dtype)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * max(1, np.abs(b).max()))


@pytest.mark.parametrize("norm", [None, "backward", "forward", "ortho"])
def test_one_dimension(norm: str | None) -> None:
    for n, dim in itertools.product((None, 1, 4, 5, 6, 9), (-1, 0, 1)):
        for name in FROM_COMPLEX:
            same(name, array(5, 6, dtype=np.complex128), n, dim, norm)
        for name in FROM_REAL:
            same(name, array(5, 6), n, dim, norm)


SHAPES: list[tuple[Any, Any]] = [
    (None, None), ((3, 4), None), ((5,), None), (None, (0,)), (None, (2, 0)), ((3, 5), (0, 2)),
    ((4, -1, 3), (1, 0, 2)), ((6, 2), (-1, -3)),
]  # fmt: skip


@pytest.mark.parametrize(("s", "dim"), SHAPES)
def test_several_dimensions(s: Any, dim: Any) -> None:
    for norm in ("forward", "ortho"):
        for name in FROM_COMPLEX:
            same(f"{name}n", array(3, 4, 5, dtype=np.complex128), s, dim, norm)
        for name in FROM_REAL:
            same(f"{name}n", array(3, 4, 5), s, dim, norm)


def test_two_dimensions() -> None:
    for s, dim in ((None, (-2, -1)), ((5, 4), (-2, -1)), ((3, 6), (0, 2))):
        for name in FROM_COMPLEX:
            same(f"{name}2", array(3, 4, 5, dtype=np.complex128), s, dim)
        for name in FROM_REAL:
            same(f"{name}2", array(3, 4, 5), s, dim, norm="ortho")


@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.int64, np.int32, np.bool_])
def test_dtypes(dtype: Any) -> None:
    x = (
        array(4, 6, dtype=dtype)
        if np.dtype(dtype).kind in "fc"
        else (array(4, 6) > 0).astype(dtype)
    )
    names = FROM_COMPLEX if x.dtype.kind == "c" else [*FROM_REAL, "irfft", "hfft"]
    for name in names:
        same(name, x, rtol=2e-5)
        same(f"{name}2", x, rtol=2e-5)


def test_inverses() -> None:
    z, x = tt.tensor(array(4, 5, 6, dtype=np.complex128)), tt.tensor(array(4, 5, 7))
    for norm in ("backward", "forward", "ortho"):
        assert tt.allclose(tt.fft.ifftn(tt.fft.fftn(z, norm=norm), norm=norm), z)
        there = tt.fft.rfftn(x, norm=norm)
        assert tt.allclose(tt.fft.irfftn(there, s=x.shape, norm=norm), x)
        there = tt.fft.ihfft(x, norm=norm)
        assert tt.allclose(tt.fft.hfft(there, n=7, norm=norm), x)
    assert tt.equal(tt.fft.ifftshift(tt.fft.fftshift(z)), z)


def test_parseval_and_convolution() -> None:
    x, k = tt.tensor(array(16)), tt.tensor(array(16))
    y = tt.fft.fft(x, norm="ortho")
    assert tt.allclose(y.abs().square().sum(), x.square().sum())
    product = tt.fft.irfft(tt.fft.rfft(x) * tt.fft.rfft(k), n=16)
    circular = tt.stack([(x * k.flip(0).roll(j + 1)).sum() for j in range(16)])
    assert tt.allclose(product, circular)


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_frequencies(n: int) -> None:
    for name, d in itertools.product(("fftfreq", "rfftfreq"), (1.0, 0.25)):
        ours, theirs = getattr(tt.fft, name)(n, d), getattr(torch.fft, name)(n, d)
        assert ours.dtype == tt.float32
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6)
        assert getattr(tt.fft, name)(n, dtype=tt.float64).dtype == tt.float64
    for shape in ((n,), (n, 3)):
        for name in ("fftshift", "ifftshift"):
            same(name, array(*shape))
            same(name, array(*shape), 0)
            same(name, array(*shape), (0,))


def test_a_large_transform_in_float32() -> None:
    x = array(2, 12000, dtype=np.float32)  # kernels are for real arrays, and stay away
    same("fft", x, rtol=1e-4)
    same("rfft", x, rtol=1e-4)


def test_0d_and_no_dims() -> None:
    x = tt.tensor(1.5)
    assert tt.fft.fftn(x).item() == torch.fft.fftn(torch.tensor(1.5)).item()
    assert tt.fft.fftn(tt.ones(2), dim=()).tolist() == [1, 1]
    assert tt.fft.fft(tt.ones(0, 3)).shape == (0, 3)


REFUSED: list[tuple[Callable, str]] = [
    (lambda: tt.fft.rfft(tt.ones(3) * 1j), "rfft: got dtype complex64, expected real"),
    (lambda: tt.fft.ihfft(tt.ones(3) * 1j), "ihfft: got dtype complex64, expected real"),
    (lambda: tt.fft.fft(tt.ones(3), norm="other"), "fft: got norm 'other', expected"),
    (lambda: tt.fft.fft(tt.ones(3), n=0), "fft: got 0 elements"),
    (lambda: tt.fft.fft(tt.ones(3, 0)), "fft: got 0 elements"),
    (lambda: tt.fft.irfft(tt.ones(1)), "irfft: got 0 elements"),
    (lambda: tt.fft.fft(tt.ones(3), dim=1), "fft: .*dim"),
    (lambda: tt.fft.fft(tt.tensor(1.0)), "fft: got dim"),
    (lambda: tt.fft.fftn(tt.ones(2, 2), dim=(0, 0)), "fftn: got dims"),
    (lambda: tt.fft.fftn(tt.ones(2, 2), s=(2,), dim=(0, 1)), "fftn: got 1 lengths s for 2 dims"),
    (lambda: tt.fft.fftn(tt.ones(2), s=(2, 2)), "fftn: got 2 lengths s"),
    (lambda: tt.fft.rfftn(tt.ones(2), dim=()), "rfftn: got no dims"),
    (lambda: tt.fft.fft(tt.ones(3).half()), "fft: got dtype float16, expected float32"),
    (lambda: tt.fft.fft([1.0]), "fft: got a list"),
]


@pytest.mark.parametrize(("call", "text"), REFUSED, ids=[text for _, text in REFUSED])
def test_wrong_arguments(call: Callable, text: str) -> None:
    with pytest.raises((RuntimeError, IndexError, TypeError), match=text):
        call()


# ------------------------------------------------------------------------------------------
# Frames
# ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["hann", "hamming", "blackman", "bartlett", "kaiser"])
def test_windows(name: str) -> None:
    for length, periodic in itertools.product((0, 1, 2, 7, 16), (True, False)):
        ours = getattr(tt, f"{name}_window")(length, periodic, dtype=tt.float64)
        theirs = getattr(torch, f"{name}_window")(length, periodic, dtype=torch.float64)
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), atol=1e-12)
        assert getattr(tt, f"{name}_window")(length).dtype == tt.float32
    with pytest.raises(RuntimeError, match=f"{name}_window: got dtype int64"):
        getattr(tt, f"{name}_window")(3, dtype=tt.int64)


def test_frames_and_back() -> None:
    x = tt.tensor(array(2, 50), requires_grad=True)
    window = tt.hann_window(16, dtype=tt.float64)
    y = tt.stft(x, 16, window=window, return_complex=True)
    assert y.shape == (2, 9, 13)
    assert tt.allclose(tt.istft(y, 16, window=window, length=50)[:, :48], x[:, :48])
    parts = tt.stft(x, 16, window=window, return_complex=False)
    assert tt.equal(parts, tt.view_as_real(y))
    y.abs().sum().backward()
    z = torch.tensor(x.detach().numpy(), requires_grad=True)
    w = torch.hann_window(16, dtype=torch.float64)
    torch.stft(z, 16, window=w, return_complex=True).abs().sum().backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), z.grad.numpy(), atol=1e-10)


FRAMES_REFUSED: list[tuple[Callable, str]] = [
    (lambda w: tt.stft(tt.ones(9), 4, window=w), "stft: return_complex is missing"),
    (lambda w: tt.stft(tt.ones(9), 4, window=w[:3], return_complex=True), "stft: window has shape"),
    (lambda w: tt.stft(tt.ones(9), 4, 0, window=w, return_complex=True), "stft: got hop_length 0"),
    (lambda w: tt.stft(tt.ones(1, 1, 9), 4, window=w, return_complex=True), "stft: got float32"),
    (lambda w: tt.stft(tt.ones(3), 4, window=w, center=False, return_complex=True), "got n_fft 4"),
    (lambda w: tt.istft(tt.ones(3, 4), 4, window=w), "istft: got real numbers"),
    (lambda w: tt.istft(tt.ones(2, 4) * 1j, 4, window=w), "istft: got shape"),
    (lambda w: tt.istft(tt.ones(3, 4) * 1j, 4, window=w * 0), "istft: the windows do not cover"),
]


@pytest.mark.parametrize(("call", "text"), FRAMES_REFUSED, ids=[t for _, t in FRAMES_REFUSED])
def test_wrong_frames(call: Callable, text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        call(tt.ones(4))
