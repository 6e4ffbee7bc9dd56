"""GPT with its cache, beyond the module table."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import nn
import tinytensor as tt

F = nn.functional


def gpt(**options: Any) -> nn.GPT:
    tt.manual_seed(0)
    settings = {"vocab_size": 13, "block_size": 16, "n_layer": 2, "n_head": 2, "n_embd": 8}
    return nn.GPT(nn.GPTConfig(**{**settings, **options}))


def tokens(*shape: int, high: int = 13, seed: int = 0) -> tt.Tensor:
    return tt.tensor(np.random.default_rng(seed).integers(0, high, shape))


def sharpen(model: nn.Module) -> None:
    """Larger weights, so that attention is far from uniform and errors would show."""
    with tt.no_grad():
        for parameter in model.parameters():
            parameter.mul_(8)


def test_weights_start_as_in_gpt2() -> None:
    model = gpt(vocab_size=200, n_layer=8, n_embd=64)
    residual = 0.02 / math.sqrt(16)
    for path, parameter in model.named_parameters():
        if path.endswith("bias"):
            assert not parameter.any(), path
        elif "norm" in path:
            assert (parameter == 1).all(), path
        else:
            std = residual if path.endswith("proj.weight") else 0.02
            assert float(parameter.std()) == pytest.approx(std, rel=0.1), path


def test_tied_weights_are_one_parameter() -> None:
    model, apart = gpt(), gpt(tie_weights=False)
    assert model.head.weight is model.tokens.weight
    paths = [path for path, _ in model.named_parameters()]
    assert "tokens.weight" in paths and "head.weight" not in paths
    count = [sum(p.numel() for p in m.parameters()) for m in (model, apart)]
    assert count[1] - count[0] == 13 * 8
    idx = tokens(2, 5)
    _, loss = model(idx, idx)
    loss.backward()
    assert model.tokens.weight.grad is not None and model.tokens.weight.grad.any()


def test_loss_starts_at_chance_and_leaves_out_minus_one() -> None:
    model, idx = gpt(), tokens(4, 10)
    targets = tokens(4, 10, seed=1)
    logits, loss = model(idx, targets)
    assert logits.shape == (4, 10, 13)
    assert float(loss) == pytest.approx(math.log(13), abs=0.05)
    targets[:, 5:] = -1
    _, part = model(idx, targets)
    expected = F.cross_entropy(logits[:, :5].reshape(-1, 13), targets[:, :5].reshape(-1))
    assert float(part) == pytest.approx(float(expected), rel=1e-5)
    assert model(idx)[1] is None


@pytest.mark.parametrize("position", ["learned", "rotary"])
def test_no_token_sees_those_after_it(position: str) -> None:
    model, idx = gpt(position=position), tokens(2, 8)
    sharpen(model)
    before, _ = model(idx)
    idx[:, 5] = (idx[:, 5] + 1) % 13
    after, _ = model(idx)
    assert (before[:, :5] == after[:, :5]).all()
    assert (before[:, 5:] != after[:, 5:]).any()


@pytest.mark.parametrize("position", ["learned", "rotary"])
def test_order_of_tokens_matters(position: str) -> None:
    """Without positions, the last token would see a set."""
    model, idx = gpt(position=position, n_layer=1), tokens(1, 6)
    sharpen(model)
    swapped = idx[:, [1, 0, 2, 3, 4, 5]]
    assert (model(idx)[0][0, -1] - model(swapped)[0][0, -1]).abs().max() > 1e-4


PIECES = {
    "one by one": [1] * 10,
    "prompt, then one by one": [6, 1, 1, 1, 1],
    "in pieces": [3, 4, 1, 2],
    "all at once": [10],
}


@pytest.mark.parametrize("pieces", PIECES.values(), ids=PIECES)
@pytest.mark.parametrize("position", ["learned", "rotary"])
def test_cache_changes_nothing(position: str, pieces: list) -> None:
    model, idx = gpt(position=position).eval(), tokens(3, 10)
    sharpen(model)
    with tt.no_grad():
        expected, _ = model(idx)
        cache = model.new_cache(3)
        found, start = [], 0
        for size in pieces:
            logits, _ = model(idx[:, start : start + size], cache=cache)
            assert logits.shape == (3, size, 13) and logits.dtype == tt.float32
            found.append(logits)
            start += size
    assert cache.length == 10
    scale = float(expected.abs().max())
    assert (tt.cat(found, dim=1) - expected).abs().max() <= 1e-6 * scale


def test_cache_is_set_aside_once() -> None:
    model = gpt().eval()
    cache = model.new_cache(2, max_len=6)
    memory = [layer.keys.data_ptr() for layer in cache.layers]
    with tt.no_grad():
        for _ in range(6):
            model(tokens(2, 1), cache=cache)
    assert [layer.keys.data_ptr() for layer in cache.layers] == memory
    assert cache.layers[0].keys.shape == (2, 2, 6, 4)


def test_cache_rows_can_be_reordered_and_cut() -> None:
    model, idx = gpt().eval(), tokens(3, 6)
    sharpen(model)
    order = [2, 0, 2]
    with tt.no_grad():
        cache = model.new_cache(3)
        model(idx[:, :5], cache=cache)
        cache.reorder(tt.tensor(order))
        found, _ = model(idx[:, 5:], cache=cache)
        rows = tt.cat([idx[order, :5], idx[:, 5:]], dim=1)
        expected, _ = model(rows)
        assert (found[:, 0] - expected[:, 5]).abs().max() < 1e-5
        cache.truncate(3)
        again, _ = model(rows[:, 3:], cache=cache)
        assert tt.allclose(again, expected[:, 3:], rtol=1e-5, atol=1e-5)  # logits reach 10


def test_weights_can_be_captured() -> None:
    model, idx = gpt(), tokens(2, 5)
    with nn.capture_attention() as maps:
        _, loss = model(idx, idx)
    loss.backward()
    assert list(maps) == ["GPT.blocks.0.attn", "GPT.blocks.1.attn"]
    (A,) = maps["GPT.blocks.1.attn"]
    assert A.shape == (2, 2, 5, 5) and not A.triu(1).any()
    assert A.grad is not None and A.grad.any()


def test_gpt_learns() -> None:
    model = gpt(n_embd=16)
    text = tokens(4, 12)
    optimizer = tt.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(60):
        _, loss = model(text[:, :-1], text[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert float(loss) < 0.5


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: gpt(n_head=3), ValueError, ["n_embd=8", "n_head=3"]),
        (lambda: gpt(position="none"), ValueError, ["'none'", "'rotary'"]),
        (lambda: gpt()(tokens(1, 17)), RuntimeError, ["17", "block_size=16"]),
        (lambda: with_cache(1, 4, grad=True), RuntimeError, ["KVCache", "no_grad"]),
        (lambda: with_cache(2, 4), RuntimeError, ["batch of 2", "batch of 1"]),
        (lambda: with_cache(1, 6), RuntimeError, ["position 5", "at most 5"]),
    ],
)
def test_errors_say_what_was_got_and_expected(call: Any, error: type, words: list) -> None:
    with pytest.raises(error) as caught:
        call()
    for word in words:
        assert word in str(caught.value)


def with_cache(rows: int, length: int, grad: bool = False) -> None:
    model = gpt()
    with tt.set_grad_enabled(grad):
        model(tokens(rows, length), cache=model.new_cache(1, max_len=5))
