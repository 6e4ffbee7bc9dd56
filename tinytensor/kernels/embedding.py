"""The gradient of embedding: y[i] = Σ x over the places where index is i."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from .blas import share
from .compile import parallel
from .layout import as_rows, flat
from .memory import empty
from .threads import get_num_threads


@parallel
def add_rows(x, index, y, threads):
    """y[index[i]] += x[i]; each thread takes some columns, so that no two write to one place."""
    for i in prange(threads):
        start, stop = share(x.shape[1], threads, i)
        for row in range(x.shape[0]):
            for j in range(start, stop):
                y[index[row], j] += x[row, j]


def add_rows_forward(op: Any, x: Any, index: Any, rows: int) -> Any:
    if index.dtype != np.int64:
        return NotImplemented
    y = empty((rows, x.shape[-1]))
    y.fill(0)
    add_rows(as_rows(x), flat(index), y, get_num_threads())
    return y
