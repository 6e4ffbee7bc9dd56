"""Products with Householder's Q, Vandermonde's matrix, histograms of points."""

from __future__ import annotations

from typing import Any

from .table import C, Row, T


def by_powers(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """PyTorch's own vander has no gradient."""
    import torch

    powers = [x**n for n in range(len(x) if N is None else N)]
    return torch.stack(powers if increasing else powers[::-1], 1)


ROWS = [
    *[
        Row("ormqr", T(4, 2), T(2), T(4, 3) if left else T(3, 4), left, transpose)
        for left in (True, False)
        for transpose in (True, False)
    ],
    Row("ormqr", T(2, 3, 3), T(2, 3), T(2, 3, 1)),
    Row("ormqr", C(3, 2), C(2), C(3, 2)),
    Row("ormqr", C(3, 2), C(2), C(3, 2), True, True),
    Row("ormqr", C(3, 2), C(2), C(2, 3), False, True),
    Row("vander", T(4), torch=by_powers),
    Row("vander", T(3), 5, torch=by_powers),
    Row("vander", T(3), 2, True, torch=by_powers),
    Row("vander", T(3), 1, torch=by_powers),
    Row("histogramdd", T(9, 2), [2, 3], order=0),
    Row("histogramdd", T(3, 3, 2), [2, 3], range=[-1.0, 1.0, -2.0, 1.0], order=0),
    Row("histogramdd", T(9, 2), [2, 3], weight=T(9, low=0, grad=False), density=True, order=0),
]  # fmt: skip
