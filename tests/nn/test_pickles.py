"""Pickles from before modules moved into nn.models and nn.generation still load."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import nn
import tinytensor as tt

KEPT: dict[str, Any] = {
    "GPT": lambda: nn.GPT(nn.GPTConfig(7, 8, 1, 2, 4)),
    "GPTConfig": lambda: nn.GPTConfig(7),
    "BERT": lambda: nn.BERT(nn.BERTConfig(7, 8, 1, 2, 4)),
    "BERTConfig": lambda: nn.BERTConfig(7),
    "Seq2SeqRNN": lambda: nn.Seq2SeqRNN(7, 7, 4, 4),
    "Mamba": lambda: nn.Mamba(4),
    "DiTBlock": lambda: nn.DiTBlock(4, 2),
    "MixtureOfExperts": lambda: nn.MixtureOfExperts(4, lambda: nn.Linear(4, 4), 2),
    "GraphConvolution": lambda: nn.GraphConvolution(4, 3),
    "KVCache": lambda: nn.KVCache(1, (1, 2, 3, 4)),
    "generate": lambda: nn.generate,
    "beam_search": lambda: nn.beam_search,
}


@pytest.mark.parametrize("name", list(KEPT))
def test_old_module_names(name: str) -> None:
    kept = KEPT[name]()
    now = pickle.dumps(kept, protocol=2)  # which writes names as they are, "cnn.models.gpt\nGPT\n"
    before = now.replace(b"cnn.models.", b"cnn.").replace(b"cnn.generation.", b"cnn.")
    assert before != now
    again = pickle.loads(before)
    assert type(again) is type(kept)
    if isinstance(kept, nn.Module):
        found, expected = again.state_dict(), kept.state_dict()
        assert list(found) == list(expected)
        assert all(tt.equal(found[key], expected[key]) for key in expected)
    elif not isinstance(kept, nn.KVCache):
        assert again == kept
