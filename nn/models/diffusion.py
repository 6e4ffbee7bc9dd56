"""Parts of a diffusion transformer (DiT): a transformer over the patches of a noisy image.

The noise level and the prompt condition it through the scales and shifts of its layer norms:

    x = patches(image)                         (N, T, C)
    c = timestep(t) + the prompt's vector      (N, C)
    for block in blocks: x = block(x, c)
    noise = unpatchify(final(x, c), …)         (N, channels, height, width)

Parameters have the names of the DiT paper's code.
"""

from __future__ import annotations

import math
from typing import Any

import tinytensor as tt
from tinytensor.errors import ShapeError
from tinytensor.tensor import Tensor

from .. import functional as F
from .. import init
from ..activation import GELU, SiLU
from ..attention import attend
from ..container import Sequential
from ..convolution import Conv2d
from ..linear import Linear
from ..module import Module
from ..norm import LayerNorm

# ------------------------------------------------------------------------------------------
# Conditioning
# ------------------------------------------------------------------------------------------


def modulate(x: Tensor, shift: Tensor, scale: Tensor) -> Tensor:
    """(1 + scale)·x + shift:  x (N, T, C); shift and scale (N, C), shared by all tokens."""
    return x * (1 + scale.unsqueeze(-2)) + shift.unsqueeze(-2)  # (N, C) → (N, 1, C)


def timestep_embedding(t: Tensor, dim: int, max_period: float = 10000.0) -> Tensor:
    """cos(t·ωᵢ), then sin(t·ωᵢ), with ωᵢ = max_period^(−i / half) for i = 0, …, half − 1

    half = dim // 2; an odd dim is padded with a 0. t (N,), integer or float. Returns (N, dim).
    """
    half = dim // 2
    dtype = t.dtype if t.is_floating_point() else tt.get_default_dtype()
    i = tt.arange(half, dtype=dtype, device=t.device)
    angles = t.to(dtype).unsqueeze(-1) * (i * (-math.log(max_period) / max(1, half))).exp()
    waves = tt.cat([angles.cos(), angles.sin()], dim=-1)  # 2 × (N, half) → (N, 2·half)
    return F.pad(waves, (0, dim % 2))


