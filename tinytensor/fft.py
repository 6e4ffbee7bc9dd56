"""Discrete Fourier transforms with the names of torch.fft.

fft, ifft              one dimension; …2 the last two, …n any number of them
rfft, irfft            of real numbers, and back to them: half of a transform holds all of it
hfft, ihfft            of numbers whose transform is real, and back
fftfreq, rfftfreq      the frequencies that the elements of a transform belong to
fftshift, ifftshift    frequency 0 to the middle, and back

n, s:  lengths to which the dimensions are padded with zeros or cut before the transform
norm:  "backward" divides the inverse by n, "forward" the other direction, "ortho" each by √n

float32 gives complex64, float64 complex128. Transforms have gradients of every order.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import create
from .autograd.arguments import array_of
from .dtype import complex_dtype, default_float, to_numpy_dtype
from .ops.complex_numbers import conj
from .ops.dims import normalize_dim
from .ops.fourier import ADJOINT, Fft, Irfft, Rfft
from .ops.pad import pad
from .ops.promote import cast
from .ops.rearrange import roll
from .out import takes_out

if TYPE_CHECKING:
    from .tensor import Tensor


# ------------------------------------------------------------------------------------------
# Arguments
# ------------------------------------------------------------------------------------------


def _number(name: str, input: Any, real: bool) -> Any:
    """input as real or as complex numbers; integers become floats of the default dtype."""
    dtype = array_of(name, input).dtype
    if dtype.kind == "c":
        if real:
            raise RuntimeError(f"{name}: got dtype {dtype}, expected real numbers")
        return input
    if dtype.kind in "fV" and dtype.itemsize < 4:
        raise RuntimeError(f"{name}: got dtype {dtype}, expected float32 or float64")
    dtype = dtype if dtype.kind == "f" else default_float()
    return cast(input, dtype if real else complex_dtype(dtype))


def _norm(name: str, norm: str | None) -> str:
    if norm is None:
        return "backward"
    if norm not in ADJOINT:
        raise RuntimeError(f"{name}: got norm {norm!r}, expected 'forward', 'backward' or 'ortho'")
    return norm


def _dims(name: str, input: Any, s: Any, dim: Any) -> tuple[list[int], list[int]]:
    """The dims of a transform, counted from the front, and their lengths, −1 for the input's."""
    ndim = array_of(name, input).ndim
    s = [s] if isinstance(s, int) else s
    if dim is None:
        count = ndim if s is None else len(s)
        if count > ndim:
            raise RuntimeError(f"{name}: got {count} lengths s for a tensor of {ndim} dimensions")
        dims = list(range(ndim - count, ndim))
    else:
        given = [dim] if isinstance(dim, int) else list(dim)
        if not ndim and given:
            raise IndexError(f"{name}: got dim {dim} for a 0-d tensor, which has none")
        dims = [normalize_dim(name, d, ndim) for d in given]
    if len(set(dims)) < len(dims):
        raise RuntimeError(f"{name}: got dims {dim}, expected each of them once")
    if s is not None and len(s) != len(dims):
        raise RuntimeError(f"{name}: got {len(s)} lengths s for {len(dims)} dims")
    return dims, [-1] * len(dims) if s is None else [operator.index(n) for n in s]


def _resized(name: str, input: Any, dims: Sequence[int], lengths: Sequence[int]) -> Any:
    """input padded with zeros, or cut, to these lengths of these dims; −1 keeps a length."""
    shape = tuple(input.shape)
    amounts = [0] * (2 * len(shape))
    for dim, n in zip(dims, lengths, strict=True):
        n = shape[dim] if n == -1 else n
        if n < 1:
            raise RuntimeError(f"{name}: got {n} elements in dim {dim}, expected at least 1")
        amounts[2 * (len(shape) - 1 - dim) + 1] = n - shape[dim]  # pad counts from the last dim
    return pad(input, amounts) if any(amounts) else input


def _complex(name: str, input: Any, s: Any, dim: Any, norm: Any, inverse: bool) -> Any:
    """fftn and ifftn; the other complex transforms are these over fewer dims."""
    dims, lengths = _dims(name, input, s, dim)
    x = _resized(name, _number(name, input, real=False), dims, lengths)
    norm = _norm(name, norm)
    return Fft.apply(x, tuple(dims), norm, inverse) if dims else x


