"""Seq2SeqRNN: a recurrent encoder-decoder for translation, with or without attention.

The encoder reads the source in both directions. Without attention, the decoder gets only its last
states, one vector of fixed size for every sentence, which is too little for long ones. With
attention, the decoder takes a weighted average of all encoder states at every step.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import tinytensor as tt
from tinytensor.errors import ShapeError
from tinytensor.tensor import Tensor
from tinytensor.utils.attention_capture import record

from .. import functional as F
from ..attention import AdditiveAttention, masked_softmax
from ..attention_masks import padding_mask
from ..linear import Embedding, Linear
from ..module import Module
from ..recurrent import GRU, LSTM, GRUCell, LSTMCell
from ..utils.rnn import pack_padded_sequence, pad_packed_sequence

State = tuple[Tensor, ...]  # the decoder's: (h,), or (h, c) for an LSTM; each (N, H)


class Memory(NamedTuple):
    """The encoded source, as the decoder reads it."""

    values: Tensor  # the encoder's states at all steps, both directions concatenated, (N, S, 2·H)
    summary: Tensor  # its last states of both directions, (N, 2·H)
    keys: Tensor | None  # attention.key_proj(values), (N, S, H)
    padding: Tensor | None  # True where the source is padding, (N, S)


class _Attention(AdditiveAttention):
    """AdditiveAttention for one query (N, query_dim) and keys that are already projected.

    The projected keys are the same at every step of the decoder.
    """

    def forward(  # type: ignore[override]
        self, query: Tensor, keys: Tensor, values: Tensor, padding: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """(Σ weightⱼ·valueⱼ (N, width), the weights (N, S))"""
        hidden = tt.tanh(self.query_proj(query).unsqueeze(1) + keys)  # (N, 1, H) + (N, S, H)
        scores = self.score(hidden).transpose(1, 2)  # (N, S, 1) → (N, 1, S)
        weights = masked_softmax(scores, padding)
        record(weights)
        return (weights @ values).squeeze(1), weights.squeeze(1)  # (N, 1, …) → (N, …)


class Seq2SeqRNN(Module):
    """hⱼ = encoder(src)ⱼ, from both sides;  s₀ = tanh(bridge(last h of both sides))
    cₜ = Σⱼ Aₜⱼ·hⱼ,  Aₜ = softmax over j of v·tanh(Wq·sₜ₋₁ + Wk·hⱼ)
    sₜ = cell([token t of tgt; cₜ], sₜ₋₁),  logitsₜ = head([sₜ; cₜ])

    embed_dim, hidden_size: widths of the embeddings and (H) of the states in each direction
    rnn:        "gru" or "lstm", for both sides; the cell state of an LSTM decoder starts at 0
    attention:  False: cₜ is the last h of both sides at every t, and there is no A
    pad:        id of padding at the end of a source; None: no padding, or pass lengths
    dropout:    on the embeddings and on the input of head
    """

    def __init__(
        self,
        src_vocab_size: int,
        tgt_vocab_size: int,
        embed_dim: int = 256,
        hidden_size: int = 256,
        rnn: str = "gru",
        attention: bool = True,
        dropout: float = 0.0,
        pad: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if rnn not in ("gru", "lstm"):
            raise ValueError(f"Seq2SeqRNN: got rnn={rnn!r}, expected 'gru' or 'lstm'")
        options: dict[str, Any] = {"device": device, "dtype": dtype}
        layer, cell = (GRU, GRUCell) if rnn == "gru" else (LSTM, LSTMCell)
        self.hidden_size, self.rnn, self.dropout, self.pad = hidden_size, rnn, dropout, pad
        both = 2 * hidden_size
        self.src_tokens = Embedding(src_vocab_size, embed_dim, **options)
        self.tgt_tokens = Embedding(tgt_vocab_size, embed_dim, **options)
        self.encoder = layer(
            embed_dim, hidden_size, batch_first=True, bidirectional=True, **options
        )
        self.bridge = Linear(both, hidden_size, **options)
        self.attention = (
            _Attention(hidden_size, both, hidden_size, **options) if attention else None
        )
        self.decoder = cell(embed_dim + both, hidden_size, **options)
        self.head = Linear(hidden_size + both, tgt_vocab_size, **options)

    def forward(
        self, src: Tensor, tgt: Tensor, lengths: Any = None, need_weights: bool = False
    ) -> Any:
        """Next-token logits (N, T, tgt_vocab_size) at each position of tgt; with need_weights
        also the attention weights (N, T, S).

        src (N, S), tgt (N, T): token ids. lengths: of the N sources, without padding. In training,
        tgt is the translation without its last token, and the target of the loss is the translation
        without its first.
        """
        return self.decode(tgt, self.encode(src, lengths), need_weights)

    def encode(self, src: Tensor, lengths: Any = None) -> Memory:
        """Encode token ids src (N, S) for the decoder."""
        if src.ndim != 2:
            raise ShapeError(f"Seq2SeqRNN: src has shape {tuple(src.shape)}, expected (N, S)")
        x = F.dropout(self.src_tokens(src), self.dropout, self.training)  # (N, S) → (N, S, C)
        lengths = self._lengths(src) if lengths is None else tt.as_tensor(lengths).to(src.device)
        padding = None
        if lengths is None:
            values, last = self.encoder(x)
        else:
            packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
            output, last = self.encoder(packed)
            values, _ = pad_packed_sequence(output, batch_first=True, total_length=src.shape[1])
            padding = padding_mask(lengths, max_length=src.shape[1])
        last = last if self.rnn == "gru" else last[0]  # of (h, c)
        summary = tt.cat([last[0], last[1]], dim=-1)  # 2 × (N, H) → (N, 2·H)
        keys = None if self.attention is None else self.attention.key_proj(values)
        return Memory(values, summary, keys, padding)

    def decode(self, tgt: Tensor, memory: Memory, need_weights: bool = False) -> Any:
        """As `forward`, with the memory from `encode`."""
        if need_weights and self.attention is None:
            raise ValueError("Seq2SeqRNN: got need_weights=True, but it was made without attention")
        x = F.dropout(self.tgt_tokens(tgt), self.dropout, self.training)  # (N, T) → (N, T, C)
        state = self.initial_state(memory)
        outputs, maps = [], []
        for token in x.unbind(1):  # (N, C)
            output, state, weights = self._step(token, state, memory)
            outputs.append(output)
            maps.append(weights)
        logits = self._logits(tt.stack(outputs, dim=1))  # T × (N, 3·H) → (N, T, 3·H)
        return (logits, tt.stack(maps, dim=1)) if need_weights else logits  # type: ignore[arg-type]

    def decode_step(
        self, token: Tensor, state: State, memory: Memory
    ) -> tuple[Tensor, State, Tensor | None]:
        """Return next-token logits (N, tgt_vocab_size), the new state and the weights (N, S).

        token (N,): ids. state: `initial_state(memory)`, or that of the previous step.
        """
        x = F.dropout(self.tgt_tokens(token), self.dropout, self.training)
        output, state, weights = self._step(x, state, memory)
        return self._logits(output), state, weights

    def initial_state(self, memory: Memory) -> State:
        """The decoder's state before its first step."""
        h = tt.tanh(self.bridge(memory.summary))
        return (h,) if self.rnn == "gru" else (h, tt.zeros_like(h))

    def _step(self, x: Tensor, state: State, memory: Memory) -> tuple[Tensor, State, Tensor | None]:
        """Return [sₜ; cₜ] (N, 3·H), the state and the weights for an embedded token x (N, C)."""
        context, weights = memory.summary, None
        if self.attention is not None:
            context, weights = self.attention(state[0], memory.keys, memory.values, memory.padding)
        x = tt.cat([x, context], dim=-1)  # (N, C + 2·H)
        new = (self.decoder(x, state[0]),) if self.rnn == "gru" else self.decoder(x, state)
        return tt.cat([new[0], context], dim=-1), new, weights

    def _logits(self, output: Tensor) -> Tensor:
        return self.head(F.dropout(output, self.dropout, self.training))  # (…, 3·H) → (…, V)

    def _lengths(self, src: Tensor) -> Tensor | None:
        """The lengths (N,) without trailing padding; None if pad is None."""
        if self.pad is None:
            return None
        places = tt.arange(1, src.shape[1] + 1, device=src.device)
        return (places * (src != self.pad)).amax(dim=1)  # 1 + index of the last real token

    def extra_repr(self) -> str:
        return "" if self.pad is None else f"pad={self.pad}"


__all__ = ["Memory", "Seq2SeqRNN"]
