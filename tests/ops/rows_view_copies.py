"""Copies of views, under their own names."""

from __future__ import annotations

from .table import C, Row, T

ROWS = [
    Row("alias_copy", T(2, 3), empty=True, scalar=True),
    Row("diagonal_copy", T(3, 4), 1),
    Row("diagonal_copy", T(2, 3, 3), dim1=1, dim2=2, empty=True),
    Row("detach_copy", T(2, 3), order=0),
    Row("expand_copy", T(3, 1), (2, 3, 4)),
    Row("expand_copy", T(3, 1), (-1, 2), empty=True),
    Row("permute_copy", T(2, 3, 4), (2, 0, 1), empty=True),
    Row("select_copy", T(3, 4), 1, -1, empty=True),
    Row("slice_copy", T(5, 2)),
    Row("slice_copy", T(2, 6), 1, 1, -1, 2, empty=True),
    Row("split_copy", T(5, 2), 2),
    Row("split_with_sizes_copy", T(5, 2), (1, 4)),
    Row("squeeze_copy", T(2, 1, 3, 1), empty=True),
    Row("squeeze_copy", T(2, 1, 3, 1), 1),
    Row("t_copy", T(2, 3), empty=True, scalar=True),
    Row("transpose_copy", T(2, 3, 4), 0, 2, empty=True),
    Row("unbind_copy", T(3, 2)),
    Row("unbind_copy", T(3, 2), 1),
    Row("unfold_copy", T(7, 2), 0, 3, 2),
    Row("unsqueeze_copy", T(2, 3), 0, scalar=True),
    Row("unsqueeze_copy", T(2, 3), 1, empty=True),
    Row("view_as_real_copy", C(3)),
    Row("view_copy", T(2, 6), (3, 4)),
]
