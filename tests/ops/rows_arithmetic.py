from .table import Row, T

ROWS = [
    Row("add", T(2, 3), T(2, 3), empty=True, scalar=True),
    Row("add", T(2, 3), T(3)),
    Row("add", T(2, 1), T(3), alpha=2),
    Row("add", T(2, 3), 1.5),
    Row("sub", T(2, 3), T(2, 3), empty=True, scalar=True),
    Row("sub", T(2, 1), T(1, 3), alpha=0.5),
    Row("mul", T(2, 3), T(2, 3), empty=True, scalar=True),
    Row("mul", T(2, 1), T(3)),
]
