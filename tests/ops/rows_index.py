"""Rows of the op table: x[index], and copies with a slice replaced."""

from __future__ import annotations

from .table import B, I, Row, T, V

X = T(2, 3, 4)
VECTOR = V([0, 1, 1, -1, 0])
MASK = V([True, False, True])


def item(*index: object, x: T = X, **options: object) -> Row:
    """x[index]; a lone entry without a tuple around it."""
    entry = index[0] if len(index) == 1 else tuple(index)
    label = f"{x.shape}[{', '.join(map(_short, index))}]".replace(" ", "")
    return Row("method:__getitem__", x, entry, torch="__getitem__", label=label, **options)


def _short(entry: object) -> str:
    if isinstance(entry, V):
        return f"V{entry.values}"
    if isinstance(entry, slice):
        return ":".join("" if n is None else str(n) for n in (entry.start, entry.stop, entry.step))
    return (
        str(entry) if not isinstance(entry, (T, I, B)) else f"{type(entry).__name__}{entry.shape}"
    )


ALL = slice(None)

ROWS = [
    # basic: views
    item(0),
    item(-1),
    item(1, -2, 3),
    item(slice(1, None)),
    item(ALL, slice(None, None, 2), slice(1, 4, 3)),
    item(slice(-5, 5), slice(2, 1)),
    item(None),
    item(..., None, 0),
    item(0, ..., None, slice(None, 2)),
    item(...),
    item(()),
    item(1, x=T(3)),
    item(..., x=T()),
    item(None, x=T()),
    # integer arrays
    item(VECTOR),
    item([0, 1, 1]),
    item([]),
    item(range(2)),
    item(ALL, VECTOR),
    item(ALL, ALL, [[0, 3], [3, -1]]),
    item(VECTOR, V([0, 2, 2, -3, 0])),
    item(VECTOR, ALL, V([3, 1, 1, 0, 3])),
    item(ALL, V([[0], [2]]), V([1, 1, 3])),
    item(V([[0, 1], [1, 1]]), None, ..., V([[0], [0]])),
    item(slice(1, 2), V([[0, 1], [2, 2]]), slice(None, None, 2)),
    item(0, ALL, [1, 1, 2]),
    item([0, 1], 1),
    item(V(1), [0, 0]),
    item(V(1), ALL, V(-1)),
    item(I(5, 2, high=3), x=T(3)),
    item(I(7, high=6), x=T(6, 2)),
    # masks
    item(V([True, False])),
    item(ALL, MASK),
    item(B(2, 3)),
    item(B(2, 3, 4)),
    item(ALL, B(3, 4)),
    item(1, MASK),
    item(MASK, 1, x=T(3, 2)),
    item(ALL, MASK, V([0, 2])),
    item(V([False, False])),
    item(V([[True, False, True], [False, True, False]]), V([1, 1, 3])),
    item(True),
    item(False),
    item(True, ALL, [0, 1]),
    item(V(True), x=T()),
    # a slice replaced
    Row("select_scatter", T(3, 4), T(4), 0, 1),
    Row("select_scatter", T(3, 4), T(3), -1, -2),
    Row("slice_scatter", T(4, 3), T(2, 3), 0, 1, 3),
    Row("slice_scatter", T(4, 5), T(4, 3), dim=1, step=2),
]
