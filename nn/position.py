"""Positional encodings: tell attention, which sees a set of tokens, the position of each token.

IntegerPosition, SinusoidalPosition and LearnedPosition add a vector to each token. RotaryPosition
rotates queries and keys. ALiBi adds a bias to the scores.
"""

from __future__ import annotations

import math
from typing import Any

import tinytensor as tt
from tinytensor.errors import ShapeError
from tinytensor.tensor import Tensor

from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter


class _Added(Module):
    """y = x + p(offset), …, p(offset + T − 1): a vector for each position is added to x.

    x (N, T, C), or (T, N, C) if not batch_first, or (T, C). offset: the position of the first
    token, such as the number of tokens in a cache.
    """

    def __init__(self, dropout: float, batch_first: bool) -> None:
        super().__init__()
        self.dropout, self.batch_first = dropout, batch_first

    def vectors(self, start: int, stop: int, like: Tensor) -> Tensor:
        """p(start), …, p(stop − 1) as rows, (stop − start, C) or (stop − start, 1)."""
        raise NotImplementedError(f"{type(self).__name__}: vectors is not implemented")

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        time_last = self.batch_first or x.ndim == 2
        length = x.shape[-2] if time_last else x.shape[0]
        p = self.vectors(offset, offset + length, x)
        if not time_last:
            p = p.unsqueeze(1)  # (T, C) → (T, 1, C)
        return F.dropout(x + p, self.dropout, self.training)

    def _check(self, stop: int, max_len: int) -> None:
        if stop > max_len:
            raise ShapeError(
                f"{type(self).__name__}: got a sequence up to position {stop - 1}, expected at "
                f"most {max_len} positions; make the module with a larger max_len"
            )


class IntegerPosition(_Added):
    """p(t) = scale·t in every component: the baseline that fails.

    The numbers grow with the sequence, drown the tokens they are added to, and at lengths not seen
    in training take values not seen in training.
    """

    def __init__(self, scale: float = 1.0, dropout: float = 0.0, batch_first: bool = True) -> None:
        super().__init__(dropout, batch_first)
        self.scale = scale

    def vectors(self, start: int, stop: int, like: Tensor) -> Tensor:
        t = tt.arange(start, stop, dtype=like.dtype, device=like.device)
        return (t * self.scale).unsqueeze(-1)  # (T,) → (T, 1): the same in every component

    def extra_repr(self) -> str:
        return f"scale={self.scale}"


