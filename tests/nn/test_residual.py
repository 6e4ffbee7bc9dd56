"""The residual forms on the numbers of worksheet 000-residual-block, and what sets them apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nn
import tinytensor as tt
from nn.residual import stacked_features, stacked_weight

# Worksheet 000-residual-block: samples are columns, the last column of a weight is its bias.
X = np.array([[2, 1, 0], [0, 3, 4], [1, 0, 2]])
W1_B1 = np.array([[1, 1, 0, 0], [0, 1, -1, 0], [1, 0, 1, -1]])
W2_B2 = np.array([[0, 0, 1, 0], [-1, 0, 0, 0], [0, -1, 0, 0]])
A1 = [[2, 4, 4], [0, 3, 2], [2, 0, 1]]
F_OF_X = [[2, 0, 1], [-2, -4, -4], [0, -3, -2]]
F_PLUS_X = [[4, 1, 1], [-2, -1, 0], [1, -3, 0]]
OUT = [[4, 1, 1], [0, 0, 0], [1, 0, 0]]
AFTER_ACTIVATION = [[4, 1, 1], [0, 3, 4], [1, 0, 2]]
NO_SKIP = [[2, 0, 1], [0, 0, 0], [0, 0, 0]]
# Worksheet 001-ResidualBlock-code, with the same weights
TWO_SKIPS = [[6, 5, 5], [0, 2, 2], [3, 0, 1]]


def layer(weight_and_bias: np.ndarray) -> nn.Linear:
    """A Linear with the weight and bias of a sheet."""
    weight, bias = weight_and_bias[:, :-1], weight_and_bias[:, -1]
    module = nn.Linear(weight.shape[1], weight.shape[0])
    module.load_state_dict({"weight": tt.tensor(weight).float(), "bias": tt.tensor(bias).float()})
    return module


def columns(x: Any) -> list:
    """Rows of samples, as in nn, written as the sheets do."""
    return x.detach().T.tolist()


@pytest.fixture
def rows() -> tt.Tensor:
    """The sheet's X, samples as rows."""
    return tt.tensor(X.T).float()


def block() -> nn.Sequential:
    return nn.Sequential(layer(W1_B1), nn.ReLU(), layer(W2_B2))


def test_the_block_itself(rows: tt.Tensor) -> None:
    f = block()
    assert columns(f[:2](rows)) == A1
    assert columns(f(rows)) == F_OF_X
    assert columns(f(rows).relu()) == NO_SKIP


def test_addition_before_the_activation(rows: tt.Tensor) -> None:
    assert columns(nn.AddBeforeActivation(block())(rows)) == OUT
    assert columns(nn.AddBeforeActivation(block(), nn.Identity())(rows)) == F_PLUS_X


def test_addition_after_the_activation(rows: tt.Tensor) -> None:
    assert columns(nn.AddAfterActivation(block())(rows)) == AFTER_ACTIVATION


def test_concatenation_makes_the_next_layer_wider(rows: tt.Tensor) -> None:
    y = nn.ConcatenateSkip(block())(rows)
    assert columns(y) == F_OF_X + X.tolist()  # one block of rows above the other
    assert nn.Linear(3 + 3, 2)(y).shape == (3, 2)
    with pytest.raises(RuntimeError, match="linear: input has 6 features"):
        nn.Linear(3, 2)(y)


def test_stacked_matrices(rows: tt.Tensor) -> None:
    f = block()
    stacked = nn.StackedSkip(f[:2], f[2])
    assert columns(stacked(rows)) == OUT
    weight = stacked_weight(f[2].weight, f[2].bias)
    assert weight.tolist() == np.hstack([np.eye(3), W2_B2]).tolist()  # [I | W2 | b2], 3 × 7
    features = stacked_features(tt.tensor(X).float(), tt.tensor(A1).float(), columns=True)
    assert features.tolist() == [*X.tolist(), *A1, [1, 1, 1]]  # [X; A1; 1], 7 × 3
    assert (weight @ features).tolist() == F_PLUS_X
    assert columns(stacked_features(rows, f[:2](rows))) == features.tolist()


