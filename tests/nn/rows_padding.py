from .table import Row, T

SHAPES = {1: (2, 3, 4), 2: (1, 2, 3, 4), 3: (1, 2, 3, 3, 4)}
UNEVEN = {1: (2, 0), 2: (1, 2, 0, 1), 3: (1, 2, 0, 1, 2, 0)}

ROWS = [
    *(
        Row(f"{kind}{n}d", padding, inputs=[T(*shape)])
        for kind in ("ZeroPad", "ReflectionPad", "ReplicationPad", "CircularPad")
        for n, shape in SHAPES.items()
        for padding in (1, UNEVEN[n])
    ),
    *(Row(f"ConstantPad{n}d", 1, 3.5, inputs=[T(*shape)]) for n, shape in SHAPES.items()),
    Row("ConstantPad2d", (1, 2, 0, 1), -1.0, inputs=[T(2, 3, 4)]),
    Row("ZeroPad2d", (-1, 1, 0, -2), inputs=[T(1, 2, 3, 4)]),
]
