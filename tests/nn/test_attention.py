"""Attention beyond the module table: masks, captured weights, conventions, errors."""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np
import pytest

import nn
import tinytensor as tt
from tinytensor.autograd import Node


def normal(*shape: int, seed: int = 0) -> tt.Tensor:
    return tt.tensor(np.random.default_rng(seed).normal(size=shape))


def attention(**options: Any) -> nn.MultiheadAttention:
    tt.manual_seed(0)
    return nn.MultiheadAttention(6, 2, batch_first=True, dtype=tt.float64, **options)


def ops_of(y: tt.Tensor) -> set[str]:
    """Names of the ops that y was made by."""
    names: set[str] = set()
    stack = [y.grad_fn]
    seen: set[Node] = set()
    while stack:
        node = stack.pop()
        if node is not None and node not in seen:
            seen.add(node)
            names.add(type(node).__name__)
            stack += [parent for parent, _ in node.next_functions]
    return names


# ------------------------------------------------------------------------------------------
# Conventions
# ------------------------------------------------------------------------------------------


def test_column_convention_is_the_row_convention_transposed() -> None:
    q, k, v = normal(3, 4, seed=1), normal(5, 4, seed=2), normal(5, 2, seed=3)
    rows = nn.functional.scaled_dot_product_attention(q, k, v)  # (3, 2)
    A = nn.functional.softmax(k @ q.T / 2, dim=0)  # (5, 3), columns sum to 1
    columns = nn.attention_pooling(v.T, A)  # (2, 5)·(5, 3)
    np.testing.assert_allclose(columns.T.numpy(), rows.numpy(), rtol=1e-12)


def test_pooling_mixes_columns() -> None:
    X = tt.tensor([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]])
    A = tt.tensor([[0.5, 0.0], [0.5, 0.0], [0.0, 1.0]])
    assert nn.attention_pooling(X, A).tolist() == [[1.5, 3.0], [15.0, 30.0]]


# ------------------------------------------------------------------------------------------
# Masks
# ------------------------------------------------------------------------------------------


def test_padding_mask_of_lengths() -> None:
    expected = [[False, False, True], [False, False, False], [True, True, True]]
    assert nn.padding_mask(tt.tensor([2, 3, 0])).tolist() == expected
    assert nn.padding_mask(tt.tensor([1]), max_length=3).tolist() == [[False, True, True]]


def test_padding_mask_of_ids() -> None:
    ids = tt.tensor([[5, 7, 0], [0, 1, 2]])
    assert nn.padding_mask(ids, 0).tolist() == [[False, False, True], [True, False, False]]


def test_look_ahead_mask() -> None:
    expected = [[False, True, True], [False, False, True], [False, False, False]]
    assert nn.look_ahead_mask(3).tolist() == expected


def test_combined_mask_is_both_masks_at_once() -> None:
    module, x = attention(), normal(2, 3, 6)
    padding, look_ahead = nn.padding_mask(tt.tensor([2, 3])), nn.look_ahead_mask(3)
    assert nn.combined_mask(padding, look_ahead).shape == (2, 3, 3)
    together = nn.combined_mask(padding, look_ahead, num_heads=2)
    a, _ = module(x, x, x, attn_mask=together)
    b, _ = module(x, x, x, attn_mask=look_ahead, key_padding_mask=padding)
    assert (a - b).abs().max() < 1e-14


@pytest.mark.parametrize("need_weights", [True, False])
def test_a_query_that_may_attend_to_nothing_gets_zeros(need_weights: bool) -> None:
    """PyTorch gives NaN here."""
    module, x = attention(), normal(2, 3, 6).requires_grad_()
    hidden = tt.tensor([[True, True, True], [False, False, False]])
    y, weights = module(x, x, x, key_padding_mask=hidden, need_weights=need_weights)
    np.testing.assert_allclose(y[0].detach().numpy(), [module.out_proj.bias.tolist()] * 3)
    y.sum().backward()
    assert x.grad is not None and x.grad.isfinite().all()
    assert not x.grad[0].any()
    if need_weights:
        assert not weights[0].any()


def test_mask_that_is_a_tracked_tensor_gets_a_gradient() -> None:
    module, x = attention(), normal(2, 3, 6)
    mask = tt.zeros(3, 3, dtype=tt.float64, requires_grad=True)
    y, _ = module(x, x, x, attn_mask=mask, need_weights=False)
    (y * normal(2, 3, 6, seed=1)).sum().backward()
    assert mask.grad is not None and mask.grad.abs().min() > 0