def _from_real(name: str, input: Any, s: Any, dim: Any, norm: Any) -> Any:
    """rfftn: half a transform over the last of dims, then whole ones over the others."""
    dims, lengths = _dims(name, input, s, dim)
    if not dims:
        raise RuntimeError(f"{name}: got no dims, expected at least one")
    x = _resized(name, _number(name, input, real=True), dims, lengths)
    norm = _norm(name, norm)
    y = Rfft.apply(x, dims[-1], norm)
    return Fft.apply(y, tuple(dims[:-1]), norm, False) if dims[1:] else y


def _to_real(name: str, input: Any, s: Any, dim: Any, norm: Any) -> Any:
    """irfftn: whole inverse transforms over all dims but the last, then half a one over that."""
    dims, lengths = _dims(name, input, s, dim)
    if not dims:
        raise RuntimeError(f"{name}: got no dims, expected at least one")
    x = _number(name, input, real=False)
    n = lengths[-1] if lengths[-1] != -1 else 2 * (x.shape[dims[-1]] - 1)
    if n < 1:
        raise RuntimeError(f"{name}: got {n} elements in dim {dims[-1]}, expected at least 1")
    x = _resized(name, x, dims, [*lengths[:-1], n // 2 + 1])
    norm = _norm(name, norm)
    if dims[1:]:
        x = Fft.apply(x, tuple(dims[:-1]), norm, True)
    return Irfft.apply(x, n, dims[-1], norm)


def _hermitian(name: str, input: Any, s: Any, dim: Any, norm: Any) -> Any:
    """hfftn: irfftn of the conjugate, with the factor of the other direction."""
    return _to_real(name, conj(input), s, dim, ADJOINT[_norm(name, norm)])


def _to_hermitian(name: str, input: Any, s: Any, dim: Any, norm: Any) -> Any:
    """ihfftn: the conjugate of rfftn, with the factor of the other direction."""
    return conj(_from_real(name, input, s, dim, ADJOINT[_norm(name, norm)]))


# ------------------------------------------------------------------------------------------
# One dimension
# ------------------------------------------------------------------------------------------


def _check_pair(name: str, dim: Any) -> None:
    if dim is None:
        raise TypeError(f"{name}: got dim = None, expected two dimensions")


def _length(n: int | None) -> list[int] | None:
    return None if n is None else [n]


@takes_out("cast")
def fft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """yₖ = Σⱼ xⱼ·exp(−2πi·jk/n) along `dim`, for k from 0 to n − 1."""
    return _complex("fft", input, _length(n), (dim,), norm, inverse=False)


@takes_out("cast")
def ifft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """yₖ = Σⱼ xⱼ·exp(2πi·jk/n) / n along `dim`: the inverse of `fft`."""
    return _complex("ifft", input, _length(n), (dim,), norm, inverse=True)


@takes_out("cast")
def rfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The first n//2 + 1 elements of `fft` of real numbers; the others are their conjugates."""
    return _from_real("rfft", input, _length(n), (dim,), norm)


@takes_out("cast")
def irfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `rfft`: n real numbers, by default 2·(length − 1)."""
    return _to_real("irfft", input, _length(n), (dim,), norm)


@takes_out("cast")
def hfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """`fft` of n numbers with x₋ⱼ = conj xⱼ, given the first n//2 + 1 of them: it is real."""
    return _hermitian("hfft", input, _length(n), (dim,), norm)


@takes_out("cast")
def ihfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `hfft`: the first n//2 + 1 elements of `ifft` of real numbers."""
    return _to_hermitian("ihfft", input, _length(n), (dim,), norm)


# ------------------------------------------------------------------------------------------
# Several dimensions
# ------------------------------------------------------------------------------------------

LAST_TWO = (-2, -1)


@takes_out("cast")
def fftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """`fft` along each of `dim`: by default all dims, or the last len(s)."""
    return _complex("fftn", input, s, dim, norm, inverse=False)


@takes_out("cast")
def ifftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """`ifft` along each of `dim`: the inverse of `fftn`."""
    return _complex("ifftn", input, s, dim, norm, inverse=True)


@takes_out("cast")
def rfftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """`rfft` along the last of `dim`, then `fft` along the others."""
    return _from_real("rfftn", input, s, dim, norm)


@takes_out("cast")
def irfftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The inverse of `rfftn`; s: the lengths of the result."""
    return _to_real("irfftn", input, s, dim, norm)


@takes_out("cast")
def hfftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """`fft` along all of `dim` but the last, then `hfft` along that."""
    return _hermitian("hfftn", input, s, dim, norm)


@takes_out("cast")
def ihfftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The inverse of `hfftn`."""
    return _to_hermitian("ihfftn", input, s, dim, norm)


@takes_out("cast")
def fft2(input: Tensor, s: Any = None, dim: Any = LAST_TWO, norm: str | None = None) -> Tensor:
    """`fftn` over the last two dims."""
    _check_pair("fft2", dim)
    return _complex("fft2", input, s, dim, norm, inverse=False)


@takes_out("cast")
def ifft2(input: Tensor, s: Any = None, dim: Any = LAST_TWO, norm: str | None = None) -> Tensor:
    """`ifftn` over the last two dims."""
    _check_pair("ifft2", dim)
    return _complex("ifft2", input, s, dim, norm, inverse=True)


@takes_out("cast")
def rfft2(input: Tensor, s: Any = None, dim: Any = LAST_TWO, norm: str | None = None) -> Tensor:
    """`rfftn` over the last two dims."""
    _check_pair("rfft2", dim)
    return _from_real("rfft2", input, s, dim, norm)


@takes_out("cast")
def irfft2(input: Tensor, s: Any = None, dim: Any = LAST_TWO, norm: str | None = None) -> Tensor:
    """`irfftn` over the last two dims."""
    _check_pair("irfft2", dim)
    return _to_real("irfft2", input, s, dim, norm)


@takes_out("cast")
def hfft2(input: Tensor, s: Any = None, dim: Any = LAST_TWO, norm: str | None = None) -> Tensor:
    """`hfftn` over the last two dims."""
    _check_pair("hfft2", dim)
    return _hermitian("hfft2", input, s, dim, norm)


@takes_out("cast")
def ihfft2(input: Tensor, s: Any = None, dim: Any = LAST_TWO, norm: str | None = None) -> Tensor:
    """`ihfftn` over the last two dims."""
    _check_pair("ihfft2", dim)
    return _to_hermitian("ihfft2", input, s, dim, norm)


# ------------------------------------------------------------------------------------------
# Frequencies
# ------------------------------------------------------------------------------------------


def fftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None,
            requires_grad: bool = False) -> Tensor:  # fmt: skip
    """The frequencies of the elements of `fft`, with samples d apart: 0, 1, …, −2, −1 over n·d."""
    order = [*range((n + 1) // 2), *range(-(n // 2), 0)]
    return _frequencies("fftfreq", order, n, d, dtype, device, requires_grad)


def rfftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None,
             requires_grad: bool = False) -> Tensor:  # fmt: skip
    """The frequencies of the elements of `rfft`: 0, 1, …, n//2 over n·d."""
    order = list(range(n // 2 + 1))
    return _frequencies("rfftfreq", order, n, d, dtype, device, requires_grad)


def _frequencies(
    name: str, order: list, n: int, d: float, dtype: Any, device: Any, requires_grad: bool
) -> Tensor:
    numpy_dtype = default_float() if dtype is None else to_numpy_dtype(dtype)
    if numpy_dtype.kind not in "fVc":
        raise RuntimeError(f"{name}: got dtype {numpy_dtype}, expected floating point or complex")
    values = [k * (1.0 / (n * d)) for k in order] if n else []
    made = create.tensor(values, dtype=dtype or numpy_dtype, device=device)
    return made.requires_grad_(requires_grad)


def _some(name: str, dims: list[int]) -> list[int]:
    """The dims to roll, of which there must be one."""
    if not dims:
        raise RuntimeError(f"{name}: got no dims to roll, expected at least one")
    return dims


def fftshift(input: Tensor, dim: Any = None) -> Tensor:
    """Roll each dim by half its length: frequency 0 moves to the middle."""
    dims, _ = _dims("fftshift", input, None, dim)
    return roll(input, [input.shape[i] // 2 for i in _some("fftshift", dims)], dims)


def ifftshift(input: Tensor, dim: Any = None) -> Tensor:
    """The inverse of `fftshift`."""
    dims, _ = _dims("ifftshift", input, None, dim)
    return roll(input, [(input.shape[i] + 1) // 2 for i in _some("ifftshift", dims)], dims)


__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2",
    "ifftn", "ifftshift", "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2",
    "rfftfreq", "rfftn",
]  # fmt: skip
