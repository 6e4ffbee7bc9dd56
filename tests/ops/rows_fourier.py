"""Fourier transforms: lengths even and odd, padded and cut, over several dims, in each norm."""

from .table import C, Row, T

COMPLEX = ("fft.fft", "fft.ifft")
FROM_REAL = ("fft.rfft", "fft.ihfft")
TO_REAL = ("fft.irfft", "fft.hfft")

ROWS = [
    *[Row(name, C(2, 5)) for name in (*COMPLEX, *TO_REAL)],
    *[Row(name, T(2, 6)) for name in (*COMPLEX, *FROM_REAL)],
    *[Row(name, T(2, 5)) for name in FROM_REAL],
    *[Row(name, C(4), 7, norm="ortho") for name in (*COMPLEX, *TO_REAL)],
    *[Row(name, C(5, 2), 3, dim=0, norm="forward") for name in (*COMPLEX, *TO_REAL)],
    *[Row(name, T(4), 7, norm="ortho") for name in FROM_REAL],
    *[Row(name, T(5, 2), 4, dim=0, norm="forward") for name in FROM_REAL],
    *[Row(f"fft.{name}", C(1), 1) for name in ("fft", "irfft", "hfft")],
    *[Row(f"fft.{name}", C(2, 3, 4)) for name in ("fft2", "ifft2", "irfft2", "hfft2")],
    *[Row(f"fft.{name}", T(2, 3, 4)) for name in ("fft2", "rfft2", "ihfft2")],
    *[
        Row(f"fft.{name}", C(2, 3, 4), s=(4, 3), dim=(2, 0), norm="ortho")
        for name in ("fftn", "ifftn", "irfftn", "hfftn")
    ],
    *[
        Row(f"fft.{name}", T(2, 3, 4), s=(3, -1), dim=(-1, 1), norm="forward")
        for name in ("rfftn", "ihfftn", "fftn")
    ],
    *[Row(f"fft.{name}", C(2, 3)) for name in ("fftn", "ifftn", "irfftn")],
    Row("fft.rfftn", T(3, 4)),
    Row("fft.irfft2", C(2, 3, 3), s=(3, 5)),
    Row("fft.fftn", C(2, 3, 2), s=(4,)),
    Row("fft.fftshift", C(5, 4)),
    Row("fft.fftshift", T(5, 4), dim=0),
    Row("fft.ifftshift", C(5, 4)),
    Row("fft.ifftshift", T(5, 4), dim=(1,)),
    Row("fft.fftfreq", 5, order=0),
    Row("fft.fftfreq", 6, 0.5, order=0),
    Row("fft.rfftfreq", 5, order=0),
    Row("fft.rfftfreq", 6, 0.5, order=0),
    # frames
    Row("stft", T(2, 20), 8, window=T(8), return_complex=True),
    Row("stft", T(15), 6, 2, 5, T(5, low=0.2), False, return_complex=True),
    Row("stft", T(2, 12), 4, 3, window=T(4), onesided=False, normalized=True, return_complex=True),
    Row("stft", T(12), 5, 2, None, T(5), True, "constant", return_complex=True),
    Row("stft", C(2, 12), 4, 2, window=T(4)),
    Row("istft", C(2, 5, 4), 8, 3, window=T(8, low=0.5)),
    Row("istft", C(4, 5), 6, 2, 5, T(5, low=0.5), normalized=True, length=9),
    Row("istft", C(2, 6, 4), 6, 2, window=T(6, low=0.5), center=False, onesided=False),
    Row("istft", C(6, 4), 6, 2, None, T(6, low=0.5), True, return_complex=True, onesided=False),
]
