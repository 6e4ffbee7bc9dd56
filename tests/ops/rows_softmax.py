import tinytensor as tt

from .table import Row, T, V

INF = float("inf")

ROWS = [
    Row("softmax", T(2, 3), 1, empty=True),
    Row("softmax", T(2, 3), dim=0),
    Row("softmax", T(2, 3), axis=-1),
    Row("softmax", T(2, 3, 2, 2), -3),
    Row("softmax", T(4), 0, scalar=True),
    Row("softmax", T(2, 3), 1, dtype=tt.float64),
    Row("softmax", V([[-INF, 0.5, 1.0], [2.0, -INF, -INF]]), 1, order=0, label="minus infinity"),
    Row("softmax", V([[-INF, -INF], [INF, 1.0]]), 1, order=0, label="undefined rows"),
    Row("softmax", V([[1000.0, 1001.0, -1000.0]]), 1, label="large"),
    Row("log_softmax", T(2, 3), 1, empty=True),
    Row("log_softmax", T(2, 3), dim=-2),
    Row("log_softmax", T(2, 3, 4), 1),
    Row("log_softmax", T(4), 0, scalar=True),
    Row("log_softmax", T(2, 3), axis=1, dtype=tt.float64),
    Row("log_softmax", V([[-INF, 0.5, 1.0]]), 1, order=0, label="minus infinity"),
    Row("log_softmax", V([[1000.0, 1001.0, -1000.0]]), 1, label="large"),
    Row("softmin", T(2, 3), 1, empty=True),
    Row("softmin", T(2, 3, 2), dim=0),
]
