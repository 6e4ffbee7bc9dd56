"""Convolution layers beyond the table: how they start, what they refuse, and that they learn."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import nn
import nn.functional as F
import tinytensor as tt

from ..ops.test_table import needs_torch, torch


@pytest.mark.parametrize("layer, fan_in", [
    (lambda: nn.Conv2d(8, 16, 3), 72),
    (lambda: nn.Conv2d(8, 16, 3, groups=4), 18),
    (lambda: nn.ConvTranspose2d(8, 16, 3), 144),  # PyTorch counts the second dimension
    (lambda: nn.Conv1d(8, 16, 5), 40),
])  # fmt: skip
def test_weights_start_uniform(layer: Any, fan_in: int) -> None:
    tt.manual_seed(0)
    module = layer()
    bound = 1 / math.sqrt(fan_in)
    for values in (module.weight.detach().numpy(), module.bias.detach().numpy()):
        assert np.abs(values).max() <= bound and np.abs(values).max() > 0.7 * bound
    assert module.weight.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.1)


def test_device_and_dtype() -> None:
    module = nn.Conv2d(2, 3, 3, device="cpu", dtype=tt.float64)
    assert module.weight.dtype == module.bias.dtype == tt.float64


ERRORS = [
    (lambda: nn.Conv2d(3, 4, 3, groups=2), ValueError, "in_channels=3 is not a multiple of"),
    (lambda: nn.Conv2d(4, 3, 3, groups=2), ValueError, "out_channels=3 is not a multiple"),
    (lambda: nn.Conv2d(4, 4, 3, groups=0), ValueError, "groups=0, expected at least 1"),
    (lambda: nn.Conv2d(3, 4, 3, 2, "same"), ValueError, "padding='same' needs stride 1"),
    (lambda: nn.Conv2d(3, 4, 3, padding="full"), ValueError, "expected ints, 'same' or 'valid'"),
    (lambda: nn.Conv2d(3, 4, 3, padding_mode="wrap"), ValueError, "padding_mode 'wrap', expected"),
    (lambda: nn.ConvTranspose2d(3, 4, 3, padding_mode="reflect"), ValueError, "expected 'zeros'"),
    (lambda: nn.ConvTranspose2d(2, 2, 3, 2)(tt.ones(1, 2, 3, 3), output_size=(9, 7)), ValueError,
     r"ConvTranspose2d: got output_size \(9, 7\), expected \[7, 7\] to \[8, 8\]"),
    (lambda: nn.Conv2d(3, 4, 3)(tt.ones(1, 2, 5, 5)), RuntimeError,
     r"conv2d: input has 2 channels \(shape \(1, 2, 5, 5\)\)"),
    (lambda: nn.Upsample()(tt.ones(1, 1, 2, 2)), ValueError, "either size or scale_factor"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors(number: int) -> None:
    call, error, message = ERRORS[number]
    with pytest.raises(error, match=message):
        call()


def test_upsampling_undoes_pooling_of_constant_blocks() -> None:
    small = tt.randn(2, 3, 4, 4)
    large = nn.Upsample(scale_factor=2)(small)
    for pool in (nn.AvgPool2d(2), nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(4)):
        np.testing.assert_allclose(pool(large).numpy(), small.numpy(), rtol=1e-6)


def test_shuffling_there_and_back() -> None:
    x = tt.randn(2, 8, 3, 3)
    assert tt.equal(nn.PixelUnshuffle(2)(nn.PixelShuffle(2)(x)), x)
    assert tt.equal(nn.ChannelShuffle(4)(nn.ChannelShuffle(2)(x)), x)


class SmallNet(nn.Module):
    """A CNN as people write them for PyTorch."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.head = nn.Linear(16, 2)

    def forward(self, x: Any) -> Any:
        x = self.pool(F.relu(self.bn1(self.conv1(x))))
        x = F.relu(self.conv2(x))
        x = F.adaptive_avg_pool2d(x, (1, 1))
        return self.head(x.view(x.size(0), -1))


