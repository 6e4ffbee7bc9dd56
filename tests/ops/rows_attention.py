from .functional import functional
from .table import B, Row, T, V

INF = float("inf")
SOME = V([[True, False, True], [False, True, True]])
ONE_ROW_EMPTY = V([[True, False, True], [False, False, False]])
ADDITIVE = V([[0.5, -1.0, 0.0], [2.0, 0.1, -0.3]])
# Fixed: finite differences of −inf are NaN. The last row is masked out whole.
MINUS_INFINITY = V([[0.0, -INF, 0.5], [-INF, -INF, -INF]], grad=False)

Q, K, VALUE = T(2, 2, 4), T(2, 3, 4), T(2, 3, 5)
HEADS = T(1, 4, 2, 3), T(1, 2, 3, 3), T(1, 2, 3, 2)


def attend(*args, **options):  # type: ignore[no-untyped-def]
    return functional("scaled_dot_product_attention", *args, **options)


def reference_weights(query, key, attn_mask=None, is_causal=False, scale=None):  # type: ignore[no-untyped-def]
    """PyTorch's attention with the identity as values gives the weights."""
    import torch

    values = torch.eye(key.shape[-2], dtype=key.dtype).expand(*key.shape[:-1], key.shape[-2])
    return torch.nn.functional.scaled_dot_product_attention(
        query, key, values, attn_mask, 0.0, is_causal, scale=scale
    )


def weights(*args, **options):  # type: ignore[no-untyped-def]
    return Row("attention_weights", *args, torch=reference_weights, **options)


ROWS = [
    attend(Q, K, VALUE),
    attend(T(2, 3), T(4, 3), T(4, 2)),
    attend(T(2, 1, 2, 3), T(2, 2, 4, 3), T(2, 2, 4, 3)),
    attend(Q, K, VALUE, scale=0.3),
    attend(T(2, 3, 4), T(2, 3, 4), T(2, 3, 4), is_causal=True),
    attend(T(3, 2), T(5, 2), T(5, 2), is_causal=True),
    attend(T(5, 2), T(3, 2), T(3, 2), is_causal=True),
    attend(Q, K, VALUE, SOME, label="boolean"),
    attend(Q, K, VALUE, B(2, 1, 3), label="boolean for each batch"),
    attend(Q, K, VALUE, ONE_ROW_EMPTY, label="boolean, nothing for one query"),
    attend(Q, K, VALUE, ADDITIVE, label="additive"),
    attend(Q, K, VALUE, T(2, 2, 3), label="additive for each batch"),
    attend(Q, K, VALUE, T(2, 1, 1), label="additive, broadcast"),
    attend(Q, K, VALUE, MINUS_INFINITY, label="additive, nothing for one query"),
    attend(*HEADS, enable_gqa=True),
    attend(*HEADS, is_causal=True, enable_gqa=True, scale=1.0),
    attend(*HEADS, T(1, 4, 2, 3), enable_gqa=True),
    attend(*HEADS, SOME, enable_gqa=True, label="grouped, boolean"),
    weights(Q, K),
    weights(Q, K, SOME, label="boolean"),
    weights(Q, K, ADDITIVE, scale=0.3, label="additive"),
    weights(T(3, 2), T(3, 2), is_causal=True),
    weights(Q, K, ONE_ROW_EMPTY, label="nothing for one query"),
]
