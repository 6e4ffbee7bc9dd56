"""Scaled dot-product attention: averages of values, weighted by how well queries match keys."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.arguments import check_flags, check_given, check_tensors, require_tensor
from ..autograd.op import Op
from ..autograd.variable import Variable, unwrap, wrap_like
from ..backend import Array, xp
from ..errors import ShapeError
from ..kernels.machinery.route import accelerated
from .autocast_setting import mixes
from .broadcast import expands_to
from .dropout import check_probability, random_mask, scale_of_kept

if TYPE_CHECKING:
    from ..tensor import Tensor


class AttentionWeights(Op):
    """A = softmax S, S = Q·Kᵀ·scale + bias, each row over the keys;
    dS = A·(g − Σ g·A),  dQ = dS·K·scale,  dK = dSᵀ·Q·scale,  dbias = dS

    A row that is all −inf gives zeros. causal: query i sees only keys 0 … i.
    """

    saves = ("query", "key", "out")

    def forward(self, query: Array, key: Array, bias: Array | None, scale: float,
                causal: bool) -> Array:  # fmt: skip
        self.scale = scale
        library = xp(query)
        a = (query * scale) @ key.swapaxes(-1, -2)  # (…, L, E)·(…, E, S) → (…, L, S)
        if bias is not None:
            a += bias
        if causal:
            library.copyto(a, -math.inf, where=_later_keys(library, *a.shape[-2:]))
        if not a.size:
            return a
        top = a.max(axis=-1, keepdims=True)
        top[top == -math.inf] = 0  # nothing to attend to: exp(−inf − 0) = 0, not NaN
        a -= top
        library.exp(a, out=a)
        total = a.sum(axis=-1, keepdims=True)
        total[total == 0] = 1
        a /= total
        return a

    def backward(self, g: Any) -> Any:
        query, key, a = self.saved
        return gradients_of_scores(self, g, a, query, key, self.scale)


def gradients_of_scores(op: Op, g: Any, a: Any, query: Any, key: Any, scale: float) -> tuple:
    """(dQ, dK, dbias) from the gradient g of the weights a."""
    ds = a * (g - (g * a).sum(axis=-1, keepdims=True))
    dq = ds @ key * scale if op.needs(0) else None
    dk = ds.swapaxes(-1, -2) @ (query * scale) if op.needs(1) else None
    return dq, dk, ds


def _later_keys(library: Any, queries: int, keys: int) -> Array:
    """True at the keys that come after a query, (queries, keys)."""
    return library.arange(keys) > library.arange(queries)[:, None]


def weights_of(query: Any, key: Any, bias: Any, scale: float, causal: bool) -> Any:
    """The attention weights, of arrays or, recorded as an op, of tensors."""
    return AttentionWeights.apply(query, key, bias, scale, causal)


@accelerated("attention")
class Attention(Op):
    """y = A·V, A = softmax(Q·Kᵀ·scale + bias);  dV = Aᵀ·g, dA = g·Vᵀ, then as in AttentionWeights

    With dropout, A·D replaces A; D holds 0 or 1 / (1 − p) for each weight. Of the steps
    in between only A is kept. (The kernel does not even keep A.)
    """

    op_name = "scaled_dot_product_attention"
    saves = ("query", "key", "value", "bias", "drop", "out")
    fresh = True

    def forward(self, query: Array, key: Array, value: Array, bias: Array | None,
                drop: Array | None, scale: float, causal: bool) -> Array:  # fmt: skip
        self.scale, self.causal = scale, causal
        a = self.keep(weights_of, query, key, bias, scale, causal)
        return (a if drop is None else a * drop) @ value

    def backward(self, g: Any) -> Any:
        query, key, value, bias, drop, _ = self.saved
        a = self.recall(weights_of, query, key, bias, self.scale, self.causal)
        dv = None
        if self.needs(2):
            dv = (a if drop is None else a * drop).swapaxes(-1, -2) @ g
        if not (self.needs(0) or self.needs(1) or self.needs(3)):
            return None, None, dv, None
        da = g @ value.swapaxes(-1, -2)
        if drop is not None:
            da = da * drop
        dq, dk, dbias = gradients_of_scores(self, da, a, query, key, self.scale)
        return dq, dk, dv, dbias


# ------------------------------------------------------------------------------------------
# Arguments
# ------------------------------------------------------------------------------------------


def _check(name: str, query: Any, key: Any, value: Any) -> None:
    """Refuse tensors whose dimensions, widths, lengths or dtypes do not match."""
    require_tensor(name, query)
    if not (isinstance(key, Variable) and isinstance(value, Variable)):
        check_given(name, key=key)
        check_tensors(name, value=value)
    tensors = {"query": query, "key": key, "value": value}
    given = {what: unwrap(t) for what, t in tensors.items() if t is not None}
    for what, array in given.items():
        if array.ndim < 2:
            raise ShapeError(
                f"{name}: {what} has shape {array.shape}, expected at least 2 dimensions, "
                "(…, length, width)"
            )
        dtype = given["query"].dtype
        same = array.dtype == dtype or mixes(array.dtype, dtype)
        if not same or array.dtype.kind not in "fV":
            raise RuntimeError(
                f"{name}: {what} is {array.dtype}, query is {dtype}, expected one floating point "
                "dtype"
            )
    if query.shape[-1] != key.shape[-1]:
        raise ShapeError(
            f"{name}: query {tuple(query.shape)} and key {tuple(key.shape)} differ in their last "
            "dimension, expected the same width"
        )
    if value is not None and key.shape[-2] != value.shape[-2]:
        raise ShapeError(
            f"{name}: key {tuple(key.shape)} and value {tuple(value.shape)} differ in length, "
            "their second to last dimension, expected one value for each key"
        )


def _group_heads(name: str, query: Any, key: Any, value: Any) -> tuple:
    """Split the query's heads into one group for each head of key and value.

    query (…, Hq, L, E) → (…, H, G, L, E); key and value (…, H, S, E) → (…, H, 1, S, E), so that the
    G heads of a group share them by broadcasting.
    """
    for tensor in (query, key, value):
        if tensor is not None and tensor.ndim < 3:
            raise ShapeError(
                f"{name}: got shape {tuple(tensor.shape)}, but enable_gqa needs a dimension of "
                "heads: (…, heads, length, width)"
            )
    heads, shared = query.shape[-3], key.shape[-3]
    if not shared or heads % shared or (value is not None and value.shape[-3] != shared):
        of_value = "" if value is None else f" and {value.shape[-3]} of value"
        raise RuntimeError(
            f"{name}: query has {heads} heads, expected a multiple of the {shared} heads of key"
            f"{of_value}"
        )
    grouped = _split_heads(query, shared, heads // shared)
    if value is not None:
        value = _split_heads(value, shared, 1)
    return grouped, _split_heads(key, shared, 1), value


def _split_heads(x: Any, *sizes: int) -> Any:
    """(…, H, L, E) → (…, *sizes, L, E)."""
    return x.reshape((*x.shape[:-3], *sizes, *x.shape[-2:]))


def _join_heads(x: Any) -> Any:
    """(…, H, G, L, E) → (…, H·G, L, E)."""
    return x.reshape((*x.shape[:-4], x.shape[-4] * x.shape[-3], *x.shape[-2:]))


def _scores_shape(name: str, query: Any, key: Any, value: Any) -> tuple:
    """(…, L, S), with the leading dimensions of all three broadcast."""
    batches = [tuple(t.shape[:-2]) for t in (query, key, value) if t is not None]
    try:
        batch = np.broadcast_shapes(*batches[:2])
        np.broadcast_shapes(batch, *batches[2:])
    except ValueError:
        shapes = ", ".join(str(tuple(t.shape)) for t in (query, key, value) if t is not None)
        raise ShapeError(
            f"{name}: query, key and value have shapes {shapes}, expected dimensions before the "
            "last two that broadcast"
        ) from None
    return (*batch, query.shape[-2], key.shape[-2])


def _bias(name: str, attn_mask: Any, is_causal: bool, shape: tuple, like: Array) -> Any:
    """The bias of scores of `shape`: None, an array of 0 and −inf, or the additive mask."""
    if attn_mask is None:
        return None
    if is_causal:
        raise RuntimeError(
            f"{name}: got both attn_mask and is_causal=True; make the mask causal yourself, "
            "with tril, and leave is_causal out"
        )
    mask = unwrap(attn_mask)
    fits = mask.dtype.kind == "b" or mask.dtype == like.dtype or mixes(mask.dtype, like.dtype)
    if not fits:
        raise RuntimeError(
            f"{name}: attn_mask is {mask.dtype}, expected bool (True: may attend) or {like.dtype} "
            "(added to the scores)"
        )
    if not expands_to(mask.shape, shape):
        raise ShapeError(
            f"{name}: attn_mask has shape {mask.shape}, expected one that broadcasts to {shape}, "
            "with a row for each query and a column for each key"
        )
    return attn_mask if mask.dtype.kind in "fV" else _as_bias(mask, like)


def _as_bias(allowed: Array, like: Array) -> Array:
    """0 where allowed, −inf elsewhere, in the dtype of `like`."""
    bias = xp(like).zeros(allowed.shape, dtype=like.dtype)
    bias[~allowed] = -math.inf
    return bias


def _prepare(name: str, query: Any, key: Any, value: Any, attn_mask: Any, is_causal: bool,
             scale: float | None, enable_gqa: bool) -> tuple:  # fmt: skip
    """(query, key, value, bias, scale, shape of the scores), and with heads grouped."""
    if scale is None:
        scale = 1 / math.sqrt(query.shape[-1] or 1)
    if not enable_gqa:
        shape = _scores_shape(name, query, key, value)
        bias = _bias(name, attn_mask, is_causal, shape, unwrap(query))
        return query, key, value, bias, scale, shape
    query, key, value = _group_heads(name, query, key, value)
    shape = _scores_shape(name, query, key, value)  # (…, H, G, L, S)
    ungrouped = (*shape[:-4], shape[-4] * shape[-3], *shape[-2:])
    bias = _bias(name, attn_mask, is_causal, ungrouped, unwrap(query))
    if bias is not None and bias.ndim > 2:
        bias = _split_heads(bias, *((1, 1) if bias.shape[-3] == 1 else shape[-4:-2]))
    return query, key, value, bias, scale, shape


# ------------------------------------------------------------------------------------------
# Functions
# ------------------------------------------------------------------------------------------


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(query·keyᵀ·scale + mask)·value

    query (…, Hq, L, E), key (…, H, S, E), value (…, H, S, Ev) → (…, Hq, L, Ev).

    attn_mask: broadcasts to (…, L, S). Booleans: True where a query may attend to a key. Numbers:
        added to the scores, −inf to forbid; they get a gradient too.
    is_causal: query i attends to the keys 0 … i. scale: 1 / √E by default.
    dropout_p: the probability of dropping a weight, in train and eval mode alike.
    enable_gqa: Hq may be a multiple of H; neighbouring query heads share a key and value head.

    A query that may attend to no key gets zeros, and passes back no gradient.
    """
    name = "scaled_dot_product_attention"
    check_probability(name, dropout_p)
    if type(is_causal) is not bool or type(enable_gqa) is not bool:
        check_flags(name, is_causal=is_causal, enable_gqa=enable_gqa)
    _check(name, query, key, value)
    if value is None:
        check_given(name, value=value)
    if not unwrap(value).size or not query.shape[-2]:
        return _without_elements(query, key, value)
    query, key, value, bias, scale, shape = _prepare(
        name, query, key, value, attn_mask, is_causal, scale, enable_gqa
    )
    drop = None
    if dropout_p > 0:
        array = unwrap(query)
        drop = random_mask(array, shape, dropout_p).astype(array.dtype)
        drop *= scale_of_kept(dropout_p)
    y = Attention.apply(query, key, value, bias, drop, scale, is_causal)
    return _join_heads(y) if enable_gqa else y


def _without_elements(query: Any, key: Any, value: Any) -> Any:
    """Zeros (…, L, Ev) in the leading dimensions of query: PyTorch broadcasts nothing here."""
    array = unwrap(query)
    zeros = xp(array).zeros((*array.shape[:-1], value.shape[-1]), array.dtype)
    constant: Any = 0
    for x in (query, key, value):  # gradients are zeros
        constant = x.reshape(-1)[:0].sum() + constant
    return constant + wrap_like(zeros, query)


def attention_weights(
    query: Tensor,
    key: Tensor,
    attn_mask: Tensor | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(query·keyᵀ·scale + mask), (…, L, S): how much each query attends to each key.

    The arguments are those of `scaled_dot_product_attention`, whose result without dropout is
    `attention_weights(query, key, …) @ value`. Rows sum to 1, or to 0 if fully masked.
    """
    _check("attention_weights", query, key, None)
    query, key, _, bias, scale, _ = _prepare(
        "attention_weights", query, key, None, attn_mask, is_causal, scale, enable_gqa
    )
    a = AttentionWeights.apply(query, key, bias, scale, is_causal)
    return _join_heads(a) if enable_gqa else a


__all__ = ["attention_weights", "scaled_dot_product_attention"]
