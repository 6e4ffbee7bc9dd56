"""The GPT that the benchmarks train and generate with; the same code runs on both libraries.

`lib` is `torch` or `tinytensor`. The model is GPT-2's (pre-norm, tanh gelu, tied output layer)
without biases, as in nanoGPT. `training_step` and `generation` return a function of no arguments
that does the work once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

VOCABULARY = 65  # characters


@dataclass(frozen=True)
class Setting:
    """The size of a model and of its batches."""

    layers: int = 4
    heads: int = 4
    width: int = 128
    context: int = 64
    batch: int = 12
    dropout: float = 0.0


CONTEXTS = (256, 512, 1024, 2048, 4096)  # of one sequence, for growth.py

SETTINGS = {
    **{f"context-{length}": Setting(context=length, batch=1) for length in CONTEXTS},
    "gpt": Setting(),
    "gpt-512": Setting(context=512, batch=4),
    "gpt-2048": Setting(context=2048, batch=1),
    "gpt-wide": Setting(layers=6, heads=6, width=384, context=256, batch=8),
}


def gpt(lib: Any, setting: Setting) -> Any:
    """The model, with weights from a fixed seed."""
    nn, F = lib.nn, lib.nn.functional

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.qkv = nn.Linear(setting.width, 3 * setting.width, bias=False)
            self.proj = nn.Linear(setting.width, setting.width, bias=False)
            self.drop = nn.Dropout(setting.dropout)

        def forward(self, x: Any, cache: Any = None) -> Any:
            n, t, c = x.shape
            q, k, v = self.qkv(x).split(c, dim=2)  # (N, T, 3·C) → 3 × (N, T, C)
            q, k, v = (
                # (N, T, C) → (N, T, H, D) → (N, H, T, D)
                part.view(n, t, setting.heads, -1).transpose(1, 2)
                for part in (q, k, v)
            )
            past = 0
            if cache is not None:
                past = cache["length"]
                cache["k"][:, :, past : past + t] = k
                cache["v"][:, :, past : past + t] = v
                k, v = cache["k"][:, :, : past + t], cache["v"][:, :, : past + t]
                cache["length"] = past + t
            p = setting.dropout if self.training else 0.0
            y = F.scaled_dot_product_attention(q, k, v, dropout_p=p, is_causal=past == 0)
            y = y.transpose(1, 2).contiguous().view(n, t, c)  # (N, H, T, D) → (N, T, C)
            return self.drop(self.proj(y))

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1 = nn.LayerNorm(setting.width, bias=False)
            self.attention = Attention()
            self.norm2 = nn.LayerNorm(setting.width, bias=False)
            self.fc = nn.Linear(setting.width, 4 * setting.width, bias=False)
            self.gelu = nn.GELU(approximate="tanh")
            self.proj = nn.Linear(4 * setting.width, setting.width, bias=False)
            self.drop = nn.Dropout(setting.dropout)

        def forward(self, x: Any, cache: Any = None) -> Any:
            x = x + self.attention(self.norm1(x), cache)
            return x + self.drop(self.proj(self.gelu(self.fc(self.norm2(x)))))

    class GPT(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens = nn.Embedding(VOCABULARY, setting.width)
            self.positions = nn.Embedding(setting.context, setting.width)
            self.drop = nn.Dropout(setting.dropout)
            self.blocks = nn.ModuleList([Block() for _ in range(setting.layers)])
            self.norm = nn.LayerNorm(setting.width, bias=False)
            self.head = nn.Linear(setting.width, VOCABULARY, bias=False)
            self.head.weight = self.tokens.weight

        def forward(self, idx: Any, targets: Any = None, caches: Any = None) -> Any:
            past = caches[0]["length"] if caches else 0
            positions = lib.arange(past, past + idx.shape[1])
            x = self.drop(self.tokens(idx) + self.positions(positions))
            for i, block in enumerate(self.blocks):
                x = block(x, caches[i] if caches else None)
            logits = self.head(self.norm(x))
            if targets is None:
                return logits
            # (N, T, V) → (N·T, V), (N, T) → (N·T)
            return F.cross_entropy(logits.view(-1, VOCABULARY), targets.view(-1))

    lib.manual_seed(0)
    model = GPT()
    residual = 0.02 / math.sqrt(2 * setting.layers)
    for name, parameter in model.named_parameters():
        if parameter.ndim > 1:
            std = residual if name.endswith("proj.weight") else 0.02
            nn.init.normal_(parameter, std=std)
    return model


def optimizer_for(lib: Any, model: Any) -> Any:
    """AdamW as in nanoGPT: weight decay for matrices only."""
    matrices = [p for p in model.parameters() if p.ndim > 1]
    others = [p for p in model.parameters() if p.ndim <= 1]
    groups = [
        {"params": matrices, "weight_decay": 0.1},
        {"params": others, "weight_decay": 0.0},
    ]
    return lib.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.99))


def training_step(lib: Any, setting: Setting) -> Callable[[], Any]:
    """One step: forward, backward, gradients clipped to norm 1, AdamW. It returns the loss."""
    model = gpt(lib, setting)
    optimizer = optimizer_for(lib, model)
    shape = (setting.batch, setting.context)
    idx = lib.randint(0, VOCABULARY, shape)
    targets = lib.randint(0, VOCABULARY, shape)

    def step() -> Any:
        optimizer.zero_grad(set_to_none=True)
        loss = model(idx, targets)
        loss.backward()
        lib.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.item()

    return step


def generation(lib: Any, setting: Setting, new: int = 256) -> Callable[[], Any]:
    """Greedy generation of `new` tokens with a key-value cache. It returns the tokens.

    tinytensor runs its own GPT, of the same size; PyTorch has none and runs the one above.
    """
    if lib.__name__ == "tinytensor":
        return _own_generation(lib, setting, new)
    return generation_written_out(lib, setting, new)


def _own_generation(lib: Any, setting: Setting, new: int) -> Callable[[], Any]:
    lib.manual_seed(0)
    config = lib.nn.GPTConfig(
        VOCABULARY, setting.context, setting.layers, setting.heads, setting.width, bias=False
    )
    model = lib.nn.GPT(config)
    prompt = lib.zeros((1, 1), dtype=lib.int64)
    return lambda: lib.nn.generate(model, prompt, new)


def generation_written_out(lib: Any, setting: Setting, new: int = 256) -> Callable[[], Any]:
    """The same with the model above, token by token, for either library."""
    model = gpt(lib, setting).eval()
    prompt = lib.zeros((1, 1), dtype=lib.int64)
    shape = (1, setting.heads, setting.context, setting.width // setting.heads)

    def generate() -> Any:
        caches = [{"k": lib.zeros(shape), "v": lib.zeros(shape), "length": 0} for _ in model.blocks]
        token, tokens = prompt, []
        with lib.no_grad():
            for _ in range(new):
                logits = model(token, caches=caches)
                token = logits[:, -1].argmax(dim=-1, keepdim=True)
                tokens.append(token)
        return lib.cat(tokens, dim=1)

    return generate
