"""KVCache: keys and values of earlier tokens, so that decoding computes only the new token.

A token's keys and values do not depend on later tokens, so they never need to be recomputed.
"""

from __future__ import annotations

from typing import Any

import tinytensor as tt
from tinytensor.errors import ShapeError
from tinytensor.tensor import Tensor


class LayerCache:
    """Keys and values of one self-attention layer, in preallocated memory."""

    complete = False  # more keys and values will follow

    def __init__(self, shape: tuple, device: Any = None, dtype: Any = None) -> None:
        """shape: (N, heads H, max_len, head width D)."""
        self.keys = tt.zeros(shape, device=device, dtype=dtype)
        self.values = tt.zeros(shape, device=device, dtype=dtype)
        self.length = 0

    def extend(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Append k and v (N, H, T, D); return all keys and values so far, (N, H, length, D)."""
        _refuse_gradient(k, v)
        stop = self.length + k.shape[2]
        if k.shape[0] != self.keys.shape[0] or stop > self.keys.shape[2]:
            raise ShapeError(
                f"KVCache: got a batch of {k.shape[0]} up to position {stop - 1}, expected a batch "
                f"of {self.keys.shape[0]} and at most {self.keys.shape[2]} positions"
            )
        self.keys[:, :, self.length : stop] = k
        self.values[:, :, self.length : stop] = v
        self.length = stop
        return self.keys[:, :, :stop], self.values[:, :, :stop]

    def reorder(self, index: Tensor) -> None:
        """Replace row i by row index[i]; index (M,) may have more or fewer rows than N."""
        keys, values = (x[:, :, : self.length][index] for x in (self.keys, self.values))
        if index.shape[0] != self.keys.shape[0]:
            shape = (index.shape[0], *self.keys.shape[1:])
            self.keys, self.values = self.keys.new_zeros(shape), self.values.new_zeros(shape)
        self.keys[:, :, : self.length] = keys
        self.values[:, :, : self.length] = values


class MemoryCache:
    """Keys and values that one cross-attention layer computes once, from the encoder's output."""

    keys: Tensor  # (N, H, S, D)
    values: Tensor
    complete = False  # True once they are computed

    def extend(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Store k and v (N, H, S, D), and return them."""
        _refuse_gradient(k, v)
        self.keys, self.values, self.complete = k, v, True
        return k, v

    def reorder(self, index: Tensor) -> None:
        """Replace row i by row index[i]."""
        if self.complete:
            self.keys, self.values = self.keys[index], self.values[index]


class KVCache:
    """One LayerCache for each layer of a decoder."""

    def __init__(self, n_layer: int, shape: tuple, device: Any = None, dtype: Any = None) -> None:
        """shape: (N, heads, max_len, head width)."""
        self.layers = [LayerCache(shape, device, dtype) for _ in range(n_layer)]

    @property
    def length(self) -> int:
        """Number of tokens in the cache."""
        return self.layers[0].length

    def truncate(self, length: int) -> None:
        """Keep only the first `length` tokens."""
        for layer in self.layers:
            layer.length = min(layer.length, length)

    def reorder(self, index: Tensor) -> None:
        """Let row i continue the old row index[i], as in beam search."""
        for layer in self.layers:
            layer.reorder(index)


class DecoderCache(KVCache):
    """A KVCache for a decoder that also attends to an encoder's output, the memory."""

    def __init__(self, n_layer: int, shape: tuple, device: Any = None, dtype: Any = None) -> None:
        super().__init__(n_layer, shape, device, dtype)
        self.memories = [MemoryCache() for _ in range(n_layer)]

    def reorder(self, index: Tensor) -> None:
        super().reorder(index)
        for memory in self.memories:
            memory.reorder(index)


def _refuse_gradient(k: Tensor, v: Tensor) -> None:
    if k.requires_grad or v.requires_grad:
        raise RuntimeError(
            "KVCache: got keys that require a gradient, expected none; run the model under "
            "no_grad, or without a cache"
        )


__all__ = ["DecoderCache", "KVCache"]