class TimestepEmbedding(Module):
    """mlp(timestep_embedding(t)): a vector (N, hidden_size) for each time step t (N,)

    mlp: Linear, SiLU, Linear. frequency_embedding_size: width of the timestep embedding.
    """

    def __init__(
        self,
        hidden_size: int,
        frequency_embedding_size: int = 256,
        max_period: float = 10000.0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options: dict[str, Any] = {"device": device, "dtype": dtype}
        self.frequency_embedding_size, self.max_period = frequency_embedding_size, max_period
        self.mlp = Sequential(
            Linear(frequency_embedding_size, hidden_size, **options),
            SiLU(),
            Linear(hidden_size, hidden_size, **options),
        )
        for layer in (self.mlp[0], self.mlp[2]):
            init.normal_(layer.weight, std=0.02)

    def forward(self, t: Tensor) -> Tensor:
        t = t.to(self.mlp[0].weight.dtype)
        return self.mlp(timestep_embedding(t, self.frequency_embedding_size, self.max_period))


class AdaptiveLayerNorm(Module):
    """y = (1 + scale)·n(x) + shift, where (shift, scale) = linear(condition), n the layer norm

    x (N, T, dim), condition (N, cond_dim). linear starts at zero, so that y starts as n(x).

    normalize:  False: n(x) = x; only scale and shift remain
    plus_one:   False: scale·n(x) + shift, the form of the worksheets
    """

    def __init__(
        self,
        dim: int,
        cond_dim: int,
        normalize: bool = True,
        plus_one: bool = True,
        eps: float = 1e-6,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.dim, self.normalize, self.plus_one, self.eps = dim, normalize, plus_one, eps
        self.linear = Linear(cond_dim, 2 * dim, device=device, dtype=dtype)
        zero_(self.linear)

    def forward(self, x: Tensor, condition: Tensor) -> Tensor:
        shift, scale = self.linear(condition).chunk(2, dim=-1)  # (N, 2·C) → 2 × (N, C)
        if self.normalize:
            x = F.layer_norm(x, (self.dim,), eps=self.eps)
        return modulate(x, shift, scale if self.plus_one else scale - 1)

    def extra_repr(self) -> str:
        return f"{self.dim}, normalize={self.normalize}, plus_one={self.plus_one}"


def zero_(layer: Linear) -> None:
    """Set weight and bias of a layer to zero."""
    init.zeros_(layer.weight)
    if layer.bias is not None:
        init.zeros_(layer.bias)


# ------------------------------------------------------------------------------------------
# The block and the final layer
# ------------------------------------------------------------------------------------------


class _SelfAttention(Module):
    """Self-attention without a mask, in num_heads heads: (N, T, C) → (N, T, C)."""

    def __init__(self, dim: int, num_heads: int, **options: Any) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.qkv = Linear(dim, 3 * dim, **options)
        self.proj = Linear(dim, dim, **options)

    def forward(self, x: Tensor) -> Tensor:
        # (N, T, 3·C) → (N, T, 3, H, D) → (3, N, H, T, D)
        qkv = self.qkv(x).unflatten(-1, (3, self.num_heads, -1)).permute(2, 0, 3, 1, 4)
        y, _ = attend(*qkv.unbind())
        return self.proj(y.transpose(1, 2).flatten(2))  # (N, H, T, D) → (N, T, H, D) → (N, T, C)


class _MLP(Module):
    """fc2(gelu(fc1(x)))"""

    def __init__(self, dim: int, hidden: int, **options: Any) -> None:
        super().__init__()
        self.fc1 = Linear(dim, hidden, **options)
        self.act = GELU(approximate="tanh")
        self.fc2 = Linear(hidden, dim, **options)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc2(self.act(self.fc1(x)))


class DiTBlock(Module):
    """x ← x + gate₁·attn(modulate(norm1(x), shift₁, scale₁))
    x ← x + gate₂·mlp(modulate(norm2(x), shift₂, scale₂)),  the six from adaLN_modulation(c)

    x (N, T, hidden_size), c (N, hidden_size). adaLN_modulation, a SiLU and a Linear, starts at
    zero ("adaptive layer norm zero"): both gates are then 0, and the block is the identity.
    mlp_ratio: width of the mlp's hidden layer, relative to hidden_size.
    """

    def __init__(
        self,
        hidden_size: int,
        num_heads: int,
        mlp_ratio: float = 4.0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if hidden_size % num_heads:
            raise ValueError(
                f"DiTBlock: hidden_size={hidden_size} is not divisible by num_heads={num_heads}, "
                "expected heads of equal width"
            )
        options: dict[str, Any] = {"device": device, "dtype": dtype}
        bare: dict[str, Any] = {"elementwise_affine": False, "eps": 1e-6}
        self.norm1 = LayerNorm(hidden_size, **bare)
        self.attn = _SelfAttention(hidden_size, num_heads, **options)
        self.norm2 = LayerNorm(hidden_size, **bare)
        self.mlp = _MLP(hidden_size, int(hidden_size * mlp_ratio), **options)
        self.adaLN_modulation = Sequential(SiLU(), Linear(hidden_size, 6 * hidden_size, **options))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for layer in (self.attn.qkv, self.attn.proj, self.mlp.fc1, self.mlp.fc2):
            init.xavier_uniform_(layer.weight)
            init.zeros_(layer.bias)
        zero_(self.adaLN_modulation[1])

    def forward(self, x: Tensor, c: Tensor) -> Tensor:
        modulation = self.adaLN_modulation(c).chunk(6, dim=-1)  # (N, 6·C) → 6 × (N, C)
        shift1, scale1, gate1, shift2, scale2, gate2 = modulation
        x = x + gate1.unsqueeze(1) * self.attn(modulate(self.norm1(x), shift1, scale1))
        return x + gate2.unsqueeze(1) * self.mlp(modulate(self.norm2(x), shift2, scale2))


class DiTFinalLayer(Module):
    """linear(modulate(norm_final(x), shift, scale)), shift and scale from adaLN_modulation(c)

    x (N, T, hidden_size), c (N, hidden_size) → (N, T, patch_size²·out_channels): the pixels of each
    token's patch; see `unpatchify`. Both layers start at zero, and so does the output.
    """

    def __init__(
        self,
        hidden_size: int,
        patch_size: int,
        out_channels: int,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options: dict[str, Any] = {"device": device, "dtype": dtype}
        self.norm_final = LayerNorm(hidden_size, elementwise_affine=False, eps=1e-6)
        self.linear = Linear(hidden_size, patch_size * patch_size * out_channels, **options)
        self.adaLN_modulation = Sequential(SiLU(), Linear(hidden_size, 2 * hidden_size, **options))
        zero_(self.linear)
        zero_(self.adaLN_modulation[1])

    def forward(self, x: Tensor, c: Tensor) -> Tensor:
        shift, scale = self.adaLN_modulation(c).chunk(2, dim=-1)  # (N, 2·C) → 2 × (N, C)
        return self.linear(modulate(self.norm_final(x), shift, scale))


# ------------------------------------------------------------------------------------------
# Patches
# ------------------------------------------------------------------------------------------


def patchify(x: Tensor, patch_size: int) -> Tensor:
    """(N, channels, height, width) → (N, T, p²·channels): the pixels of each of T patches.

    Patches are in row-major order. Within a patch, the channels of a pixel are adjacent.
    """
    p = patch_size
    if x.ndim != 4 or x.shape[2] % p or x.shape[3] % p:
        raise ShapeError(
            f"patchify: got shape {tuple(x.shape)}, expected (N, channels, height, width) with "
            f"height and width multiples of patch_size={p}"
        )
    samples, channels, height, width = x.shape
    # (N, channels, rows·p, columns·p) → (N, rows, columns, p, p, channels)
    x = x.reshape(samples, channels, height // p, p, width // p, p).permute(0, 2, 4, 3, 5, 1)
    return x.reshape(samples, (height // p) * (width // p), p * p * channels)


def unpatchify(x: Tensor, patch_size: int, height: int, width: int) -> Tensor:
    """(N, T, p²·channels) → (N, channels, height, width): the inverse of `patchify`."""
    p = patch_size
    rows, columns = height // p, width // p
    if x.ndim != 3 or x.shape[1] != rows * columns or x.shape[2] % (p * p):
        raise ShapeError(
            f"unpatchify: got shape {tuple(x.shape)}, expected (N, {rows * columns}, {p * p}·"
            f"channels) for a picture of {height}×{width} in patches of {p}×{p}"
        )
    samples, channels = x.shape[0], x.shape[2] // (p * p)
    # (N, T, p²·channels) → (N, rows, columns, p, p, channels) → (N, channels, rows, p, columns, p)
    x = x.reshape(samples, rows, columns, p, p, channels).permute(0, 5, 1, 3, 2, 4)
    return x.reshape(samples, channels, height, width)


class PatchEmbed(Module):
    """A token for each patch: (N, in_chans, height, width) → (N, T, embed_dim)

    proj, a convolution with stride = kernel size, is a linear layer on each patch.
    """

    def __init__(
        self,
        patch_size: int = 16,
        in_chans: int = 3,
        embed_dim: int = 768,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.patch_size = patch_size
        self.proj = Conv2d(in_chans, embed_dim, patch_size, stride=patch_size, bias=bias,
                           device=device, dtype=dtype)  # fmt: skip
        init.xavier_uniform_(self.proj.weight.data.flatten(1))  # (C, channels, p, p) → (C, …)
        if self.proj.bias is not None:
            init.zeros_(self.proj.bias)

    def forward(self, x: Tensor) -> Tensor:
        if x.ndim != 4 or x.shape[2] % self.patch_size or x.shape[3] % self.patch_size:
            raise ShapeError(
                f"PatchEmbed: got shape {tuple(x.shape)}, expected (N, channels, height, width) "
                f"with height and width multiples of patch_size={self.patch_size}"
            )
        return self.proj(x).flatten(2).transpose(1, 2)  # (N, C, rows, columns) → (N, T, C)


__all__ = [
    "AdaptiveLayerNorm",
    "DiTBlock",
    "DiTFinalLayer",
    "PatchEmbed",
    "TimestepEmbedding",
    "modulate",
    "patchify",
    "timestep_embedding",
    "unpatchify",
]
