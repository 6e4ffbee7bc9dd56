import tinytensor as tt

from .table import Row, T

ROWS = [
    Row("clone", T(2, 3), empty=True, scalar=True),
    Row("method:contiguous", T(2, 3), empty=True, scalar=True),
    Row("method:contiguous", T(3, 2)),
    Row("method:to", T(2, 3), copy=True),
    Row("method:to", T(2, 3), "cpu", empty=True, scalar=True),
    Row("method:to", T(2, 3), device="cpu", dtype=tt.float64),
    Row("method:to", T(2, 3), T(1, grad=False)),
    Row("method:type_as", T(2, 3), T(1, grad=False)),
    Row("method:cpu", T(2, 3), torch=lambda x: x.cpu(), empty=True, scalar=True),
    Row("method:to", T(2, 3), dtype=tt.float32, order=0),
    Row("method:to", T(2, 3), dtype=tt.int64, order=0),
]
