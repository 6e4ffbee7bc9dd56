"""Rows of the module table: transformer layers and stacks, GPT, BERT, the translator."""

from __future__ import annotations

import warnings
from typing import Any

from .table import F, I, M, Row, T, V

INF = float("inf")
LOOK_AHEAD = V([[0.0, -INF, -INF], [0.0, 0.0, -INF], [0.0, 0.0, 0.0]], grad=False)
BLOCKED = V([[False, True, True], [False, False, True], [False, True, False]])
PADDING = V([[False, False, False], [False, False, True]])
SRC_PADDING = V([[False, False, False, True], [False, True, False, False]])
SMALL = {"dim_feedforward": 5, "dropout": 0.0}


def layer(label: str, call: dict | None = None, inputs: list | None = None, **options: Any) -> Row:
    inputs = [T(2, 3, 4)] if inputs is None else inputs
    options = SMALL | {"batch_first": True} | options
    return Row("TransformerEncoderLayer", 4, 2, inputs=inputs, call=call, label=label, **options)


def decoder_layer(label: str, call: dict | None = None, **options: Any) -> Row:
    options = SMALL | {"batch_first": True} | options
    inputs = [T(2, 3, 4), T(2, 4, 4)] if options["batch_first"] else [T(3, 2, 4), T(4, 2, 4)]
    return Row("TransformerDecoderLayer", 4, 2, inputs=inputs, call=call, label=label, **options)


