"""tinytensor.masked: reductions and softmax over the elements that a mask keeps."""

from __future__ import annotations

from .table import Row, T, V

SOME = V([[True, False, True], [True, True, True]])
ROW = V([True, False, True])  # broadcast
NONE = V([[True, False, True], [False, False, False]])  # keeps nothing of the second row
X = T(2, 3, distinct=True)

ROWS = [
    *[
        Row(f"masked.{name}", X, dim, mask=mask, keepdim=keepdim)
        for name in ("sum", "prod", "amax", "amin", "mean", "logsumexp", "var", "std")
        for dim, mask, keepdim in [(None, SOME, False), (1, ROW, True), ((0, 1), SOME, False)]
    ],
    *[Row(f"masked.{name}", X, 1, mask=NONE, order=1) for name in ("sum", "prod")],
    Row("masked.amax", X, 1, mask=NONE, order=0),
    Row("masked.norm", X, 2.0, 1, mask=SOME),
    Row("masked.norm", X, 3.0, mask=ROW, keepdim=True, order=1),
    Row("masked.norm", X, float("-inf"), 0, mask=SOME, order=1),
    Row("masked.median", X, 1, mask=SOME),
    Row("masked.median", X, 0, mask=ROW, keepdim=True, order=0),
    *[Row(f"masked.{name}", X, 1, mask=SOME, order=0) for name in ("argmax", "argmin")],
    *[
        Row(f"masked.{name}", X, dim, mask=mask)
        for name in ("cumsum", "cumprod", "softmax", "softmin")
        for dim, mask in [(1, SOME), (0, None), (-1, ROW)]
    ],
    Row("masked.log_softmax", X, 1, mask=None),
    Row("masked.log_softmax", X, 1, mask=SOME, after=lambda y: y.exp()),
    Row("masked.normalize", X, 2.0, 1, mask=SOME),
    Row("masked.var", X, 1, False, mask=SOME),
    Row("masked.std", X, 1, correction=0.5, mask=SOME),
    Row("masked.logaddexp", T(2, 3), T(2, 3), input_mask=SOME),
    Row("masked.logaddexp", T(2, 3), T(2, 3)),
]
