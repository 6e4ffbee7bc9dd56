"""Rows of the module table: attention and positions."""

from __future__ import annotations

from .table import Row, T, V

E = 6  # width of most rows, in heads of 2 or 3

# True: may not be attended to; for 3 queries and 4 keys, and for 2 sequences of 4 keys
BLOCKED = V([[False, True, False, True], [False, False, True, True], [False, False, False, True]])
LOOK_AHEAD = V([[False, True, True], [False, False, True], [False, False, False]])
ADDED_LOOK_AHEAD = V([[0.0, -float("inf")], [0.0, 0.0]], grad=False)
PADDING = V([[False, False, False, True], [False, True, False, False]])
ADDED_PADDING = V([[0.5, 0.0, -1.0, -float("inf")], [0.0, -2.0, 0.0, 0.3]], grad=False)


def mha(*inputs: T, label: str, heads: int = 2, call: dict | None = None, **options: object) -> Row:
    """MultiheadAttention of queries, keys and values; batch first unless said otherwise."""
    options = {"batch_first": True} | options
    return Row("MultiheadAttention", E, heads, inputs=inputs, call=call, label=label, **options)


QUERY, KEY, VALUE = T(2, 3, E), T(2, 4, E), T(2, 4, E)
QKV = (QUERY, KEY, VALUE)
FAST = {"need_weights": False}


class SelfAttention:
    """x ↦ attention(x, x, x): the packed projection, which wants the same tensor three times."""

    def __init__(self, **call: object):
        self.call = call

    def __call__(self, nn: object) -> object:
        call = self.call

        class Layer(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.attn = nn.MultiheadAttention(E, 3, batch_first=True)

            def forward(self, x: object, mask: object) -> object:
                return self.attn(x, x, x, attn_mask=mask, **call)

        return Layer()


def self_attention(label: str, mask: object, **call: object) -> Row:
    build = SelfAttention(**call)
    inputs = (T(2, 3, E), mask)
    return Row("MultiheadAttention", make=build, torch=build, inputs=inputs, label=label)


def alone(name: str, *args: object, inputs: list, note: str, **options: object) -> Row:
    return Row(name, *args, inputs=inputs, torch=None, note=note, **options)


NOT_THERE = "PyTorch has no such module; test_position.py and test_attention.py check its values"

ROWS = [
    mha(*QKV, label="cross"),
    mha(*QKV, label="cross, fused", call=FAST),
    mha(T(3, 2, E), T(4, 2, E), T(4, 2, E), label="batch second", batch_first=False),
    mha(T(3, 2, E), T(4, 2, E), T(4, 2, E), label="batch second, fused", batch_first=False,
        call=FAST | {"key_padding_mask": PADDING}),
    mha(T(3, E), T(4, E), T(4, E), label="no batch"),
    mha(T(3, E), T(4, E), T(4, E), label="no batch, masks",
        call=FAST | {"attn_mask": BLOCKED, "key_padding_mask": V([False, False, True, True])}),
    mha(T(2, E), T(4, E), T(4, E), label="no batch, a mask for each head",
        call={"attn_mask": T(2, 2, 4)}),
    mha(*QKV, label="no bias", bias=False),
    mha(*QKV, label="weights of each head", call={"average_attn_weights": False}),
    mha(*QKV, label="one head", heads=1),
    mha(*QKV, label="boolean masks", call={"attn_mask": BLOCKED}),
    mha(*QKV, label="boolean masks, fused", call=FAST | {"attn_mask": BLOCKED}),
    mha(*QKV, label="added mask", call={"attn_mask": T(3, 4)}),
    mha(*QKV, label="added mask, fused", call=FAST | {"attn_mask": T(3, 4)}),
    mha(*QKV, label="a mask for each head", call={"attn_mask": T(4, 3, 4)}),
    mha(*QKV, label="a mask for each head, fused", call=FAST | {"attn_mask": T(4, 3, 4)}),
    mha(*QKV, label="padding", call={"key_padding_mask": PADDING}),
    mha(*QKV, label="padding, fused", call=FAST | {"key_padding_mask": PADDING}),
    mha(*QKV, label="added padding", call={"key_padding_mask": ADDED_PADDING}),
    mha(*QKV, label="added padding and mask, fused",
        call=FAST | {"key_padding_mask": ADDED_PADDING, "attn_mask": T(3, 4)}),
    mha(T(2, 2, E), T(2, 4, 3), T(2, 4, 5), label="kdim, vdim", kdim=3, vdim=5),
    mha(T(2, 2, E), T(2, 4, 3), T(2, 4, E), label="kdim, no bias", kdim=3, bias=False, call=FAST),
    mha(*QKV, label="add_bias_kv", add_bias_kv=True),
    mha(*QKV, label="add_zero_attn", add_zero_attn=True, call=FAST),
    mha(*QKV, label="both, masked", add_bias_kv=True, add_zero_attn=True,
        call={"attn_mask": BLOCKED, "key_padding_mask": PADDING}),
    mha(T(2, E), T(4, E), T(4, E), label="both, no batch, masked", add_bias_kv=True,
        add_zero_attn=True, call={"attn_mask": T(2, 4)}),
    self_attention("self", None),
    self_attention("self, look-ahead", LOOK_AHEAD, need_weights=False),
    self_attention("self, causal hint", LOOK_AHEAD, need_weights=False, is_causal=True),
    self_attention("self, causal hint, weights", LOOK_AHEAD, is_causal=True),
    alone("AdditiveAttention", 3, 4, 5, inputs=[T(2, 3, 3), T(2, 4, 4)], note=NOT_THERE),
    alone("AdditiveAttention", 3, 4, 5, bias=True, inputs=[T(2, 3), T(2, 4, 4), T(2, 4, 2)],
          call={"key_padding_mask": PADDING}, note=NOT_THERE),
    alone("IntegerPosition", inputs=[T(2, 3, 4)], note=NOT_THERE),
    alone("SinusoidalPosition", 5, 8, 100.0, inputs=[T(2, 3, 5)], note=NOT_THERE),
    alone("SinusoidalPosition", 4, 8, batch_first=False, inputs=[T(3, 2, 4)],
          call={"offset": 2}, note=NOT_THERE),
    alone("LearnedPosition", 4, 8, inputs=[T(2, 3, 4)], call={"offset": 2}, note=NOT_THERE),
    alone("RotaryPosition", 4, 8, inputs=[T(2, 3, 4), T(2, 3, 4)], note=NOT_THERE),
    alone("RotaryPosition", 4, 8, interleaved=True, inputs=[T(2, 3, 4), T(2, 3, 4)],
          call={"offset": 5}, note=NOT_THERE),
    alone("ALiBi", 6, inputs=[2, 4], order=0, note=NOT_THERE),
    alone("ALiBi", 4, causal=False, inputs=[3], order=0, note=NOT_THERE),
]  # fmt: skip
