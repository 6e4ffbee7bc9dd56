"""NextLogits: next-token logits of growing sequences; and the checks that all generation shares."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, SupportsIndex

import tinytensor as tt
from tinytensor.errors import ShapeError
from tinytensor.tensor import Tensor

from ..module import Module


class NextLogits:
    """Maps growing sequences idx (N, T) to logits (N, V) of their next token.

    With a cache, the model reads only the tokens that are not in it yet. When a sequence outgrows
    block_size, every token shifts to another position and the cache becomes invalid: from then on,
    the model reads the last block_size tokens at each step.
    """

    def __init__(self, model: Any, longest: int, use_cache: bool, block_size: int | None) -> None:
        """longest: the final length of the sequences."""
        self.model = model
        self.block_size = _block_size(model) if block_size is None else block_size
        self.cache_size = longest if self.block_size is None else min(longest, self.block_size)
        self.use_cache = use_cache and hasattr(model, "new_cache")
        self.cache: Any = None

    def __call__(self, idx: Tensor) -> Tensor:
        if self.block_size is not None and idx.shape[1] > self.block_size:
            self.use_cache, self.cache = False, None
            idx = idx[:, -self.block_size :]
        if self.use_cache:
            if self.cache is None:
                self.cache = self.model.new_cache(idx.shape[0], self.cache_size)
            logits = self.model(idx[:, self.cache.length :], cache=self.cache)
        else:
            logits = self.model(idx)
        if isinstance(logits, (tuple, list)):  # (logits, loss)
            logits = logits[0]
        if logits.ndim != 3 or logits.shape[0] != idx.shape[0]:
            raise ShapeError(
                f"generate: the model gave shape {tuple(logits.shape)} for token ids "
                f"{tuple(idx.shape)}, expected logits (N, T, V) of the token after each one"
            )
        return logits[:, -1]  # (N, T, V) → (N, V)

    def reorder(self, index: Tensor) -> None:
        """Let row i continue the old row index[i]."""
        if self.cache is not None:
            self.cache.reorder(index)


def _block_size(model: Any) -> int | None:
    """The longest input of a model, if it or its config has a block_size."""
    for owner in (model, getattr(model, "config", None)):
        size = getattr(owner, "block_size", None)
        if size is not None:
            return size
    return None


def modules_of(model: Any) -> list[Module]:
    """All modules of a model; an empty list for a plain function."""
    return list(model.modules()) if isinstance(model, Module) else []


@contextmanager
def inference(modules: list[Module]) -> Iterator[None]:
    """Turn gradients off and put modules in eval mode; restore both afterwards."""
    in_training = [module for module in modules if module.training]
    for module in in_training:
        module.training = False
    try:
        with tt.no_grad():
            yield
    finally:
        for module in in_training:
            module.training = True


def check_prompt(idx: Tensor, max_new_tokens: int) -> None:
    """Raise an error unless idx is a prompt (N, T) of token ids and max_new_tokens ≥ 0."""
    if not isinstance(idx, Tensor):
        raise TypeError(
            f"generate: idx is a {type(idx).__name__}, expected a tensor of token ids (N, T); "
            "prompts of different lengths need one call each"
        )
    if idx.is_floating_point() or idx.dtype == tt.bool:
        raise TypeError(f"generate: idx is {idx.dtype}, expected integers, the ids of tokens")
    if idx.ndim != 2 or 0 in idx.shape:
        raise ShapeError(
            f"generate: idx has shape {tuple(idx.shape)}, expected (N, T), a prompt of at least "
            "one token in each of at least one row"
        )
    if operator.index(max_new_tokens) < 0:
        raise ValueError(f"generate: got max_new_tokens={max_new_tokens}, expected 0 or more")


def stop_tokens(
    stop: int | Sequence[int] | None, pad: int | None, idx: Tensor
) -> tuple[Tensor, int]:
    """Return the stop tokens (K,) and the filler of ended rows: pad, or the first stop token."""
    ids = [] if stop is None else [stop] if isinstance(stop, SupportsIndex) else list(stop)
    if pad is None:
        pad = ids[0] if ids else 0
    return tt.tensor(ids, dtype=tt.int64, device=idx.device), int(pad)


__all__ = ["NextLogits", "check_prompt", "inference", "modules_of", "stop_tokens"]
