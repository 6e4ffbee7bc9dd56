"""Old module names, for pickles that contain them: a pickle stores the module of each class."""

from __future__ import annotations

import sys

from .generation import beam_search, generate, kv_cache, sampling
from .models import bert, diffusion, experts, gpt, graph_conv, mamba, seq2seq, seq2seq_rnn

_MOVED = (
    bert, diffusion, experts, gpt, graph_conv, mamba, seq2seq, seq2seq_rnn,
    beam_search, generate, kv_cache, sampling,
)  # fmt: skip


def register_old_names() -> None:
    """Let pickle find nn.models.gpt as nn.gpt, nn.generation.kv_cache as nn.kv_cache, and so on."""
    for module in _MOVED:
        package, _, name = module.__name__.rsplit(".", 2)
        sys.modules[f"{package}.{name}"] = module


__all__ = ["register_old_names"]