def sinusoidal_table(length: int, width: int, base: float = 10000.0) -> Tensor:
    """p(t)₂ᵢ = sin(t / base^(2i/width)),  p(t)₂ᵢ₊₁ = cos(t / base^(2i/width)), (length, width)."""
    t = tt.arange(length, dtype=tt.float64).unsqueeze(1)  # (length, 1)
    even = tt.arange(0, width, 2, dtype=tt.float64)  # 2i = 0, 2, 4, …
    angle = t * base ** (-even / width)  # (length, ⌈width / 2⌉)
    table = tt.zeros(length, width, dtype=tt.float64)
    table[:, 0::2] = angle.sin()
    table[:, 1::2] = angle[:, : width // 2].cos()  # an odd width ends with a sine
    return table


class SinusoidalPosition(_Added):
    """p(t)₂ᵢ = sin(t / base^(2i/C)),  p(t)₂ᵢ₊₁ = cos(t / base^(2i/C))

    Waves whose lengths grow from 2π to 2π·base; moving by k positions is the same rotation
    everywhere. d_model: C, even or odd.
    """

    def __init__(
        self,
        d_model: int,
        max_len: int = 5000,
        base: float = 10000.0,
        dropout: float = 0.0,
        batch_first: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(dropout, batch_first)
        self.d_model, self.max_len, self.base = d_model, max_len, base
        table = sinusoidal_table(max_len, d_model, base)
        table = table.to(device=device, dtype=dtype or tt.get_default_dtype())
        self.register_buffer("table", table, persistent=False)

    def vectors(self, start: int, stop: int, like: Tensor) -> Tensor:
        self._check(stop, self.max_len)
        return self.table[start:stop]

    def extra_repr(self) -> str:
        return f"{self.d_model}, max_len={self.max_len}, base={self.base}"


class LearnedPosition(_Added):
    """p(t) = weight[t], learned; weight (max_len, d_model) starts normal with deviation 0.02."""

    def __init__(
        self,
        d_model: int,
        max_len: int,
        dropout: float = 0.0,
        batch_first: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(dropout, batch_first)
        self.d_model, self.max_len = d_model, max_len
        self.weight = Parameter(tt.empty(max_len, d_model, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        init.normal_(self.weight, std=0.02)

    def vectors(self, start: int, stop: int, like: Tensor) -> Tensor:
        self._check(stop, self.max_len)
        return self.weight[start:stop]

    def extra_repr(self) -> str:
        return f"{self.d_model}, max_len={self.max_len}"


class RotaryPosition(Module):
    """Rotate the i-th pair of components of the query or key at position t by θ = t / base^(2i/D).

        (a, b) → (a·cos θ − b·sin θ,  a·sin θ + b·cos θ)

    The product of a query at t with a key at s then depends on positions through t − s only.
    head_dim: D, even. interleaved: pairs are neighbours (0, 1), (2, 3), … as in the paper;
    otherwise (0, D/2), (1, D/2 + 1), … as in Llama and GPT-NeoX.
    """

    def __init__(
        self,
        head_dim: int,
        max_len: int = 4096,
        base: float = 10000.0,
        interleaved: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if head_dim % 2:
            raise ValueError(f"RotaryPosition: got head_dim={head_dim}, expected an even number")
        self.head_dim, self.max_len, self.base = head_dim, max_len, base
        self.interleaved = interleaved
        t = tt.arange(max_len, dtype=tt.float64).unsqueeze(1)  # (max_len, 1)
        even = tt.arange(0, head_dim, 2, dtype=tt.float64)
        angle = t * base ** (-even / head_dim)  # (max_len, D/2)
        dtype = dtype or tt.get_default_dtype()
        cos, sin = angle.cos().to(device=device, dtype=dtype), angle.sin()
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin.to(device=device, dtype=dtype), persistent=False)

    def forward(self, query: Tensor, key: Tensor, offset: int = 0) -> tuple[Tensor, Tensor]:
        """Rotate both: (…, T, D) → (…, T, D).

        offset: the position of the first token, such as the number of keys in a cache.
        """
        return self.rotate(query, offset), self.rotate(key, offset)

    def rotate(self, x: Tensor, offset: int = 0) -> Tensor:
        """Rotate x (…, T, D), with the token in row t at position offset + t."""
        stop = offset + x.shape[-2]
        if x.shape[-1] != self.head_dim or stop > self.max_len:
            raise ShapeError(
                f"RotaryPosition: got shape {tuple(x.shape)} at offset {offset}, expected a last "
                f"dimension of {self.head_dim} and positions below max_len={self.max_len}"
            )
        cos, sin = self.cos[offset:stop], self.sin[offset:stop]  # (T, D/2)
        if self.interleaved:
            a, b = x[..., 0::2], x[..., 1::2]
            turned = tt.stack([a * cos - b * sin, a * sin + b * cos], dim=-1)
            return turned.flatten(-2)  # (…, T, D/2, 2) → (…, T, D)
        a, b = x.chunk(2, dim=-1)  # 2 × (…, T, D/2)
        return tt.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)

    def extra_repr(self) -> str:
        return f"{self.head_dim}, max_len={self.max_len}, base={self.base}"


class ALiBi(Module):
    """bias(h, i, j) = −slopeₕ·|i − j|, added to the scores: far keys count for less.

    slopeₕ = 2^(−8·h/H) for h = 1, …, H, if H is a power of two; otherwise the slopes for the power
    of two below, then every other slope for the power of two above. causal: −inf where j > i.
    """

    def __init__(
        self, num_heads: int, causal: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.num_heads, self.causal = num_heads, causal
        slopes = tt.tensor(self._slopes(num_heads), device=device, dtype=dtype)
        self.register_buffer("slopes", slopes, persistent=False)

    @staticmethod
    def _slopes(count: int) -> list[float]:
        power = 2 ** math.floor(math.log2(count))
        slopes = [2 ** (-8 * h / power) for h in range(1, power + 1)]
        between = [2 ** (-4 * h / power) for h in range(1, 2 * power, 2)]
        return slopes + between[: count - power]

    def forward(self, queries: int, keys: int | None = None) -> Tensor:
        """The bias (num_heads, queries, keys), for use as a floating point `attn_mask`.

        The queries are at the last positions of the keys, as when earlier keys are in a cache.
        """
        keys = queries if keys is None else keys
        device, dtype = self.slopes.device, self.slopes.dtype
        i = tt.arange(keys - queries, keys, device=device, dtype=dtype).unsqueeze(1)  # (L, 1)
        j = tt.arange(keys, device=device, dtype=dtype)  # (S,)
        bias = -(i - j).abs() * self.slopes.reshape(-1, 1, 1)  # (L, S)·(H, 1, 1) → (H, L, S)
        return bias.masked_fill(j > i, -math.inf) if self.causal else bias

    def extra_repr(self) -> str:
        return f"{self.num_heads}, causal={self.causal}"


__all__ = [
    "ALiBi",
    "IntegerPosition",
    "LearnedPosition",
    "RotaryPosition",
    "SinusoidalPosition",
]
