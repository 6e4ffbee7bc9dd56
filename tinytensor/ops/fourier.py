"""The discrete Fourier transform and its adjoints; `tinytensor.fft` has the public functions.

norm names the factor of a transform of n elements: of the two directions, "backward" gives the
inverse 1/n, "forward" gives the other 1/n, and "ortho" gives each 1/√n. The adjoint of a transform
is the other direction with the same factor, which is the other norm.
"""

from __future__ import annotations

from typing import Any

from ..autograd.op import Op
from ..autograd.variable import unwrap, wrap_like
from ..backend import Array, xp

ADJOINT = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


class Fft(Op):
    """yₖ = c·Σⱼ xⱼ·exp(∓2πi·jk/n) over each of `dims`;  dxⱼ = c·Σₖ gₖ·exp(±2πi·jk/n)

    The upper signs are for the transform, the lower ones for its inverse.
    """

    complex_rule = True

    def forward(self, x: Array, dims: tuple[int, ...], norm: str, inverse: bool) -> Array:
        self.dims, self.norm, self.inverse = dims, norm, inverse
        library = xp(x).fft
        transform = library.ifftn if inverse else library.fftn
        return transform(x, axes=dims, norm=norm)

    def backward(self, g: Any) -> Any:
        return Fft.apply(g, self.dims, ADJOINT[self.norm], not self.inverse)


class Rfft(Op):
    """yₖ = c·Σⱼ xⱼ·exp(−2πi·jk/n) of real x, for k ≤ n/2;  dxⱼ = c·Re Σₖ gₖ·exp(2πi·jk/n)

    y of the other k are the conjugates of these.
    """

    complex_rule = True

    def forward(self, x: Array, dim: int, norm: str) -> Array:
        self.n, self.dim, self.norm = x.shape[dim], dim, norm
        return xp(x).fft.rfft(x, axis=dim, norm=norm)

    def backward(self, g: Any) -> Any:
        # Irfft counts an element with its conjugate, which is not there in y.
        return Irfft.apply(g / counts(g, self.n, self.dim), self.n, self.dim, ADJOINT[self.norm])


class Irfft(Op):
    """yⱼ = c·Re Σₖ wₖ·xₖ·exp(2πi·jk/n), k ≤ n/2;  dxₖ = c·wₖ·Σⱼ gⱼ·exp(−2πi·jk/n)

    wₖ is 2 where xₖ stands for its conjugate too, else 1 (k = 0 and k = n/2).
    """

    def forward(self, x: Array, n: int, dim: int, norm: str) -> Array:
        self.n, self.dim, self.norm = n, dim, norm
        return xp(x).fft.irfft(x, n=n, axis=dim, norm=norm)

    def backward(self, g: Any) -> Any:
        dx = Rfft.apply(g, self.dim, ADJOINT[self.norm])
        return dx * counts(dx, self.n, self.dim)


def counts(x: Any, n: int, dim: int) -> Any:
    """2 for each element of the half transform x that stands for its conjugate too, else 1.

    Shaped to multiply x, whose dimension `dim` has n//2 + 1 elements.
    """
    array = unwrap(x)
    w = xp(array).full(n // 2 + 1, 2, dtype=array.real.dtype)
    w[0] = 1
    if n % 2 == 0:
        w[-1] = 1
    shape = [1] * array.ndim
    shape[dim] = -1
    return wrap_like(w.reshape(shape), x)
