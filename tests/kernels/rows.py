"""Calls of every op that has a kernel, as rows of the op table (tests/ops/table.py).

The sizes are odd, of one row or element, and beyond the blocks that kernels work in.
"""

from __future__ import annotations

from ..ops.table import B, I, Row, T, V

NEG_INF = float("-inf")

ROWS = [
    *(
        Row(name, T(*shape, low=low, high=6), **options)
        for name, options in (
            ("relu", {}), ("leaky_relu", {"negative_slope": 0.2}), ("silu", {}),
            ("gelu", {}), ("gelu", {"approximate": "tanh"}),
        )
        # The few elements are not all far below 0: x·(1 + tanh …) has no digits left there.
        for shape, low in (((1,), -1), ((7,), -1), ((3, 5, 17), -6), ((31, 65), -6))
    ),
    Row("add", T(3, 5, 7), T(3, 5, 7)),
    Row("layer_norm", T(5, 7), (7,), T(7), T(7)),
    Row("layer_norm", T(3, 4, 5), (4, 5), T(4, 5), T(4, 5)),
    Row("layer_norm", T(1, 33), (33,), T(33)),
    Row("layer_norm", T(67, 130), (130,)),
    Row("rms_norm", T(5, 7), (7,), T(7), 1e-5),
    Row("rms_norm", T(3, 4, 5), (4, 5), None, 1e-5),
    Row("rms_norm", T(67, 130), (130,), T(130), 1e-5),
    # eps so large that it shows
    Row("layer_norm", T(5, 7), (7,), T(7), T(7), 0.3),
    Row("rms_norm", T(5, 7), (7,), T(7), 0.3),
    Row("linear", T(5, 7), T(3, 7), T(3)),
    Row("linear", T(7), T(3, 7), T(3)),
    Row("linear", T(1, 7), T(1, 7)),
    Row("linear", T(2, 3, 5, 7), T(11, 7)),
    Row("linear", T(67, 65), T(129, 65), T(129)),
    Row("linear", T(5, 7, grad=False), T(3, 7), T(3)),
    Row("linear", T(5, 7), T(3, 7, grad=False)),
    Row("matmul", T(5, 7), T(7, 3)),
    Row("matmul", T(1, 7), T(7, 1)),
    Row("matmul", T(3, 65), T(65, 67)),
    Row("matmul", T(3, 5, 7), T(7, 2)),
    Row("matmul", T(1, 5, 7), T(1, 7, 2)),
    Row("matmul", T(2, 3, 5, 7), T(2, 3, 7, 4)),
    Row("matmul", T(5, 7, grad=False), T(7, 3)),
    Row("cross_entropy", T(7, 11), I(7, high=11)),
    Row("cross_entropy", T(1, 1), I(1, high=1)),
    Row("cross_entropy", T(67, 65), I(67, high=65), reduction="sum"),
    Row("cross_entropy", T(5, 3), V([0, 2, -100, 1, 2]), reduction="none"),
    Row("cross_entropy", T(5, 3), V([0, 2, 1, 1, 2]), weight=T(3, low=0.5, grad=False)),
    Row("embedding", I(5, high=6), T(6, 7)),
    Row("embedding", I(3, 41, high=300), T(300, 5)),
    Row("embedding", V([[1, 1], [1, 0]]), T(2, 1)),
]  # fmt: skip

