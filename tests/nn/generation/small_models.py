"""Small models and prompts to generate from."""

from __future__ import annotations

from typing import Any

import numpy as np

import nn
import tinytensor as tt

V = 11  # the vocabulary of the models here


def gpt(seed: int = 0, **options: Any) -> nn.GPT:
    """A small GPT, with weights large enough that rounding does not change the next token."""
    tt.manual_seed(seed)
    settings = {"vocab_size": V, "block_size": 12, "n_layer": 2, "n_head": 2, "n_embd": 8}
    return sharpen(nn.GPT(nn.GPTConfig(**{**settings, **options})))


def translator(seed: int = 0, **options: Any) -> nn.Seq2SeqTransformer:
    tt.manual_seed(seed)
    sizes = {"d_model": 8, "nhead": 2, "num_encoder_layers": 1, "num_decoder_layers": 2}
    settings = {**sizes, "dim_feedforward": 16, "max_len": 16, "pad": 0, "dtype": tt.float64}
    return nn.Seq2SeqTransformer(13, V, **{**settings, **options})


def sharpen(model: Any) -> Any:
    with tt.no_grad():
        for parameter in model.parameters():
            parameter.mul_(8)
    return model


def tokens(*shape: int, high: int = V, seed: int = 0) -> tt.Tensor:
    return tt.tensor(np.random.default_rng(seed).integers(0, high, shape))


def sources() -> tt.Tensor:
    src = tokens(3, 6, high=12) + 1
    src[1, 4:] = 0  # padding
    return src


def uniforms(*shape: int) -> np.ndarray:
    return np.random.default_rng(7).random(shape)


def markov(logits: Any) -> Any:
    """A model whose next token depends only on the last one: logits (V, V)."""
    table = tt.tensor(logits, dtype=tt.float64)
    return lambda idx: table[idx]  # (N, T) → (N, T, V)
