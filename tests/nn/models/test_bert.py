"""BERT beyond the module table."""

from __future__ import annotations

import numpy as np
import pytest

import nn
import tinytensor as tt

F = nn.functional


def tokens(*shape: int) -> tt.Tensor:
    return tt.tensor(np.random.default_rng(0).integers(0, 12, shape)) + 1


def bert() -> nn.BERT:
    tt.manual_seed(0)
    return nn.BERT(
        nn.BERTConfig(vocab_size=13, block_size=8, n_layer=2, n_head=2, n_embd=8, dropout=0.0)
    )


def test_sees_both_ways_but_no_padding() -> None:
    model = bert().double()
    with tt.no_grad():  # larger weights, so that attention is far from uniform
        for parameter in model.parameters():
            parameter.mul_(8)
    idx = tokens(1, 6)
    before, _ = model(idx)
    changed = idx.clone()
    changed[0, 5] = changed[0, 5] % 12 + 1
    assert (model(changed)[0][0, 0] != before[0, 0]).any()
    padded = F.pad(idx, (0, 2))
    assert (model(padded)[0][:, :6] - before).abs().max() < 1e-12
    other, _ = model(idx, segment=tt.ones_like(idx))
    assert (other - before).abs().max() > 1e-3


def test_shares_its_table_and_scores_masked_tokens_only() -> None:
    model, idx = bert(), tokens(2, 6)
    assert model.head.decoder.weight is model.tokens.weight
    targets = tt.full((2, 6), -100)
    targets[0, 2], targets[1, 4] = 3, 5
    logits, loss = model(idx, targets=targets)
    expected = F.cross_entropy(tt.stack([logits[0, 2], logits[1, 4]]), tt.tensor([3, 5]))
    assert float(loss) == pytest.approx(float(expected), rel=1e-5)
    assert model.encode(idx).shape == (2, 6, 8)
    with pytest.raises(RuntimeError, match="got 9 tokens, expected at most block_size=8"):
        model(tokens(1, 9))
