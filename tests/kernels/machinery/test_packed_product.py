"""Products of a matrix in panels, against float64, at sizes around those of tiles and panels."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

numba = pytest.importorskip("numba")

from tinytensor.kernels.machinery.compile import serial  # noqa: E402
from tinytensor.kernels.machinery.contiguous import line  # noqa: E402
from tinytensor.kernels.machinery.packed_product import empty_panels, multiply, pack  # noqa: E402
from tinytensor.kernels.machinery.tile import COLUMNS, LANES, ROWS  # noqa: E402

SIZES = {
    "rows": [1, ROWS - 1, ROWS, 2 * ROWS + 1],
    "columns": [1, LANES, COLUMNS - 1, COLUMNS, 2 * COLUMNS + 3],
    "depth": [1, LANES - 1, LANES, 3 * LANES + 1],
}

LAYOUTS = ["rows", "columns", "gaps"]


@serial
def product(a, b, c, alpha, beta):
    panels = empty_panels(b.shape[0], b.shape[1])
    pack(b, panels)
    multiply(a, panels, c, alpha, beta)
    return panels


@serial
def part_of_product(a, b, c, start, stop, panel):
    """c ← a·b of the depths start … stop, and of the columns from a panel on."""
    panels = empty_panels(b.shape[0], b.shape[1])
    pack(b, panels)
    multiply(a[:, start:stop], panels[panel:, start:stop], c, 1.0, 0.0)


@serial
def sum_of_line(x, i):
    return line(x, i).sum()


def matrix(seed: int, rows: int, columns: int, layout: str = "rows") -> np.ndarray:
    """Random numbers; by rows, by columns (a transpose), or in rows with a gap after each."""
    random = np.random.default_rng(seed)
    if layout == "columns":
        return random.standard_normal((columns, rows), dtype=np.float32).T
    wide = random.standard_normal((rows, columns + 5), dtype=np.float32)
    return wide[:, :columns] if layout == "gaps" else wide[:, :columns].copy()


def assert_product(c: np.ndarray, a: np.ndarray, b: np.ndarray, plus: np.ndarray | float) -> None:
    exact = a.astype(np.float64) @ b.astype(np.float64) + plus
    size = np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64) + np.abs(plus)
    assert (np.abs(c - exact) <= 1e-6 * size).all()


@pytest.mark.parametrize("b_layout", LAYOUTS)
@pytest.mark.parametrize("a_layout", LAYOUTS)
@pytest.mark.parametrize("rows", SIZES["rows"])
@pytest.mark.parametrize("columns", SIZES["columns"])
@pytest.mark.parametrize("depth", SIZES["depth"])
def test_product(rows: int, columns: int, depth: int, a_layout: str, b_layout: str) -> None:
    a, b = matrix(0, rows, depth, a_layout), matrix(1, depth, columns, b_layout)
    around = np.full((rows + 1, columns + 2), 7, dtype=np.float32)
    c = around[:rows, :columns]
    c[:] = np.nan  # is not looked at where beta is 0
    product(a, b, c, np.float32(1), np.float32(0))
    assert_product(c, a, b, 0.0)
    assert (around[rows:] == 7).all() and (around[:, columns:] == 7).all()

    before = matrix(2, rows, columns)
    c[:] = before
    product(a, b, c, np.float32(0.5), np.float32(-2))
    assert_product(c, 0.5 * a, b, -2.0 * before)


def test_panels_end_in_zeros() -> None:
    b = matrix(0, 3, COLUMNS + 1)
    panels = product(matrix(1, 1, 3), b, np.empty((1, COLUMNS + 1), np.float32), 1.0, 0.0)
    assert panels.shape == (2, 3, COLUMNS)
    np.testing.assert_array_equal(panels[0], b[:, :COLUMNS])
    np.testing.assert_array_equal(panels[1, :, 0], b[:, COLUMNS])
    assert not panels[1, :, 1:].any()


def test_a_part_of_the_sum_and_of_the_columns() -> None:
    a, b = matrix(0, 9, 50), matrix(1, 50, 2 * COLUMNS + 3)
    c = np.empty((9, COLUMNS + 3), dtype=np.float32)
    part_of_product(a, b, c, 7, 40, 1)
    assert_product(c, a[:, 7:40], b[7:40, COLUMNS:], 0.0)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_special_number_stays_in_its_row_and_column(value: float) -> None:
    a, b = matrix(0, ROWS + 1, 5), matrix(1, 5, COLUMNS + 1)
    c = np.empty((ROWS + 1, COLUMNS + 1), dtype=np.float32)
    for x, rows in ((a, slice(ROWS, None)), (b, slice(None))):
        changed = x.copy()
        changed[-1, -1] = value
        left, right = (changed, b) if x is a else (a, changed)
        product(left, right, c, 1.0, 0.0)
        columns = slice(None) if x is a else slice(COLUMNS, None)
        finite = np.ones(c.shape, dtype=bool)
        finite[rows, columns] = False
        np.testing.assert_array_equal(np.isfinite(c), finite)


def test_line() -> None:
    x = matrix(0, 4, 6, "gaps")
    assert sum_of_line(x, 2) == pytest.approx(x[2].sum(), rel=1e-6)


OTHER_WIDTH = """
import numpy as np
import llvmlite.binding as llvm
from tinytensor.kernels.machinery import compile