# ------------------------------------------------------------------------------------------
# Weights and their gradients
# ------------------------------------------------------------------------------------------


class Two(nn.Module):
    """Two attention layers, one of them called twice."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([attention(), attention()])

    def forward(self, x: tt.Tensor) -> tt.Tensor:
        x, _ = self.layers[0](x, x, x, need_weights=False)
        x, _ = self.layers[1](x, x, x, need_weights=False)
        x, _ = self.layers[1](x, x, x, need_weights=False)
        return x


def test_capture_collects_weights_by_path_and_call() -> None:
    model, x = Two(), normal(2, 3, 6)
    expected = model(x)
    with nn.capture_attention() as maps:
        y = model(x)
    assert {path: len(calls) for path, calls in maps.items()} == {
        "Two.layers.0": 1,
        "Two.layers.1": 2,
    }
    np.testing.assert_allclose(y.detach().numpy(), expected.detach().numpy(), rtol=1e-12)
    _, weights = model.layers[0](x, x, x, average_attn_weights=False)
    np.testing.assert_allclose(maps["Two.layers.0"][0].tolist(), weights.tolist(), rtol=1e-12)
    model(x)
    assert len(maps["Two.layers.0"]) == 1  # nothing comes after the block


def test_captured_weights_have_gradients() -> None:
    """dL/dA against a change of A, put through the rest of the layer by hand."""
    module, x, seed = attention(), normal(1, 3, 6), normal(1, 3, 6, seed=1)
    with nn.capture_attention() as maps:
        y, _ = module(x, x, x, need_weights=False)
    (y * seed).sum().backward()
    (A,) = maps["MultiheadAttention"]
    assert A.shape == (1, 2, 3, 3)
    _, _, value = nn.functional.linear(x, module.in_proj_weight, module.in_proj_bias).chunk(3, -1)
    v = value.reshape(1, 3, 2, 3).transpose(1, 2)  # (1, 2, 3, 3)
    g = (seed @ module.out_proj.weight).reshape(1, 3, 2, 3).transpose(1, 2)
    np.testing.assert_allclose(A.grad.numpy(), (g @ v.mT).detach().numpy(), rtol=1e-10)


def test_capture_costs_nothing_when_unused() -> None:
    module, x = attention(), normal(1, 3, 6)
    y, _ = module(x, x, x, need_weights=False)
    assert "Attention" in ops_of(y) and "AttentionWeights" not in ops_of(y)
    with nn.capture_attention():
        y, _ = module(x, x, x, need_weights=False)
    assert "AttentionWeights" in ops_of(y)


def test_capture_under_no_grad_nested_and_after_an_error() -> None:
    module, x = attention(), normal(1, 3, 6)
    with nn.capture_attention() as outer, tt.no_grad():
        module(x, x, x)
        with nn.capture_attention() as inner:
            module(x, x, x)
        with pytest.raises(ZeroDivisionError), nn.capture_attention():
            raise ZeroDivisionError
        module(x, x, x)
    assert len(outer["MultiheadAttention"]) == 2
    assert len(inner["MultiheadAttention"]) == 1
    assert not outer["MultiheadAttention"][0].requires_grad


def test_capture_sees_its_own_thread_only() -> None:
    module, x = attention(), normal(1, 3, 6)
    with nn.capture_attention() as maps:
        other = threading.Thread(target=module, args=(x, x, x))
        other.start()
        other.join()
    assert maps == {}


def test_captured_weights_are_those_before_dropout() -> None:
    module, x = attention(dropout=0.5), normal(4, 3, 6)
    with nn.capture_attention() as maps:
        _, dropped = module(x, x, x, average_attn_weights=False)
    (A,) = maps["MultiheadAttention"]
    assert (A.sum(-1) - 1).abs().max() < 1e-12
    kept = dropped != 0
    assert 0 < kept.double().mean() < 1
    assert (dropped - 2 * A)[kept].abs().max() < 1e-12
    module.eval()
    _, weights = module(x, x, x, average_attn_weights=False)
    assert (weights - A).abs().max() < 1e-12


# ------------------------------------------------------------------------------------------
# Additive attention
# ------------------------------------------------------------------------------------------


def test_additive_attention_is_its_formula() -> None:
    tt.manual_seed(0)
    module = nn.AdditiveAttention(3, 4, 5, dtype=tt.float64)
    query, key, value = normal(2, 3, 3), normal(2, 4, 4, seed=1), normal(2, 4, 2, seed=2)
    y, weights = module(query, key, value)
    Wq, Wk = module.query_proj.weight.data.numpy(), module.key_proj.weight.data.numpy()
    v = module.score.weight.data.numpy()[0]
    for n in range(2):
        for i in range(3):
            scores = [v @ np.tanh(Wq @ query[n, i].numpy() + Wk @ k) for k in key[n].numpy()]
            a = np.exp(scores) / np.exp(scores).sum()
            np.testing.assert_allclose(weights[n, i].tolist(), a, rtol=1e-10)
            np.testing.assert_allclose(y[n, i].tolist(), a @ value[n].numpy(), rtol=1e-10)


def test_additive_attention_with_one_query_and_padding() -> None:
    tt.manual_seed(0)
    module = nn.AdditiveAttention(3, 4, 5, dtype=tt.float64)
    query, key = normal(2, 3).requires_grad_(), normal(2, 4, 4, seed=1)
    padding = nn.padding_mask(tt.tensor([2, 0]), max_length=4)
    y, weights = module(query, key, key_padding_mask=padding)
    assert y.shape == (2, 4) and weights.shape == (2, 4)
    shorter, _ = module(query, key[:, :2])
    np.testing.assert_allclose(y[0].tolist(), shorter[0].tolist(), rtol=1e-12)
    assert not y[1].any() and not weights[1].any()
    y.sum().backward()
    assert query.grad is not None and query.grad[0].any() and not query.grad[1].any()
    with nn.capture_attention() as maps:
        module(query, key)
    assert maps["AdditiveAttention"][0].shape == (2, 1, 4)


# ------------------------------------------------------------------------------------------
# Start and errors
# ------------------------------------------------------------------------------------------


def test_weights_start_as_in_pytorch() -> None:
    tt.manual_seed(0)
    module = nn.MultiheadAttention(32, 4, add_bias_kv=True)
    bound = math.sqrt(6 / (32 + 96))
    assert 0.95 * bound < module.in_proj_weight.abs().max() <= bound
    assert not module.in_proj_bias.any() and not module.out_proj.bias.any()
    assert 0 < module.out_proj.weight.abs().max() <= 1 / math.sqrt(32)
    assert module.bias_k is not None and module.bias_k.std() > 0


X = tt.zeros(2, 3, 6, dtype=tt.float64)


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: nn.MultiheadAttention(5, 2), AssertionError, ["5", "2", "divisible"]),
        (lambda: nn.MultiheadAttention(0, 2), ValueError, ["embed_dim=0", "greater than 0"]),
        (lambda: attention()(X[0, 0], X[0, 0], X[0, 0]), RuntimeError, ["query", "(6,)"]),
        (lambda: attention()(X, X[0], X[0]), RuntimeError, ["key", "(3, 6)", "3 dimensions"]),
        (lambda: attention()(X, X[..., :4], X), RuntimeError, ["key", "(2, 3, 4)", "size 6"]),
        (lambda: attention()(X, X[:1], X[:1]), RuntimeError, ["key", "(1, 3, 6)", "batch"]),
        (lambda: attention()(X, X, X[:, :2]), RuntimeError, ["differ in length"]),
        (lambda: attention()(X, X, X, attn_mask=tt.zeros(2, 3, dtype=tt.bool)), RuntimeError,
         ["attn_mask", "(2, 3)", "(3, 3)", "(4, 3, 3)"]),
        (lambda: attention()(X, X, X, key_padding_mask=tt.zeros(3, 3, dtype=tt.bool)),
         RuntimeError, ["key_padding_mask", "(3, 3)", "(2, 3)"]),
        (lambda: attention()(X, X, X, attn_mask=tt.zeros(3, 3, dtype=tt.int64)), AssertionError,
         ["attn_mask", "int64", "bool"]),
        (lambda: attention()(X, X, X, is_causal=True), RuntimeError, ["is_causal", "attn_mask"]),
        (lambda: nn.attention_pooling(X[0], X[0]), RuntimeError, ["attention_pooling", "(3, 6)"]),
        (lambda: nn.padding_mask(tt.zeros(2, 2, dtype=tt.int64)), RuntimeError,
         ["padding_mask", "(2, 2)", "pad="]),
    ],
)  # fmt: skip
def test_errors_say_what_was_got_and_expected(call: Any, error: type, words: list) -> None:
    with pytest.raises(error) as caught:
        call()
    for word in words:
        assert word in str(caught.value)
