"""The kernels of convolution and max pooling against the ops' own version, over many shapes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.kernels import get_kernels, set_kernels
from tinytensor.kernels.machinery.route import kernels_for_all_sizes

pytest.importorskip("numba")
F = tt.nn.functional

# (N, C, H, W), (O, C/G, kH, kW), stride, padding, dilation, groups
SHAPES = [
    ((5, 1, 9, 11), (6, 1, 5, 5), 1, 2, 1, 1),  # few outputs, one channel
    ((3, 3, 20, 17), (9, 3, 11, 7), 4, 5, 1, 1),  # a large kernel with stride and padding
    ((9, 8, 4, 4), (35, 8, 3, 3), 1, 1, 1, 1),  # small images, summed together
    ((2, 33, 3, 2), (17, 33, 1, 1), 1, 0, 1, 1),  # fewer windows than lanes
    ((4, 6, 8, 8), (6, 1, 5, 5), 1, 2, 1, 6),  # depthwise
    ((2, 4, 7, 9), (8, 1, 3, 3), 2, 1, 1, 4),  # two outputs for each channel
    ((2, 12, 6, 6), (15, 4, 3, 3), 1, 1, 1, 3),  # groups of five outputs
    ((2, 3, 9, 9), (5, 3, 1, 1), 2, 0, 1, 1),  # elements that no window reaches
    ((1, 2, 12, 10), (3, 2, 2, 3), (3, 2), (1, 0), (2, 3), 1),  # stride and dilation
    ((2, 2, 5, 5), (2, 2, 2, 2), 1, 4, 1, 1),  # more padding than kernel
    ((1, 40, 5, 5), (19, 40, 3, 3), 1, 1, 1, 1),  # a sum longer than DEPTH
    ((2, 3, 8, 50), (2, 3, 3, 3), 1, 1, 1, 1),  # long rows
    ((0, 3, 8, 8), (4, 3, 3, 3), 1, 1, 1, 1),  # no samples
    ((4, 1, 20, 30), (10, 1, 3, 30), 1, 0, 1, 1),  # windows as wide as the image
    ((3, 2, 6, 20), (4, 2, 6, 3), 1, 0, 1, 1),  # as high
    ((3, 4, 6, 5), (4, 2, 6, 5), 1, 0, 1, 2),  # both
    ((5, 40, 8, 8), (70, 40, 4, 4), 2, 1, 1, 1),  # several panels of outputs
]


def both(function, *arrays):
    """[results of the op's own version], [results of the kernel]: outputs and all gradients."""
    found, before = [], get_kernels()
    for kernels in ("numpy", "numba"):
        set_kernels(kernels)
        try:
            with kernels_for_all_sizes():
                inputs = [tt.tensor(x, requires_grad=True) for x in arrays]
                y = function(*inputs)
                g = np.random.default_rng(1).standard_normal(y.shape).astype(np.float32)
                grads = tt.autograd.grad(y, inputs, tt.tensor(g))
                found.append([t.detach().numpy() for t in (y, *grads)])
        finally:
            set_kernels(before)
    return found


def agree(expected, got):
    for a, b in zip(expected, got, strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        finite = np.isfinite(a)
        assert (np.isfinite(b) == finite).all()
        scale = np.abs(a[finite]).max(initial=1.0)
        assert np.abs(a[finite] - b[finite]).max(initial=0.0) <= 2e-5 * scale


def draw(*shapes):
    random = np.random.default_rng(0)
    return [random.standard_normal(shape).astype(np.float32) for shape in shapes]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("case", SHAPES, ids=str)
def test_convolution(case, threads):
    image, weight, *rest = case
    before = tt.get_num_threads()
    tt.set_num_threads(min(threads, before))
    try:
        arrays = draw(image, weight, weight[:1])
        agree(*both(lambda x, w, b: F.conv2d(x, w, b, *rest), *arrays))
    finally:
        tt.set_num_threads(before)


@pytest.mark.parametrize("by_rows", [True, False])
@pytest.mark.parametrize("case", SHAPES, ids=str)
def test_both_ways(case, by_rows, monkeypatch):
    """Each shape with a row for each window and with runs, whichever the kernel would choose."""
    from tinytensor.kernels import convolution

    for name in ("better_forward", "better_backward"):
        monkeypatch.setattr(convolution, name, lambda *sizes: by_rows)
    image, weight, *rest = case
    arrays = draw(image, weight, weight[:1])
    agree(*both(lambda x, w, b: F.conv2d(x, w, b, *rest), *arrays))


def test_transposed_with_bias():
    """Windows as wide as the result: its bias is repeated for each column."""
    x, w, b = draw((3, 4, 5, 1), (4, 2, 2, 6), (6,))
    agree(*both(lambda x, w, b: F.conv_transpose2d(x, w, b, groups=1), x, w, b[:2]))
    agree(*both(lambda x, w, b: F.conv_transpose2d(x, w, b, groups=2), x, w, b[:4]))


@pytest.mark.parametrize("case", [SHAPES[0], SHAPES[4], SHAPES[8]], ids=str)
@pytest.mark.parametrize("which", [0, 1])
def test_infinity_stays_where_it_belongs(case, which):
    image, weight, *rest = case
    arrays = draw(image, weight)
    arrays[which][0, 0, -1, -1] = np.inf
    agree(*both(lambda x, w: F.conv2d(x, w, None, *rest), *arrays))


POOLS = list(
    itertools.product([(2, 2, 0, 1), (3, 2, 1, 1), (3, 1, 1, 2), (2, 3, 0, 1)], [False, True])
)


@pytest.mark.parametrize("pool, ceil_mode", POOLS)
def test_max_pool(pool, ceil_mode):
    (x,) = draw((3, 2, 11, 8))
    x[0, 0, 2:4] = np.nan
    x[1] = np.round(x[1])  # equal elements
    agree(*both(lambda x: F.max_pool2d(x, *pool, ceil_mode), x))
    agree(*both(lambda x: F.max_pool1d(x, *pool, ceil_mode), x.reshape(3, 2, 88)))


def test_max_pool_with_an_empty_window():
    (x,) = draw((2, 3))  # kernel 2, dilation 4: the window at −1 has no element inside
    agree(*both(lambda x: F.max_pool1d(x, 2, 1, 2, 4), x))