def test_two_skips(rows: tt.Tensor) -> None:
    assert columns(nn.TwoSkips(layer(W1_B1), layer(W2_B2))(rows)) == TWO_SKIPS


# ------------------------------------------------------------------------------------------
# The stacked form is addition
# ------------------------------------------------------------------------------------------


def both_forms(values: Any, dtype: Any) -> tuple[list, list]:
    """[y, gradients …] of StackedSkip and AddBeforeActivation with one set of weights."""
    results = []
    for form in ("stacked", "added"):
        rng = np.random.default_rng(0)
        hidden = nn.Sequential(nn.Linear(6, 5, dtype=dtype), nn.ReLU())
        last = nn.Linear(5, 6, dtype=dtype)
        module = (
            nn.StackedSkip(hidden, last)
            if form == "stacked"
            else nn.AddBeforeActivation(nn.Sequential(*hidden, last))
        )
        for p in module.parameters():
            p.data.copy_(tt.tensor(values(rng, tuple(p.shape))))
        x = tt.tensor(values(rng, (7, 6)), dtype=dtype, requires_grad=True)
        y = module(x)
        y.backward(tt.tensor(values(rng, (7, 6)), dtype=dtype))
        results.append([y, x.grad, *(p.grad for p in module.parameters())])
    return results[0], results[1]


@pytest.mark.parametrize("dtype", [tt.float32, tt.float64])
def test_bit_equal_where_nothing_is_rounded(dtype: Any) -> None:
    eighths = lambda rng, shape: rng.integers(-16, 17, shape) / 8  # noqa: E731
    stacked, added = both_forms(eighths, dtype)
    for a, b in zip(stacked, added, strict=True):
        assert tt.equal(a, b)


@pytest.mark.parametrize("dtype, tolerance", [(tt.float32, 1e-5), (tt.float64, 1e-13)])
def test_equal_to_rounding_otherwise(dtype: Any, tolerance: float) -> None:
    stacked, added = both_forms(lambda rng, shape: rng.normal(size=shape), dtype)
    for a, b in zip(stacked, added, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), tolerance, tolerance)


# ------------------------------------------------------------------------------------------
# Properties
# ------------------------------------------------------------------------------------------


def test_the_gradient_has_an_identity_path() -> None:
    """With a block of zeros the gradient passes as it is, through any number of blocks."""
    blocks = [nn.AddBeforeActivation(nn.Linear(3, 3), nn.Identity()) for _ in range(50)]
    net = nn.Sequential(*blocks)
    for p in net.parameters():
        p.data.zero_()
    x = tt.randn(2, 3, requires_grad=True)
    g = tt.randn(2, 3)
    net(x).backward(g)
    assert x.grad is not None and tt.equal(x.grad, g)


def test_before_and_after_differ_where_sums_are_negative(rows: tt.Tensor) -> None:
    before, after = nn.AddBeforeActivation(block())(rows), nn.AddAfterActivation(block())(rows)
    f = block()(rows)
    assert tt.equal((before != after), (f < 0) & (rows > 0))


WIDTHS = [
    (lambda: nn.AddBeforeActivation(nn.Linear(4, 3)), r"AddBeforeActivation: the block returns "
     r"shape \(2, 3\), the skip has \(2, 4\), expected the same"),
    (lambda: nn.AddAfterActivation(nn.Linear(4, 1)), r"AddAfterActivation: .* \(2, 1\), the skip "
     r"has \(2, 4\)"),  # would broadcast
    (lambda: nn.StackedSkip(nn.Linear(4, 5), nn.Linear(5, 3)), "StackedSkip: x has 4 features, "
     "the block returns 3"),
    (lambda: nn.TwoSkips(nn.Linear(4, 5), nn.Linear(5, 4)), r"TwoSkips: the block returns shape "
     r"\(2, 4\), the skip has \(2, 5\)"),
    (lambda: nn.TwoSkips(nn.Linear(4, 5), nn.Linear(5, 5)), r"TwoSkips: .* \(2, 5\), the skip has "
     r"\(2, 4\)"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(WIDTHS)))
def test_different_widths_are_refused(number: int) -> None:
    make, message = WIDTHS[number]
    with pytest.raises(RuntimeError, match=message):
        make()(tt.ones(2, 4))