def stripes(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Noisy pictures (N, 1, 8, 8) of horizontal (0) or vertical (1) stripes, at random offsets."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 2, count)
    lines = np.sin(np.arange(8) * np.pi / 2 + rng.uniform(0, 6, (count, 1)))  # (N, 8)
    pictures = np.where(kind[:, None, None] == 0, lines[:, :, None], lines[:, None, :])
    return (pictures + rng.normal(0, 0.5, (count, 8, 8)))[:, None].astype(np.float32), kind


def test_a_small_network_learns_stripes() -> None:
    tt.manual_seed(0)
    model = SmallNet()
    optimizer = tt.optim.Adam(model.parameters(), lr=0.01)
    x, target = (tt.tensor(a) for a in stripes(128, 0))
    for _ in range(30):
        loss = F.cross_entropy(model(x), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    x, target = (tt.tensor(a) for a in stripes(200, 1))
    with tt.no_grad():
        accuracy = (model(x).argmax(1) == target).float().mean().item()
    assert accuracy > 0.95


@needs_torch
def test_a_convolutional_autoencoder_equals_pytorchs() -> None:
    def build(package: Any) -> Any:
        return package.Sequential(
            package.Conv2d(1, 4, 3, stride=2, padding=1), package.ReLU(),
            package.Conv2d(4, 8, 3, stride=2, padding=1), package.ReLU(),
            package.ConvTranspose2d(8, 4, 2, stride=2), package.ReLU(),
            package.Upsample(scale_factor=2, mode="bilinear"),
            package.Conv2d(4, 1, 3, padding=1), package.Sigmoid(),
        )  # fmt: skip

    ours, theirs = build(nn), build(torch.nn)
    ours.load_state_dict(theirs.state_dict())
    x = np.random.default_rng(0).normal(size=(2, 1, 8, 8)).astype(np.float32)
    a, b = (ours(tt.tensor(x)) ** 2).mean(), (theirs(torch.tensor(x)) ** 2).mean()
    a.backward()
    b.backward()
    assert a.item() == pytest.approx(b.item(), rel=1e-5)
    for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-4, atol=1e-6)


class Standardised(nn.Conv2d):
    """A layer as programs write it: the layer's own weight, changed, goes through _conv_forward."""

    def forward(self, input: Any) -> Any:
        w = self.weight
        mean, std = w.mean((1, 2, 3), keepdim=True), w.std((1, 2, 3), keepdim=True)
        return self._conv_forward(input, (w - mean) / (std + 1e-5), self.bias)


@needs_torch
@pytest.mark.parametrize("padding, mode", [
    (1, "zeros"), ((2, 1), "circular"), ("same", "reflect"), ("valid", "replicate"),
])  # fmt: skip
def test_conv_forward_with_another_weight(padding: Any, mode: str) -> None:
    tt.manual_seed(0)
    ours = Standardised(4, 6, 3, padding=padding, padding_mode=mode, groups=2).double()
    x = tt.randn(2, 4, 8, 7, dtype=tt.float64, requires_grad=True)
    theirs = torch.nn.Conv2d(4, 6, 3, padding=padding, padding_mode=mode, groups=2).double()
    assert list(theirs._reversed_padding_repeated_twice) == ours._reversed_padding_repeated_twice
    theirs.load_state_dict({k: torch.tensor(v.numpy()) for k, v in ours.state_dict().items()})
    y = torch.tensor(x.detach().numpy(), requires_grad=True)
    expected = Standardised.forward(theirs, y)  # type: ignore[arg-type]
    expected.square().sum().backward()
    out = ours(x)
    out.square().sum().backward()
    np.testing.assert_allclose(out.detach().numpy(), expected.detach().numpy(), atol=1e-12)
    pairs = [(x, y), *zip(ours.parameters(), theirs.parameters(), strict=True)]
    for a, b in pairs:
        assert a.grad is not None
        np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), atol=1e-10)


def test_conv_forward_may_be_overridden() -> None:
    class Doubled(nn.Conv1d):
        def _conv_forward(self, input: Any, weight: Any, bias: Any) -> Any:
            return super()._conv_forward(input, weight * 2, bias)

    layer = Doubled(2, 3, 3, bias=False)
    x = tt.randn(1, 2, 5)
    expected = F.conv1d(x, layer.weight) * 2
    np.testing.assert_allclose(layer(x).detach().numpy(), expected.detach().numpy(), rtol=1e-6)
