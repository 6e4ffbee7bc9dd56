"""Convolution, pooling and resampling beyond the op table: errors, dtypes, special cases."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.autograd.gradcheck import gradcheck, gradgradcheck
from tinytensor.ops.windows import Windows, sliding

from .test_table import needs_torch, torch

rng = np.random.default_rng(0)


def randn(*shape: int) -> tt.Tensor:
    return tt.tensor(rng.normal(size=shape), requires_grad=True)


# ------------------------------------------------------------------------------------------
# Convolution by its definition
# ------------------------------------------------------------------------------------------


def slow_conv2d(x: np.ndarray, w: np.ndarray, stride: int, padding: int, dilation: int,
                groups: int) -> np.ndarray:  # fmt: skip
    """y[n, o, i, j] as a sum over channels and kernel, element by element."""
    samples, _, height, width = x.shape
    outputs, per_group, kh, kw = w.shape
    x = np.pad(x, [(0, 0), (0, 0), (padding, padding), (padding, padding)])
    oh = (height + 2 * padding - dilation * (kh - 1) - 1) // stride + 1
    ow = (width + 2 * padding - dilation * (kw - 1) - 1) // stride + 1
    y = np.zeros((samples, outputs, oh, ow))
    for n, o, i, j in np.ndindex(y.shape):
        first = o // (outputs // groups) * per_group  # the group's first input channel
        for c, a, b in np.ndindex(per_group, kh, kw):
            pixel = x[n, first + c, i * stride + a * dilation, j * stride + b * dilation]
            y[n, o, i, j] += w[o, c, a, b] * pixel
    return y


@pytest.mark.parametrize("settings", [(1, 0, 1, 1), (2, 1, 1, 1), (1, 2, 2, 2), (3, 1, 2, 4)])
def test_definition(settings: tuple) -> None:
    x, w = rng.normal(size=(2, 4, 7, 6)), rng.normal(size=(8, 4 // settings[3], 3, 2))
    y = tt.conv2d(tt.tensor(x), tt.tensor(w), None, *settings)
    np.testing.assert_allclose(y.numpy(), slow_conv2d(x, w, *settings), rtol=1e-12, atol=1e-12)


def test_transposed_convolution_is_the_adjoint() -> None:
    """⟨conv(x), y⟩ = ⟨x, convᵀ(y)⟩ for all x and y."""
    x, w = randn(2, 4, 7, 6), randn(6, 2, 3, 2)
    settings: dict[str, Any] = {"stride": 2, "padding": 1, "groups": 2}
    image = tt.conv2d(x, w, **settings)
    y = randn(*image.shape)
    back = tt.conv_transpose2d(y, w, output_padding=(0, 0), **settings)
    assert back.shape == x.shape
    assert (image * y).sum().item() == pytest.approx((x * back).sum().item(), rel=1e-12)


def test_fold_is_the_adjoint_of_unfold_and_counts_overlaps() -> None:
    x = tt.ones(1, 1, 4, 4)
    counts = tt.fold(tt.unfold(x, 2), (4, 4), 2)
    assert counts[0, 0].tolist() == [[1, 2, 2, 1], [2, 4, 4, 2], [2, 4, 4, 2], [1, 2, 2, 1]]


@needs_torch
@pytest.mark.parametrize("kernel, dilation", [(2, 1), (4, 1), (4, 3), (2, 2)])
def test_same_padding_with_an_odd_number_of_zeros(kernel: int, dilation: int) -> None:
    x, w = rng.normal(size=(2, 3, 9)), rng.normal(size=(4, 3, kernel))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch says that it makes a copy
        expected = torch.conv1d(torch.tensor(x), torch.tensor(w), None, 1, "same", dilation)
    y = tt.conv1d(tt.tensor(x), tt.tensor(w), None, 1, "same", dilation)
    np.testing.assert_allclose(y.numpy(), expected.numpy(), rtol=1e-12, atol=1e-12)


def test_derivatives_where_padding_is_uneven() -> None:
    assert gradcheck(lambda x, w: tt.conv1d(x, w, padding="same"), (randn(1, 2, 4), randn(2, 2, 2)))
    assert gradgradcheck(
        lambda x, w: tt.conv1d(x, w, padding="same"), (randn(1, 1, 3), randn(1, 1, 2))
    )


def test_third_derivative() -> None:
    """y = Σ conv(x, w)³ is a cubic in w: its third derivative along w is 6·y."""
    x, w = randn(1, 2, 3, 3), randn(2, 2, 2, 2)
    y = (tt.conv2d(x, w) ** 3).sum()
    derivative = y
    for _ in range(3):
        (g,) = tt.autograd.grad(derivative, w, create_graph=True)
        derivative = (g * w.detach()).sum()
    assert derivative.item() == pytest.approx(6 * y.item(), rel=1e-10)


@pytest.mark.parametrize("room", [1, 1000, 2000])
def test_blocks_of_samples_change_nothing(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """5 samples, in blocks of 1 or of several, against all of them at once."""
    x, w, b = randn(5, 2, 5), randn(4, 1, 2), randn(4)
    y, back = randn(5, 4, 5), randn(4, 1, 3)

    def run() -> list:
        outputs = [
            tt.conv1d(x, w, b, padding="same", groups=2),
            tt.conv_transpose1d(y, back, groups=2),
        ]
        total = sum((z * z).sum() for z in outputs)
        return [*outputs, *tt.autograd.grad(total, (x, w, b, y, back))]

    whole = run()
    monkeypatch.setattr("tinytensor.ops.convolution.CACHE", room)
    for a, c in zip(run(), whole, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), c.detach().numpy(), rtol=1e-12, atol=1e-12)


def test_outputs_are_contiguous() -> None:
    x, w = randn(2, 3, 5, 5), randn(4, 3, 3, 3)
    y = tt.conv2d(x, w, padding=1)
    assert y.is_contiguous() and y.view(2, -1).shape == (2, 100)
    assert tt.conv_transpose2d(y, w, padding=1).is_contiguous()
    assert tt.max_pool2d(x, 2).is_contiguous() and tt.avg_pool2d(x, 2).is_contiguous()


def test_integers() -> None:
    x = tt.arange(16).reshape(1, 1, 4, 4)
    assert tt.conv2d(x, tt.ones(1, 1, 2, 2, dtype=tt.int64))[0, 0, 0].tolist() == [10, 14, 18]
    assert tt.max_pool2d(x, 2).dtype == tt.int64
    assert tt.avg_pool2d(-x, 2).tolist() == [[[[-2, -4], [-10, -12]]]]  # towards zero, as PyTorch


# ------------------------------------------------------------------------------------------
# Windows
# ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 4, 7])
@pytest.mark.parametrize("kernel, stride, padding, dilation", [
    (1, 1, 0, 1), (3, 1, 1, 1), (2, 3, 1, 1), (3, 2, 3, 2), (2, 1, 2, 3),
])  # fmt: skip
def test_taps_name_each_element_once(
    size: int, kernel: int, stride: int, padding: int, dilation: int
) -> None:
    count = max(0, (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1)
    windows = Windows((size,), (kernel,), (stride,), (padding,), (dilation,), (count,))
    found = set()
    for (k,), (_, inside), (_, places) in windows.taps():
        windows_here, places_here = range(count)[inside], range(size)[places]
        assert len(windows_here) == len(places_here)
        found |= {(i, k, place) for i, place in zip(windows_here, places_here)}
    expected = set()
    for i in range(count):
        for k in range(kernel):
            place = i * stride + k * dilation - padding
            if 0 <= place < size:
                expected.add((i, k, place))
    assert found == expected


def test_ceil_mode_drops_a_window_that_starts_in_the_padding_behind() -> None:
    assert sliding((5,), (2,), (2,), (0,), (1,), True).counts == (3,)
    assert sliding((4,), (2,), (3,), (1,), (1,), True).counts == (2,)
    assert sliding((3,), (1,), (3,), (0,), (1,), True).counts == (1,)


# ------------------------------------------------------------------------------------------
# Pooling
# ------------------------------------------------------------------------------------------


def test_max_pool_gives_the_gradient_to_the_first_of_equals() -> None:
    x = tt.ones(1, 1, 2, 4, requires_grad=True)
    y, index = tt.max_pool2d(x, 2, return_indices=True)
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[[[1, 0, 1, 0], [0, 0, 0, 0]]]]
    assert index.tolist() == [[[[0, 2]]]] and not index.requires_grad


def test_max_pool_of_minus_infinity_and_nan() -> None:
    inf, nan = float("inf"), float("nan")
    x = tt.tensor([[[-inf, -inf, nan, 1.0, 2.0, nan]]], requires_grad=True)
    y, index = tt.max_pool1d(x, 2, return_indices=True)
    assert index.tolist() == [[[0, 2, 5]]]
    assert y[0, 0, 0].item() == -inf and y[0, 0, 1:].isnan().all()


def test_indices_find_the_maximum() -> None:
    x = randn(2, 3, 7, 6)
    y, index = tt.max_pool2d(x, 3, 2, 1, ceil_mode=True, return_indices=True)
    flat = x.reshape(2, 3, -1)
    assert tt.equal(flat.gather(2, index.reshape(2, 3, -1)).reshape(y.shape), y)


def test_many_taps() -> None:
    x = randn(1, 1, 20, 20)  # 400 taps: more than a byte can number
    y, index = tt.max_pool2d(x, 20, return_indices=True)
    assert index.item() == x.argmax().item()
    y.sum().backward()
    assert x.grad is not None and x.grad.reshape(-1)[index.item()] == 1


# ------------------------------------------------------------------------------------------
# Errors
# ------------------------------------------------------------------------------------------

x4, x3, w4 = tt.ones(1, 2, 4, 4), tt.ones(2, 2, 4), tt.ones(3, 2, 2, 2)

ERRORS = [
    (lambda: tt.conv2d(x4, tt.ones(3, 1, 2, 2)), RuntimeError,
     r"conv2d: input has 2 channels \(shape \(1, 2, 4, 4\)\), weight \(3, 1, 2, 2\) with groups=1 "
     r"expects 1"),
    (lambda: tt.conv2d(x4, tt.ones(3, 1, 2, 2), groups=2), RuntimeError,
     r"conv2d: weight .* has 3 channels in its first dimension, expected a multiple of groups=2"),
    (lambda: tt.conv2d(x4, w4, groups=0), RuntimeError, "groups=0, expected at least 1"),
    (lambda: tt.conv2d(x4, w4, tt.ones(2)), RuntimeError,
     r"bias has shape \(2,\), expected \(3,\) for weight \(3, 2, 2, 2\)"),
    (lambda: tt.conv2d(x4[0, 0], w4), RuntimeError, r"input of shape \(4, 4\) .* 4 dimensions"),
    (lambda: tt.conv2d(x4, tt.ones(3, 2, 5, 5)), RuntimeError, r"smaller than the kernel \(5, 5\)"),
    (lambda: tt.conv2d(x4, w4, stride=0), RuntimeError, "stride 0, expected at least 1"),
    (lambda: tt.conv2d(x4, w4, dilation=(1, 0)), RuntimeError, "dilation .*, expected at least 1"),
    (lambda: tt.conv2d(x4, w4, padding=-1), RuntimeError, "padding -1, expected at least 0"),
    (lambda: tt.conv2d(x4, w4, stride=(1, 1, 1)), RuntimeError,
     r"stride \(1, 1, 1\), expected one int or 2 ints"),
    (lambda: tt.conv2d(x4, w4, stride=1.5), TypeError, "stride 1.5, expected one int or 2 ints"),
    (lambda: tt.conv2d(x4, w4, padding="full"), RuntimeError, "padding 'full', expected ints"),
    (lambda: tt.conv2d(x4, w4, 1, padding="same"), TypeError, "expected a tensor"),
    (lambda: tt.conv2d(x4, w4, None, 2, "same"), RuntimeError, "padding='same' needs stride 1"),
    (lambda: tt.conv2d(x4, w4.double()), RuntimeError, "conv2d: .*float32 and float64"),
    (lambda: tt.conv2d([1.0], w4), TypeError, "conv2d: got list, expected a tensor"),
    (lambda: tt.conv_transpose2d(x4, w4), RuntimeError, "input has 2 channels .* expects 3"),
    (lambda: tt.conv_transpose2d(x4, tt.ones(2, 1, 2, 2), output_padding=1), RuntimeError,
     r"output_padding \(1, 1\), expected less than stride \(1, 1\) or dilation"),
    (lambda: tt.conv_transpose2d(x4, tt.ones(2, 1, 2, 2), padding=4), RuntimeError,
     r"size \(-3, -3\), which is too small"),
    (lambda: tt.unfold(x4, 5), RuntimeError, r"unfold: a picture of size \(4, 4\).*smaller"),
    (lambda: tt.unfold(x4.long(), 2), NotImplementedError, "unfold: got .*int64"),
    (lambda: tt.fold(tt.ones(1, 7, 9), 4, 2), RuntimeError,
     r"fold: got input of shape \(1, 7, 9\), expected \(N, C·4, 9\)"),
    (lambda: tt.fold(tt.ones(1, 8, 8), 4, 2), RuntimeError, r"expected \(N, C·4, 9\)"),
    (lambda: tt.max_pool2d(x4, 2, padding=2), RuntimeError, "expected at most half of the window"),
    (lambda: tt.max_pool2d(x4, 5), RuntimeError, r"smaller than a window, of size \(5, 5\)"),
    (lambda: tt.max_pool2d(x4, 2, 0), RuntimeError, "stride 0, expected at least 1"),
    (lambda: tt.max_pool2d(x4 > 0, 2), NotImplementedError, "max_pool2d: got .*bool"),
    (lambda: tt.max_pool2d(x4[0, 0], 2), RuntimeError, r"input of shape \(4, 4\), expected 4"),
    (lambda: tt.avg_pool2d(x4, 2, divisor_override=0), RuntimeError, "divisor_override 0"),
    (lambda: tt.adaptive_avg_pool2d(x4, (1, 2, 3)), RuntimeError, "expected one int or 2"),
    (lambda: tt.adaptive_avg_pool2d(x4, -1), RuntimeError, "expected sizes of at least 0"),
    (lambda: tt.interpolate(x4), ValueError, "either size or scale_factor, and not both"),
    (lambda: tt.interpolate(x4, 2, 2), ValueError, "either size or scale_factor, and not both"),
    (lambda: tt.interpolate(x4, (2, 3, 4)), ValueError, r"size \(2, 3, 4\), expected 2 numbers"),
    (lambda: tt.interpolate(x4, 2, mode="linear"), NotImplementedError,
     r"mode 'linear' for input of shape \(1, 2, 4, 4\), expected nearest, nearest-exact, area"),
    (lambda: tt.interpolate(x4, 2, align_corners=True), ValueError, "takes no align_corners"),
    (lambda: tt.interpolate(x4, 0), RuntimeError, r"become \(0, 0\); expected sizes of at least 1"),
    (lambda: tt.interpolate(x4, 2, recompute_scale_factor=True), ValueError, "needs scale_factor"),
    (lambda: tt.interpolate(x4, 2, antialias=True), ValueError,
     "antialias=True with mode 'nearest', expected bilinear or bicubic"),
    (lambda: tt.pixel_shuffle(x3, 2), RuntimeError, "C a multiple of 4"),
    (lambda: tt.pixel_shuffle(x3, 0), RuntimeError, "upscale_factor 0, expected at least 1"),
    (lambda: tt.pixel_unshuffle(x4, 3), RuntimeError, "H and W multiples of 3"),
    (lambda: tt.channel_shuffle(x4, 3), RuntimeError, "C a multiple of groups"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors(number: int) -> None:
    call, error, message = ERRORS[number]
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("name, dims", [("conv1d", 1), ("conv2d", 2), ("conv3d", 3)])
def test_no_output_channels_are_refused(name: str, dims: int) -> None:
    with pytest.raises(
        RuntimeError, match=rf"{name}: weight \(0, 2, .* has 0 channels in its first"
    ):
        getattr(tt, name)(tt.ones(1, 2, *[4] * dims), tt.ones(0, 2, *[3] * dims))
    y = getattr(tt, name)(tt.ones(1, 0, *[4] * dims), tt.ones(5, 0, *[3] * dims), tt.ones(5))
    assert y.shape == (1, 5, *[2] * dims) and (y == 1).all()  # an empty sum, plus the bias