def whole(label: str, call: dict | None = None, inputs: list | None = None, **options: Any) -> Row:
    """nn.Transformer, 2 + 2 layers. PyTorch warns that it will not use nested tensors."""
    options = SMALL | {"batch_first": True} | options

    def make(nn: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return nn.Transformer(4, 2, 2, 2, **options)

    inputs = [T(2, 4, 4), T(2, 3, 4)] if inputs is None else inputs
    return Row("Transformer", make=make, torch=make, inputs=inputs, call=call, label=label)


ALL_MASKS = {
    "tgt_mask": LOOK_AHEAD,
    "src_key_padding_mask": SRC_PADDING,
    "memory_key_padding_mask": SRC_PADDING,
}


# ------------------------------------------------------------------------------------------
# Models: the same ones, written in PyTorch
# ------------------------------------------------------------------------------------------


def gpt_config(nn: Any, **options: Any) -> Any:
    settings = {"vocab_size": 7, "block_size": 5, "n_layer": 2, "n_head": 2, "n_embd": 4}
    return nn.GPTConfig(**(settings | options))


def gpt(**options: Any) -> Any:
    return lambda nn: nn.GPT(gpt_config(nn, **options))


def torch_gpt(bias: bool = True, tied: bool = True) -> Any:
    """A GPT as it is usually written: pre-norm, learned positions, tied weights."""

    def make(nn: Any) -> Any:
        import torch

        class Attention(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.qkv, self.proj = nn.Linear(4, 12, bias=bias), nn.Linear(4, 4, bias=bias)

            def forward(self, x: Any) -> Any:
                n, t, c = x.shape
                heads = (p.view(n, t, 2, 2).transpose(1, 2) for p in self.qkv(x).split(4, dim=2))
                y = nn.functional.scaled_dot_product_attention(*heads, is_causal=True)
                return self.proj(y.transpose(1, 2).reshape(n, t, c))

        class MLP(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.fc, self.proj = nn.Linear(4, 16, bias=bias), nn.Linear(16, 4, bias=bias)

            def forward(self, x: Any) -> Any:
                return self.proj(nn.functional.gelu(self.fc(x), approximate="tanh"))

        class Block(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.norm1, self.attn = nn.LayerNorm(4, bias=bias), Attention()
                self.norm2, self.mlp = nn.LayerNorm(4, bias=bias), MLP()

            def forward(self, x: Any) -> Any:
                x = x + self.attn(self.norm1(x))
                return x + self.mlp(self.norm2(x))

        class Model(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.tokens, self.positions = nn.Embedding(7, 4), nn.Embedding(5, 4)
                self.blocks = nn.ModuleList([Block(), Block()])
                self.norm, self.head = nn.LayerNorm(4, bias=bias), nn.Linear(4, 7, bias=False)
                if tied:
                    self.head.weight = self.tokens.weight

            def forward(self, idx: Any, targets: Any) -> Any:
                x = self.tokens(idx) + self.positions(torch.arange(idx.shape[1]))
                for block in self.blocks:
                    x = block(x)
                logits = self.head(self.norm(x))
                loss = nn.functional.cross_entropy(
                    logits.view(-1, 7), targets.view(-1), ignore_index=-1
                )
                return logits, loss

        return Model()

    return make


def bert(nn: Any) -> Any:
    settings = {"vocab_size": 7, "block_size": 5, "n_layer": 2, "n_head": 2, "n_embd": 4}
    return nn.BERT(nn.BERTConfig(**settings, dropout=0.0, layer_norm_eps=1e-5))


def torch_bert(nn: Any) -> Any:
    import torch

    class Head(nn.Module):
        def __init__(self, table: Any) -> None:
            super().__init__()
            self.dense, self.norm = nn.Linear(4, 4), nn.LayerNorm(4)
            self.decoder = nn.Linear(4, 7)
            self.decoder.weight = table

        def forward(self, x: Any) -> Any:
            return self.decoder(self.norm(nn.functional.gelu(self.dense(x))))

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.positions = nn.Embedding(7, 4), nn.Embedding(5, 4)
            self.segments, self.norm = nn.Embedding(2, 4), nn.LayerNorm(4)
            block = nn.TransformerEncoderLayer(4, 2, 16, 0.0, "gelu", batch_first=True)
            self.encoder = nn.TransformerEncoder(block, 2)
            self.head = Head(self.tokens.weight)

        def forward(self, idx: Any, segment: Any, targets: Any) -> Any:
            where = self.positions(torch.arange(idx.shape[1]))
            x = self.norm(self.tokens(idx) + where + self.segments(segment))
            logits = self.head(self.encoder(x, src_key_padding_mask=idx == 0))
            return logits, nn.functional.cross_entropy(logits.view(-1, 7), targets.view(-1))

    return Model()


def translator(nn: Any) -> Any:
    return nn.Seq2SeqTransformer(7, 6, 4, 2, 1, 1, **SMALL, max_len=8, pad=0)


def torch_translator(nn: Any) -> Any:
    import torch

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.src_tokens, self.tgt_tokens = nn.Embedding(7, 4), nn.Embedding(6, 4)
            self.transformer = nn.Transformer(4, 2, 1, 1, **SMALL, batch_first=True)
            self.head = nn.Linear(4, 6)

        def embed(self, table: Any, idx: Any) -> Any:
            t = torch.arange(idx.shape[1], dtype=torch.float64).unsqueeze(1)
            waves = [torch.sin(t), torch.cos(t), torch.sin(t / 100), torch.cos(t / 100)]
            # as a table that was made in float32
            return table(idx) * 2 + torch.cat(waves, dim=1).float().to(table.weight.dtype)

        def forward(self, src: Any, tgt: Any) -> Any:
            mask = torch.ones(tgt.shape[1], tgt.shape[1], dtype=torch.bool).triu(1)
            return self.head(
                self.transformer(
                    self.embed(self.src_tokens, src),
                    self.embed(self.tgt_tokens, tgt),
                    tgt_mask=mask,
                    src_key_padding_mask=src == 0,
                    memory_key_padding_mask=src == 0,
                )
            )

    return Model()


IDX = I(2, 4, high=7)
TARGETS = V([[3, -1, 6, 0], [2, 2, -1, 5]])
MASKED = V([[3, -100, 6, 0], [2, -100, -100, 5]])
PADDED = V([[3, 1, 6, 2], [5, 4, 0, 0]])
ROTARY = "PyTorch has no rotary positions; test_gpt.py checks the values"

ROWS = [
    layer("post-norm"),
    layer("pre-norm", norm_first=True),
    layer("batch second", batch_first=False, inputs=[T(3, 2, 4)]),
    layer("no batch", inputs=[T(3, 4)]),
    layer("gelu", activation="gelu"),
    layer("a function", activation=F("silu")),
    layer("a module", activation=M("Tanh")),
    layer("no bias", bias=False, norm_first=True),
    layer("masks", call={"src_mask": BLOCKED, "src_key_padding_mask": PADDING}),
    layer("causal", call={"src_mask": LOOK_AHEAD, "is_causal": True}, layer_norm_eps=1e-3),
    decoder_layer("post-norm"),
    decoder_layer("pre-norm", norm_first=True),
    decoder_layer("batch second", batch_first=False, activation="gelu"),
    decoder_layer("no bias", bias=False),
    decoder_layer("masks", call={"tgt_mask": BLOCKED, "tgt_key_padding_mask": PADDING,
                                 "memory_key_padding_mask": SRC_PADDING}),
    decoder_layer("memory mask", call={"memory_mask": T(3, 4), "tgt_mask": LOOK_AHEAD,
                                       "tgt_is_causal": True}, norm_first=True),
    Row("TransformerEncoder", M("TransformerEncoderLayer", 4, 2, **SMALL), 2,
        enable_nested_tensor=False, inputs=[T(3, 2, 4)]),
    Row("TransformerEncoder", M("TransformerEncoderLayer", 4, 2, **SMALL, batch_first=True), 2,
        norm=M("LayerNorm", 4), enable_nested_tensor=False, inputs=[T(2, 3, 4)],
        call={"mask": BLOCKED, "src_key_padding_mask": PADDING}),
    Row("TransformerEncoder", M("TransformerEncoderLayer", 4, 2, **SMALL), 1,
        enable_nested_tensor=False, inputs=[T(3, 2, 4)], call={"mask": LOOK_AHEAD}),
    Row("TransformerDecoder", M("TransformerDecoderLayer", 4, 2, **SMALL), 2,
        inputs=[T(3, 2, 4), T(4, 2, 4)], call={"tgt_mask": LOOK_AHEAD}),
    Row("TransformerDecoder", M("TransformerDecoderLayer", 4, 2, **SMALL, batch_first=True), 2,
        norm=M("LayerNorm", 4), inputs=[T(2, 3, 4), T(2, 4, 4)],
        call={"tgt_mask": BLOCKED, "memory_key_padding_mask": SRC_PADDING}),
    whole("post-norm"),
    whole("post-norm, masks", call=ALL_MASKS),
    whole("pre-norm, masks", call=ALL_MASKS, norm_first=True),
    whole("batch second, pre-norm, masks", call=ALL_MASKS, norm_first=True, batch_first=False,
          inputs=[T(4, 2, 4), T(3, 2, 4)]),
    whole("boolean masks of every kind", activation="gelu",
          call={"src_mask": V([[False, i == 1, i == 2, False] for i in range(4)]),
                "tgt_mask": BLOCKED, "memory_mask": V([[False, i == 1, False, i == 2]
                                                       for i in range(3)]),
                "src_key_padding_mask": SRC_PADDING, "tgt_key_padding_mask": PADDING,
                "memory_key_padding_mask": SRC_PADDING}),
    whole("no bias, no batch", inputs=[T(4, 4), T(3, 4)], bias=False),
    Row("GPT", make=gpt(), torch=torch_gpt(), inputs=[IDX, TARGETS], label="tied"),
    Row("GPT", make=gpt(bias=False, tie_weights=False), torch=torch_gpt(bias=False, tied=False),
        inputs=[IDX, TARGETS], label="no bias, not tied"),
    Row("GPT", make=gpt(position="rotary", n_head=1), torch=None, note=ROTARY,
        inputs=[IDX, TARGETS], label="rotary"),
    Row("BERT", make=bert, torch=torch_bert, inputs=[PADDED, V([[0, 0, 1, 1], [0, 1, 1, 1]])],
        call={"targets": MASKED}),
    Row("Seq2SeqTransformer", make=translator, torch=torch_translator,
        inputs=[PADDED, I(2, 3, high=6)]),
]  # fmt: skip