true_features = llvm.get_host_cpu_features
features = true_features()
features["avx512f"] = not features.get("avx512f", False)
llvm.get_host_cpu_features = lambda: features
from tinytensor.kernels.machinery import tile
llvm.get_host_cpu_features = true_features
from tinytensor.kernels.machinery import packed_product

@compile.serial
def multiply(a, b, c):
    panels = packed_product.empty_panels(b.shape[0], b.shape[1])
    packed_product.pack(b, panels)
    packed_product.multiply(a, panels, c, 1.0, 0.0)

assert (tile.LANES, tile.ROWS) in ((8, 6), (16, 12))
for shape in ((1, 1, 1), (24, 32, 64), (13, 70, 35)):
    a = np.random.default_rng(0).standard_normal((shape[0], shape[1]), dtype=np.float32)
    b = np.random.default_rng(1).standard_normal((shape[2], shape[1]), dtype=np.float32).T
    for right in (b, b.copy(order="C")):
        c = np.empty((shape[0], shape[2]), dtype=np.float32)
        multiply(a, right, c)
        assert np.allclose(c, a @ b, atol=1e-4), shape

import tinytensor as tt
from tinytensor.nn.functional import conv2d, scaled_dot_product_attention

def results(kernels):
    tt.set_kernels(kernels)
    tt.manual_seed(0)
    q, k, v = (tt.randn(1, 2, 300, 24, requires_grad=True) for _ in range(3))
    y = scaled_dot_product_attention(q, k, v, is_causal=True)
    y.square().sum().backward()
    x = tt.randn(4, 8, 20, 20, requires_grad=True)  # convolutions: table_product.py
    w, each = tt.randn(19, 8, 3, 3, requires_grad=True), tt.randn(8, 1, 5, 5, requires_grad=True)
    z = conv2d(conv2d(x, each, padding=2, groups=8), w, stride=2)
    z.square().mean().backward()
    return y.detach(), q.grad, k.grad, v.grad, z.detach(), x.grad, w.grad, each.grad

for found, expected in zip(results("numba"), results("numpy"), strict=True):
    assert np.allclose(found.numpy(), expected.numpy(), rtol=1e-4, atol=1e-4)
print(tile.LANES)
"""


@pytest.mark.slow
def test_tiles_for_processors_of_another_width(tmp_path: Path) -> None:
    """LLVM takes vectors of any width; what is slow on this processor is still right."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", OTHER_WIDTH], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == 24 - LANES
