from .table import B, I, Row, T, V

NAN, INF = float("nan"), float("inf")
ODD = V([1.5, -0.0, NAN, INF, -INF])

COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]
ALIASES = ["not_equal", "less", "less_equal", "greater", "greater_equal"]

ROWS = [
    *[Row(name, I(2, 3, high=3), I(3, high=3), order=0, empty=True) for name in COMPARISONS],
    *[Row(name, T(2, 3), T(2, 3), order=0, empty=True, scalar=True) for name in COMPARISONS],
    *[Row(name, T(2, 3), 0.0, order=0) for name in COMPARISONS],
    *[Row(name, I(2, 3, high=3), 1.5, order=0) for name in COMPARISONS],
    *[Row(name, ODD, V([1.5, 0.0, NAN, INF, INF]), order=0) for name in COMPARISONS],
    *[Row(name, T(2, 3), T(3), order=0) for name in ALIASES],
    *[Row(name, ODD, order=0, empty=True) for name in ["isnan", "isinf", "isfinite"]],
    *[Row(name, I(3), order=0, scalar=True) for name in ["isnan", "isinf", "isfinite"]],
    Row(
        "isclose", V([1.0, 1.0, NAN, INF, INF, 0.0]), V([1.0, 1.00001, NAN, INF, 1, 1e-9]), order=0
    ),
    Row("isclose", V([1.0, NAN]), V([1.1, NAN]), 0.2, 0.0, True, order=0),
    Row("isclose", V([1.0, -1.0, NAN]), V([1.1, -1.3, 1.0]), rtol=0, atol=0.2, order=0),
    Row("isclose", V([1, 100]), V([2, 101]), rtol=0.1, order=0),
    Row("isclose", B(2, 3), B(3), order=0),
    Row("isclose", T(2, 3), T(3), order=0, empty=True, scalar=True),
    Row("allclose", T(2, 3), T(3), order=0),
    Row("allclose", V([1.0, 2.0]), V([1.0, 2.000001]), order=0),
    Row("allclose", V([1.0, 2.0]), V([1.0, 2.1]), atol=0.2, order=0),
    Row("allclose", V([NAN]), V([NAN]), equal_nan=True, order=0),
    Row("equal", T(2, 3), T(2, 3), order=0),
    Row("equal", V([[1.0, 2.0]]), V([1.0, 2.0]), order=0),
    Row("equal", V([1.0, 2.0]), V([1, 2]), order=0),
    *[Row(f"logical_{name}", B(3, 4), B(4), order=0) for name in ["and", "or", "xor"]],
    *[
        Row(f"logical_{name}", V([1.5, 0.0, NAN, -1.0]), V([0, 0, 2, 3]), order=0)
        for name in ["and", "or", "xor"]
    ],
    Row("logical_not", B(2, 3), order=0, empty=True, scalar=True),
    Row("logical_not", V([1.5, 0.0, NAN]), order=0),
    *[Row(f"bitwise_{name}", B(3, 4), B(4), order=0) for name in ["and", "or", "xor"]],
    *[
        Row(f"bitwise_{name}", I(3, 4, low=-20, high=20), I(4), order=0, empty=True, scalar=True)
        for name in ["and", "or", "xor", "left_shift", "right_shift"]
    ],
    *[
        Row(f"bitwise_{name}", I(3, 4, low=-20, high=20), 5, order=0)
        for name in ["and", "or", "xor", "left_shift", "right_shift"]
    ],
    Row("bitwise_left_shift", 3, I(2, 3), order=0),
    Row("bitwise_left_shift", V([[1, -5]]), V([[62], [63], [64], [-1]]), order=0),
    Row("bitwise_right_shift", V([[1, -5]]), V([[1], [63], [64], [-1]]), order=0),
    Row("bitwise_not", B(2, 3), order=0, empty=True, scalar=True),
    Row("bitwise_not", I(2, 3), order=0),
]
