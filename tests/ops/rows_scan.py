from math import inf, nan

import tinytensor as tt

from .table import B, I, Row, T, V

WITH_ZEROS = V([[1.5, -2.0, 0.5, 2.0], [0.0, 3.0, -1.5, 1.0], [0.5, 0.0, 2.0, 0.0]])
TIES = V([[1.0, 3.0, 3.0, 2.0], [2.0, 2.0, 1.0, 1.0], [3.0, 1.0, 1.0, 3.0]])
NANS = V([1.0, 3.0, 3.0, nan, 5.0, nan, 0.0])

ROWS = [
    Row("cumsum", T(2, 3), 1, empty=True),
    Row("cumsum", T(2, 3, 4), dim=-2),
    Row("cumsum", T(2, 3), axis=0),
    Row("cumsum", T(), 0),
    Row("cumsum", T(2, 3), 1, dtype=tt.float64),
    Row("cumsum", I(2, 3), 1, order=0),
    Row("cumsum", B(2, 3), -1, order=0),
    Row("cumsum", I(2, 3), 1, dtype=tt.float32, order=0),
    Row("cumprod", T(2, 3), 1, empty=True),
    Row("cumprod", T(2, 3, 4), dim=-2),
    Row("cumprod", T(), -1),
    Row("cumprod", WITH_ZEROS, 1, label="zeros,1"),
    Row("cumprod", WITH_ZEROS, 0, label="zeros,0"),
    Row("cumprod", V([0.0, 0.0, 0.0]), 0, label="all zeros"),
    Row("cumprod", V([2.0, 0.0, 3.0, 0.5, 0.0, 1.0, 4.0]), 0, label="two zeros of seven"),
    Row("cumprod", I(2, 3), 1, order=0),
    Row("cumprod", B(2, 3), 1, order=0),
    Row("logcumsumexp", T(2, 3), 1, empty=True),
    Row("logcumsumexp", T(2, 5, 4), dim=-2),
    Row("logcumsumexp", T(), 0),
    Row("logcumsumexp", T(2, 5, low=-95, high=95), 1, label="large"),
    Row("logcumsumexp", V([1.0, -inf, 2.0, -inf]), 0, order=0, label="-inf"),
    Row("logcumsumexp", V([[-inf, -inf], [inf, 1.0], [-inf, 1.0]]), 1, order=0, label="inf"),
    Row("cummax", T(2, 5, distinct=True), 1, empty=True),
    Row("cummax", T(2, 3, 4, distinct=True), dim=-2),
    Row("cummax", T(), 0),
    Row("cummax", TIES, 1, order=0, label="ties"),
    Row("cummax", NANS, 0, order=0, label="nan"),
    Row("cummax", I(2, 9), 1, order=0),
    Row("cummax", B(2, 9), 1, order=0),
    Row("cummin", T(2, 5, distinct=True), 1, empty=True),
    Row("cummin", T(2, 3, 4, distinct=True), dim=-2),
    Row("cummin", TIES, 1, order=0, label="ties"),
    Row("cummin", NANS, 0, order=0, label="nan"),
    Row("cummin", I(2, 9), 0, order=0),
    Row("diff", T(2, 4), empty=True),
    Row("diff", T(3, 4), 2, 0),
    Row("diff", T(3, 4), n=0),
    Row("diff", T(3, 4), n=0, prepend=T(3, 1, grad=False), append=T(3, 2, grad=False)),
    Row("diff", B(2, 4), n=0, order=0),
    Row("diff", T(3, 2), n=4),
    Row("diff", T(3, 4), dim=-2, prepend=T(1, 4), append=T(2, 4)),
    Row("diff", I(2, 4), order=0),
    Row("diff", B(2, 4), order=0),
]
