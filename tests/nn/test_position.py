"""Positions: their formulas, offsets, and what they are for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import nn
import tinytensor as tt


def normal(*shape: int, seed: int = 0) -> tt.Tensor:
    return tt.tensor(np.random.default_rng(seed).normal(size=shape))


@pytest.mark.parametrize("width", [1, 4, 7])
@pytest.mark.parametrize("base", [10000.0, 100.0])
def test_sinusoidal_is_its_formula(width: int, base: float) -> None:
    module = nn.SinusoidalPosition(width, max_len=6, base=base, dtype=tt.float64)
    found = module(tt.zeros(1, 6, width, dtype=tt.float64))[0]
    for t in range(6):
        for c in range(width):
            angle = t / base ** ((c - c % 2) / width)
            expected = math.cos(angle) if c % 2 else math.sin(angle)
            assert float(found[t, c]) == pytest.approx(expected, abs=1e-12)


def test_integer_position_adds_the_index() -> None:
    x = normal(2, 3, 4)
    found = nn.IntegerPosition(scale=0.5)(x) - x
    np.testing.assert_allclose(found.numpy(), np.broadcast_to([[0], [0.5], [1]], (2, 3, 4)))


MODULES = {
    "integer": lambda **options: nn.IntegerPosition(**options),
    "sinusoidal": lambda **options: nn.SinusoidalPosition(4, 10, **options).double(),
    "learned": lambda **options: nn.LearnedPosition(4, 10, **options).double(),
}


@pytest.mark.parametrize("name", MODULES)
def test_offset_and_layout(name: str) -> None:
    tt.manual_seed(0)
    x = normal(2, 5, 4)
    module = MODULES[name]().requires_grad_(False)
    whole = module(x)
    np.testing.assert_array_equal(module(x[:, 3:], offset=3).numpy(), whole[:, 3:].numpy())
    np.testing.assert_array_equal(module(x[0]).numpy(), whole[0].numpy())
    module.batch_first = False
    np.testing.assert_array_equal(module(x.transpose(0, 1)).numpy(), whole.transpose(0, 1).numpy())


@pytest.mark.parametrize("name", MODULES)
def test_dropout_in_training_only(name: str) -> None:
    tt.manual_seed(0)
    module, x = MODULES[name](dropout=0.5), normal(2, 5, 4)
    assert (module(x) == 0).any()
    module.eval()
    assert not (module(x) == 0).any()


def test_tables_are_not_saved_but_move() -> None:
    for module in (nn.SinusoidalPosition(4), nn.RotaryPosition(4), nn.ALiBi(4)):
        assert not module.state_dict()
        module.double()
        assert all(buffer.dtype == tt.float64 for buffer in module.buffers())


@pytest.mark.parametrize("interleaved", [False, True])
def test_rotary_turns_pairs(interleaved: bool) -> None:
    """As a product of complex numbers (a + ib)·exp(iθ)."""
    module = nn.RotaryPosition(6, 8, base=100.0, interleaved=interleaved, dtype=tt.float64)
    x = normal(2, 3, 5, 6)
    found = module.rotate(x, offset=2).numpy()
    theta = np.arange(2, 7)[:, None] * 100.0 ** (-np.arange(0, 6, 2) / 6)
    if interleaved:
        first, second = np.s_[..., 0::2], np.s_[..., 1::2]
    else:
        first, second = np.s_[..., :3], np.s_[..., 3:]
    z = (x.numpy()[first] + 1j * x.numpy()[second]) * np.exp(1j * theta)
    np.testing.assert_allclose(found[first], z.real, atol=1e-12)
    np.testing.assert_allclose(found[second], z.imag, atol=1e-12)


def test_rotary_products_depend_on_distance_only() -> None:
    module = nn.RotaryPosition(8, 64, dtype=tt.float64)
    q, k = normal(8, seed=1).expand(20, 8), normal(8, seed=2).expand(20, 8)
    here = [(a @ b.T).numpy() for a, b in (module(q, k), module(q, k, offset=30))]
    np.testing.assert_allclose(here[0], here[1], atol=1e-12)
    diagonals = [np.diag(here[0], d) for d in range(-5, 6)]
    assert all(np.ptp(diagonal) < 1e-12 for diagonal in diagonals)
    assert np.ptp([diagonal[0] for diagonal in diagonals]) > 0.1


@pytest.mark.parametrize(
    "heads, slopes",
    [
        (1, [2**-8]),
        (2, [2**-4, 2**-8]),
        (8, [2**-1, 2**-2, 2**-3, 2**-4, 2**-5, 2**-6, 2**-7, 2**-8]),
        (3, [2**-4, 2**-8, 2**-2]),
        (6, [2**-2, 2**-4, 2**-6, 2**-8, 2**-1, 2**-3]),
    ],
)
def test_alibi_slopes_are_the_papers(heads: int, slopes: list) -> None:
    assert nn.ALiBi(heads).slopes.tolist() == slopes


def test_alibi_bias() -> None:
    bias = nn.ALiBi(2)(3)
    expected = np.array([[0, -np.inf, -np.inf], [-1, 0, -np.inf], [-2, -1, 0]])
    np.testing.assert_array_equal(bias.numpy(), np.stack([expected / 16, expected / 256]))
    later = nn.ALiBi(2)(1, 3)  # the last query of three
    np.testing.assert_array_equal(later.numpy(), bias[:, 2:].numpy())
    both_ways = nn.ALiBi(1, causal=False)(3)
    assert (both_ways == both_ways.mT).all()
    q = normal(2, 2, 3, 4).float()
    y = nn.functional.scaled_dot_product_attention(q, q, q, attn_mask=bias)
    assert y.shape == (2, 2, 3, 4)


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: nn.SinusoidalPosition(4, 5)(tt.zeros(1, 6, 4)), RuntimeError,
         ["SinusoidalPosition", "position 5", "5 positions", "max_len"]),
        (lambda: nn.LearnedPosition(4, 5)(tt.zeros(1, 2, 4), offset=4), RuntimeError,
         ["LearnedPosition", "position 5", "5 positions"]),
        (lambda: nn.RotaryPosition(5), ValueError, ["head_dim=5", "even"]),
        (lambda: nn.RotaryPosition(4, 3).rotate(tt.zeros(4, 4)), RuntimeError,
         ["(4, 4)", "max_len=3"]),
    ],
)  # fmt: skip
def test_errors(call: Any, error: type, words: list) -> None:
    with pytest.raises(error) as caught:
        call()
    for word in words:
        assert word in str(caught.value)
