"""The short-time Fourier transform: overlapping frames of a signal, each transformed."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

from ..autograd.arguments import array_of, check_flags
from ..autograd.site import warn
from ..autograd.variable import unwrap, wrap_like
from ..backend import xp
from ..dtype import complex_dtype
from ..errors import ShapeError
from .autocast import in_float32
from .complex_numbers import view_as_real
from .fourier import Fft, Irfft, Rfft
from .pad import pad
from .partial_views import unfold
from .promote import cast
from .unfold import fold

if TYPE_CHECKING:
    from ..tensor import Tensor


def _frame(
    name: str, like: Any, n_fft: int, hop_length: Any, win_length: Any, window: Any
) -> tuple[int, Any]:
    """The step between frames, and the window padded with zeros on both sides to n_fft."""
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    if hop <= 0:
        raise RuntimeError(f"{name}: got hop_length {hop}, expected at least 1")
    if not 0 < length <= n_fft:
        raise RuntimeError(f"{name}: got win_length {length}, expected 1 to n_fft = {n_fft}")
    if window is None:
        array = unwrap(like)
        window = wrap_like(xp(array).ones(length, dtype=array.real.dtype), like)
    if tuple(window.shape) != (length,):
        raise ShapeError(f"{name}: window has shape {tuple(window.shape)}, expected ({length},)")
    left = (n_fft - length) // 2
    return hop, pad(window, (left, n_fft - length - left)) if length < n_fft else window


@in_float32
def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """yₖₘ = Σⱼ windowⱼ·xⱼ₊ₘ·hop·exp(−2πi·jk/n_fft), for each frame m: (B, L) → (B, K, M).

    center: frame m is centred at m·hop_length, of input padded by n_fft//2 on both sides.
    onesided: only k ≤ n_fft/2, by default for real input. normalized: divide by √n_fft.
    return_complex=False: the parts as a last dimension of size 2.
    """
    x = array_of("stft", input)
    flags = {"onesided": onesided, "return_complex": return_complex}
    check_flags("stft", **{what: flag for what, flag in flags.items() if flag is not None})
    if x.ndim not in (1, 2) or x.dtype.kind not in "fc":
        raise RuntimeError(
            f"stft: got {x.dtype} of shape {x.shape}, expected a float or complex tensor (L) or "
            "(B, L)"
        )
    is_complex = x.dtype.kind == "c" or (window is not None and window.is_complex())
    if return_complex is None:
        if not is_complex:
            raise RuntimeError("stft: return_complex is missing; give True or False for real input")
        return_complex = True
    if align_to_window is not None and center:
        raise RuntimeError("stft: align_to_window must be None if center is True")
    if window is None:
        warn("stft: got no window, so all elements of a frame count alike; see hann_window")
    hop, weights = _frame("stft", input, n_fft, hop_length, win_length, window)
    if align_to_window:
        raise NotImplementedError("stft: align_to_window=True is not supported; leave it out")
    y = input if x.ndim == 2 else input.reshape((1, *x.shape))
    if center:
        y = pad(y, (n_fft // 2, n_fft // 2), mode=pad_mode)
    if not 0 < n_fft <= y.shape[-1]:
        raise RuntimeError(f"stft: got n_fft {n_fft}, expected 1 to {y.shape[-1]}, the length")
    frames = unfold(y, 1, n_fft, hop) * weights  # (B, M, n_fft)
    norm = "ortho" if normalized else "backward"
    onesided = not is_complex if onesided is None else onesided
    if is_complex:
        if onesided:
            raise RuntimeError("stft: got onesided=True for complex numbers, expected False")
        spectrum = Fft.apply(frames, (2,), norm, False)
    elif onesided:
        spectrum = Rfft.apply(frames, 2, norm)
    else:
        wide = cast(frames, complex_dtype(unwrap(frames).dtype))
        spectrum = Fft.apply(wide, (2,), norm, False)
    y = spectrum.swapaxes(1, 2)  # (B, M, K) → (B, K, M)
    y = y if x.ndim == 2 else y.reshape(y.shape[1:])
    return y if return_complex else view_as_real(y)


def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The inverse of `stft`, (B, K, M) → (B, L): frames are added up where they overlap.

    The sum is divided by that of the squared windows. length: L, to which the result is cut or
    padded. return_complex: the signal is complex, for which all K = n_fft are needed.
    """
    if array_of("istft", input).dtype.kind != "c":
        raise RuntimeError("istft: got real numbers, expected complex ones; see view_as_complex")
    shape = tuple(input.shape)
    onesided = shape[-2:-1] != (n_fft,) if onesided is None else onesided
    rows = n_fft // 2 + 1 if onesided else n_fft
    if len(shape) not in (2, 3) or shape[-2] != rows or 0 in shape:
        raise ShapeError(f"istft: got shape {shape}, expected ({rows}, M) or (B, {rows}, M)")
    if return_complex and onesided:
        raise RuntimeError("istft: return_complex=True needs all n_fft rows, got onesided=True")
    if window is not None and window.is_complex() and not return_complex:
        raise RuntimeError("istft: got a complex window, expected return_complex=True")
    hop, weights = _frame("istft", input, n_fft, hop_length, win_length, window)
    y = (input if len(shape) == 3 else input.reshape((1, *shape))).swapaxes(1, 2)  # (B, M, K)
    norm = "ortho" if normalized else "backward"
    if return_complex:
        frames = Fft.apply(y, (2,), norm, True)
    else:  # as PyTorch does, from the first half of the rows
        frames = Irfft.apply(y[:, :, : n_fft // 2 + 1], n_fft, 2, norm)
    count = shape[-1]
    whole = n_fft + hop * (count - 1)
    signal = _added(frames * weights, whole, hop)  # (B, whole)
    squares = (weights * weights).reshape((1, 1, n_fft)).expand((1, count, n_fft))
    overlap = _added(squares, whole, hop)
    start = n_fft // 2 if center else 0
    end = whole - start if length is None else start + length
    signal, overlap = signal[:, start:end], overlap[:, start:end]
    sums = unwrap(overlap)
    least = float(builtins.abs(sums).min()) if sums.size else 0.0
    if least < 1e-11:
        raise RuntimeError(
            f"istft: the windows do not cover the signal: their squares add up to {least:.3g} "
            "somewhere, expected more than 1e-11 everywhere"
        )
    y = signal / overlap
    if end > whole:
        warn(f"istft: the frames hold {whole - start} elements; {end - whole} zeros are added")
        y = pad(y, (0, end - whole))
    return y if len(shape) == 3 else y.reshape((y.shape[1],))


def _added(frames: Any, whole: int, hop: int) -> Any:
    """Frames (B, M, n), one every `hop` elements, added up to signals (B, whole)."""
    columns = frames.swapaxes(1, 2)  # (B, n, M): the windows of a picture of height 1
    y = fold(columns, (1, whole), (1, frames.shape[2]), stride=(1, hop))
    return y.reshape((frames.shape[0], whole))


__all__ = ["istft", "stft"]