LAYERS = [
    Row("softmax", T(5, 7), 1),
    Row("softmax", T(3, 67, 131), -1),
    Row("softmax", T(1, 1), 1),
    Row("log_softmax", T(5, 7), 1),
    Row("log_softmax", T(67, 131), -1),
    *(
        # u, delta (N, E, L), A (E, S), B, C (N, S, L)
        Row("selective_scan", T(*x), T(*x, low=0.1, high=1), T(*a, low=-2, high=-0.1), T(*b), T(*b))
        for x, a, b in (((2, 3, 7), (3, 5), (2, 5, 7)), ((3, 5, 33), (5, 16), (3, 16, 33)))
    ),
    Row("batch_norm", T(5, 3, 7), None, None, T(3), T(3), True),
    Row("batch_norm", T(3, 5, 7, 9), None, None, T(5), T(5), True),
    Row("batch_norm", T(2, 1, 33), None, None, training=True),
    Row("batch_norm", T(5, 17, 3), None, None, T(17), T(17), True),
    Row("group_norm", T(2, 6, 5, 3), 3, T(6), T(6)),
    Row("group_norm", T(3, 6, 7), 2),
    Row("group_norm", T(3, 6), 2, T(6)),
    Row("group_norm", T(2, 4, 700), 2, T(4), T(4), 0.3),
    Row("instance_norm", T(2, 3, 5, 7), None, None, T(3), T(3)),
    Row("instance_norm", T(3, 2, 601)),
    Row("batch_norm", T(5, 3, 7), None, None, T(3), T(3), True, eps=0.3),
    Row("conv1d", T(2, 3, 11), T(4, 3, 3), T(4), padding=1),
    Row("conv2d", T(2, 3, 7, 9), T(5, 3, 3, 3), T(5)),
    Row("conv2d", T(3, 4, 9, 5), T(6, 2, 3, 1), None, 2, (1, 0), 1, 2),
    Row("conv2d", T(1, 2, 11, 7), T(17, 2, 3, 3), T(17), dilation=2, padding=2),
    Row("conv2d", T(2, 3, 5, 5, grad=False), T(4, 3, 1, 1)),
    Row("conv_transpose2d", T(2, 3, 5, 4), T(3, 4, 3, 3), T(4), stride=2, padding=1),
    Row("max_pool1d", T(2, 3, 11, distinct=True), 3),
    Row("max_pool2d", T(2, 3, 7, 9, distinct=True), 2),
    Row("max_pool2d", T(1, 2, 9, 7, distinct=True), 3, 2, 1),
    Row("lstm_sequence", T(5, 3, 4), T(3, 7), T(3, 7), T(28, 4), T(28, 7), T(28)),
    Row("lstm_sequence", T(1, 1, 1), T(1, 1), T(1, 1), T(4, 1), T(4, 1)),
    Row("lstm_sequence", T(3, 9, 5), T(9, 6), T(9, 6), T(24, 5), T(24, 6)),
    Row("gru_sequence", T(5, 3, 4), T(3, 7), T(21, 4), T(21, 7), T(21), T(21)),
    Row("gru_sequence", T(1, 1, 1), T(1, 1), T(3, 1), T(3, 1), T(3), T(3)),
    Row("gru_sequence", T(3, 9, 5), T(9, 6), T(18, 5), T(18, 6)),
    Row("gru_sequence", T(4, 2, 3), T(2, 5), T(15, 3), T(15, 5), None, T(15)),
    Row("gru_sequence", T(2, 3, 5), T(3, 17), T(51, 5), T(51, 17), T(51), None),
    *(
        Row(name, T(5, 9, 4), *(T(9, 7) for _ in range(states)), T(7 * gates, 4), T(7 * gates, 7),
            T(7 * gates), batch_sizes=[9, 7, 7, 2, 1])
        for name, states, gates in (
            ("lstm_sequence", 2, 4), ("gru_sequence", 1, 3), ("rnn_sequence", 1, 1),
        )
    ),
    *(
        Row("rnn_sequence", *args, nonlinearity=nonlinearity)
        for nonlinearity in ("tanh", "relu")
        for args in (
            (T(5, 3, 4), T(3, 7), T(7, 4), T(7, 7), T(7)),
            (T(1, 1, 1), T(1, 1), T(1, 1), T(1, 1)),
            (T(3, 9, 5), T(9, 17), T(17, 5), T(17, 17)),
        )
    ),
    Row("masked_scale", T(3, 5, 7), B(3, 5, 7), 1.25),
    *(
        Row(name, T(*shape), dim=dim)
        for name in ("softmax", "log_softmax")
        for shape, dim in (((5, 7), -1), ((2, 3, 33), 2), ((1, 1), 1), ((67, 130), -1))
    ),
    *(
        Row("selective_scan", T(n, e, t), T(n, e, t, low=0.1, high=1), T(e, s, low=-2, high=-0.1),
            T(n, s, t), T(n, s, t), return_last_state=True)
        for n, e, s, t in ((2, 3, 5, 7), (1, 1, 1, 1), (3, 5, 16, 33))
    ),
]  # fmt: skip

ATTENTION = [
    Row("scaled_dot_product_attention", T(*q), T(*k), T(*v), **options)
    for q, k, v, options in (
        ((2, 3, 5, 4), (2, 3, 5, 4), (2, 3, 5, 4), {"is_causal": True}),
        ((2, 3, 5, 4), (2, 3, 7, 4), (2, 3, 7, 6), {}),
        ((5, 4), (7, 4), (7, 3), {"attn_mask": B(5, 7)}),
        ((3, 5, 4), (3, 7, 4), (3, 7, 3), {"attn_mask": T(5, 7, grad=False), "scale": 0.3}),
        ((1, 1, 1, 1), (1, 1, 1, 1), (1, 1, 1, 1), {}),
        ((1, 2, 131, 8), (1, 2, 131, 8), (1, 2, 131, 8), {"is_causal": True}),
        ((1, 2, 131, 8), (1, 2, 263, 8), (1, 2, 263, 5), {}),
        ((2, 1, 67, 3), (2, 1, 131, 3), (2, 1, 131, 3), {"is_causal": True}),
        ((1, 2, 263, 3), (1, 2, 67, 3), (1, 2, 67, 3), {"is_causal": True}),
        ((2, 2, 67, 3), (2, 2, 131, 3), (2, 2, 131, 3), {"attn_mask": B(2, 1, 67, 131)}),
    )
]

# Rows of queries that may attend to nothing: the first, the last, all of one sample.
MASKED = [
    Row("scaled_dot_product_attention", T(2, 2, 3, 4), T(2, 2, 5, 4), T(2, 2, 5, 4), attn_mask=mask)
    for mask in (
        V([[False] * 5, [True] * 5, [False] * 5]),
        V([[NEG_INF] * 5, [0.0] * 5, [NEG_INF] * 4 + [1.0]], grad=False),
        V([[[[False] * 5] * 3], [[[True] * 5] * 3]]),
    )
]

ROWS += [*LAYERS, *ATTENTION, *MASKED]
