"""The transformer of "Attention is all you need": encoder, decoder, and both together."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import tinytensor as tt
from tinytensor.errors import ShapeError
from tinytensor.tensor import Tensor

from . import functional as F
from . import init
from .attention_masks import as_bias
from .container import ModuleList
from .generation.kv_cache import DecoderCache
from .module import Module
from .norm import LayerNorm
from .transformer_layers import TransformerDecoderLayer, TransformerEncoderLayer


class TransformerEncoder(Module):
    """x ← layer(x) for each of num_layers copies of encoder_layer, then x ← norm(x) if given.

    enable_nested_tensor and mask_check are accepted as in PyTorch, but have no effect.
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = copies(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """src (S, N, E), (N, S, E) if batch_first, or (S, E); the output has the same shape.

        mask: (S, S) or (N·nhead, S, S). src_key_padding_mask: (N, S). As in MultiheadAttention.
        is_causal: a hint that mask is the look-ahead mask; None: check whether it is.
        """
        mask = _as_bias(mask, "mask", src)
        padding = _as_bias(src_key_padding_mask, "src_key_padding_mask", src)
        if is_causal is None:
            is_causal = _is_look_ahead(mask, src, self.layers)
        x = src
        for layer in self.layers:
            x = layer(x, src_mask=mask, is_causal=is_causal, src_key_padding_mask=padding)
        return x if self.norm is None else self.norm(x)


class TransformerDecoder(Module):
    """x ← layer(x, memory) for each of num_layers copies of decoder_layer, then norm if given."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = copies(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
        cache: DecoderCache | None = None,
    ) -> Tensor:
        """tgt (T, N, E), memory (S, N, E), with N first if batch_first → the shape of tgt.

        The masks are those of TransformerDecoderLayer. tgt_is_causal: a hint that tgt_mask is the
        look-ahead mask; None: check whether it is. cache: keys and values of the tokens before tgt;
        those of tgt are added. Needs no_grad.
        """
        tgt_mask = _as_bias(tgt_mask, "tgt_mask", tgt)
        if tgt_is_causal is None:
            tgt_is_causal = _is_look_ahead(tgt_mask, tgt, self.layers)
        options: dict[str, Any] = {
            "tgt_mask": tgt_mask,
            "memory_mask": _as_bias(memory_mask, "memory_mask", tgt),
            "tgt_key_padding_mask": _as_bias(tgt_key_padding_mask, "tgt_key_padding_mask", tgt),
            "memory_key_padding_mask": _as_bias(
                memory_key_padding_mask, "memory_key_padding_mask", tgt
            ),
            "tgt_is_causal": tgt_is_causal,
            "memory_is_causal": memory_is_causal,
        }
        x = tgt
        for i, layer in enumerate(self.layers):
            if cache is not None:
                options["cache"] = cache.layers[i], cache.memories[i]
            x = layer(x, memory, **options)
        return x if self.norm is None else self.norm(x)


class Transformer(Module):
    """decoder(tgt, encoder(src)): the encoder reads a sequence, the decoder continues another.

    Both stacks end with a LayerNorm. The arguments are those of TransformerEncoderLayer;
    custom_encoder and custom_decoder replace a whole stack.
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        layer_settings = (
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first,
            norm_first, bias, device, dtype,
        )  # fmt: skip
        norm_settings = {"eps": layer_norm_eps, "bias": bias, "device": device, "dtype": dtype}
        if custom_encoder is not None:
            self.encoder = custom_encoder
        else:
            encoder_layer = TransformerEncoderLayer(*layer_settings)
            encoder_norm = LayerNorm(d_model, **norm_settings)
            self.encoder = TransformerEncoder(encoder_layer, num_encoder_layers, encoder_norm)
        if custom_decoder is not None:
            self.decoder = custom_decoder
        else:
            decoder_layer = TransformerDecoderLayer(*layer_settings)
            decoder_norm = LayerNorm(d_model, **norm_settings)
            self.decoder = TransformerDecoder(decoder_layer, num_decoder_layers, decoder_norm)
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.ndim > 1:
                init.xavier_uniform_(parameter)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """src (S, N, E), tgt (T, N, E), with N first if batch_first → the shape of tgt.

        tgt_mask is usually the look-ahead mask (see generate_square_subsequent_mask), and
        memory_key_padding_mask the same as src_key_padding_mask. The masks are those of the stacks.
        """
        batch_dim = 0 if self.batch_first else 1
        if src.ndim == 3 and src.shape[batch_dim] != tgt.shape[batch_dim]:
            raise ShapeError(
                f"Transformer: src {tuple(src.shape)} and tgt {tuple(tgt.shape)} differ in "
                f"dimension {batch_dim}, expected the same batch"
            )
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise ShapeError(
                f"Transformer: src has shape {tuple(src.shape)} and tgt {tuple(tgt.shape)}, "
                f"expected a last dimension of d_model={self.d_model}"
            )
        memory = self.encoder(
            src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal
        )
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """The look-ahead mask as numbers: −inf above the diagonal, 0 elsewhere, (sz, sz)."""
        return tt.full((sz, sz), -math.inf, device=device, dtype=dtype).triu(1)


def copies(layer: Module, count: int) -> ModuleList:
    """Independent copies of a layer, which start with the same weights."""
    return ModuleList([copy.deepcopy(layer) for _ in range(count)])


def _as_bias(mask: Tensor | None, name: str, like: Tensor) -> Tensor | None:
    """A mask as numbers to add, computed once for all layers."""
    return None if mask is None else as_bias(mask, name, like)


def _is_look_ahead(mask: Tensor | None, x: Tensor, layers: ModuleList) -> bool:
    """Whether a mask, as numbers, is −inf above the diagonal and 0 elsewhere, for sequences x."""
    if mask is None:
        return False
    batch_comes_first = x.ndim == 3 and layers[0].self_attn.batch_first
    length = x.shape[1 if batch_comes_first else 0]
    if tuple(mask.shape) != (length, length):
        return False
    look_ahead = Transformer.generate_square_subsequent_mask(
        length, device=mask.device, dtype=mask.dtype
    )
    return bool((mask == look_ahead).all())


__all__ = ["Transformer", "TransformerDecoder", "TransformerEncoder"]
