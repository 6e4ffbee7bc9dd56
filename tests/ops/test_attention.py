"""Attention: what must hold for the weights, whatever the numbers; masks; errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinytensor as tt

attend, weights = tt.scaled_dot_product_attention, tt.attention_weights
INF = float("inf")


def inputs(*batch: int, queries: int = 5, keys: int = 6, width: int = 4) -> list:
    tt.manual_seed(0)
    lengths = (queries, keys, keys)
    return [tt.randn(*batch, n, width, dtype=tt.float64).requires_grad_() for n in lengths]


def values(tensor: Any) -> np.ndarray:
    return tensor.detach().numpy()


@pytest.mark.parametrize("batch", [(), (2,), (2, 3), (2, 1, 3)])
@pytest.mark.parametrize("causal", [False, True])
def test_weights_sum_to_1_and_give_the_result(batch: tuple, causal: bool) -> None:
    q, k, v = inputs(*batch)
    a = weights(q, k, is_causal=causal)
    assert a.shape == (*batch, 5, 6)
    np.testing.assert_allclose(values(a).sum(-1), 1)
    expected = values(a @ v)
    np.testing.assert_allclose(values(attend(q, k, v, is_causal=causal)), expected)


def test_causal_attention_does_not_see_the_future() -> None:
    q, k, v = inputs(2, queries=6)
    before = values(attend(q, k, v, is_causal=True))
    for t in range(6):
        changed_k, changed_v = k.detach().clone(), v.detach().clone()
        changed_k[:, t] += 10
        changed_v[:, t] -= 10
        after = values(attend(q, changed_k, changed_v, is_causal=True))
        np.testing.assert_array_equal(after[:, :t], before[:, :t])
        assert (after[:, t] != before[:, t]).any()


def test_causal_gradients_come_from_the_past_only() -> None:
    q, k, v = inputs(queries=6)
    attend(q, k, v, is_causal=True)[2].sum().backward()
    assert k.grad.numpy()[:3].any() and not k.grad.numpy()[3:].any()
    assert v.grad.numpy()[:3].any() and not v.grad.numpy()[3:].any()


@pytest.mark.parametrize("kind", ["boolean", "additive"])
def test_padded_keys_have_exactly_no_weight(kind: str) -> None:
    q, k, v = inputs(2)
    real = tt.tensor([[True] * 4 + [False] * 2, [True] * 5 + [False]]).unsqueeze(1)  # (2, 1, 6)
    mask = real
    if kind == "additive":
        mask = tt.where(real, tt.zeros((), dtype=tt.float64), -INF)
    a = values(weights(q, k, mask))
    assert (a[0, :, 4:] == 0).all() and (a[1, :, 5:] == 0).all()
    # As if the padding were not there
    alone = attend(q[0], k[0, :4], v[0, :4])
    np.testing.assert_allclose(values(attend(q, k, v, mask))[0], values(alone), rtol=1e-12)


@pytest.mark.parametrize("kind", ["boolean", "additive"])
def test_a_query_that_sees_nothing_gives_zeros_and_no_gradient(kind: str) -> None:
    q, k, v = inputs(2)
    allowed = tt.ones(5, 6, dtype=tt.bool)
    allowed[3] = False
    mask = allowed
    if kind == "additive":
        zero = tt.zeros((), dtype=tt.float64)
        mask = tt.where(allowed, zero, -INF).requires_grad_()
    y = attend(q, k, v, mask)
    assert not values(y)[:, 3].any() and not values(weights(q, k, mask))[:, 3].any()
    (y * y).sum().backward()
    for tensor in (q, k, v, *([mask] if kind == "additive" else [])):
        assert np.isfinite(tensor.grad.numpy()).all()
    assert not q.grad.numpy()[:, 3].any() and q.grad.numpy()[:, 2].any()


def test_nothing_may_be_attended_at_all() -> None:
    q, k, v = inputs(2)
    y = attend(q, k, v, tt.zeros(5, 6, dtype=tt.bool))
    assert not values(y).any()
    y.sum().backward()
    assert not any(t.grad.numpy().any() for t in (q, k, v))


def test_second_order_with_a_row_that_sees_nothing() -> None:
    q, k, v = inputs()
    mask = tt.ones(5, 6, dtype=tt.bool)
    mask[0] = False
    (g,) = tt.autograd.grad((attend(q, k, v, mask) ** 2).sum(), [q], create_graph=True)
    (h,) = tt.autograd.grad((g * g).sum(), [k])
    assert np.isfinite(values(h)).all() and values(h).any()


@pytest.mark.parametrize("dtype", [tt.float32, tt.float64])
def test_huge_scores_do_not_overflow(dtype: tt.dtype) -> None:
    # The scores are 112 and 96: exp(112) is beyond float32.
    q = tt.tensor([[16.0]], dtype=dtype, requires_grad=True)
    k = tt.tensor([[7.0], [6.0]], dtype=dtype, requires_grad=True)
    v = tt.tensor([[1.0], [0.0]], dtype=dtype, requires_grad=True)
    y = attend(q, k, v, scale=1.0)
    np.testing.assert_allclose(values(y), 1 / (1 + np.exp(-16.0)), rtol=1e-6)
    y.sum().backward()
    for tensor in (q, k, v):
        assert np.isfinite(tensor.grad.numpy()).all()


def test_grouped_heads_equal_repeated_ones() -> None:
    tt.manual_seed(0)
    q, k, v = tt.randn(2, 6, 4, 3), tt.randn(2, 2, 5, 3), tt.randn(2, 2, 5, 3)
    grouped = attend(q, k, v, is_causal=True, enable_gqa=True)
    repeated = [x.repeat_interleave(3, 1) for x in (k, v)]
    plain = attend(q, *repeated, is_causal=True)
    np.testing.assert_allclose(values(grouped), values(plain), rtol=1e-5, atol=1e-6)
    a = weights(q, k, enable_gqa=True)
    expected = weights(q, repeated[0])
    np.testing.assert_allclose(values(a), values(expected), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("grouped", [False, True])
def test_dropout(grouped: bool) -> None:
    tt.manual_seed(0)
    heads = 1 if grouped else 4
    q, k = tt.zeros(2, 4, 50, 3), tt.zeros(2, heads, 40, 3)
    v = tt.ones(2, heads, 40, 1, requires_grad=True)
    y = attend(q, k, v, dropout_p=0.25, enable_gqa=grouped)
    kept = values(y) * 0.75 * 40  # all weights are 1/40: how many were kept
    np.testing.assert_allclose(kept, np.round(kept), atol=1e-3)
    assert abs(kept.mean() / 40 - 0.75) < 0.02 and kept.std() > 1
    y.sum().backward()
    np.testing.assert_allclose(v.grad.numpy().sum(), values(y).sum(), rtol=1e-4)


def test_everything_dropped() -> None:
    q, k, v = inputs(2)
    y = attend(q, k, v, dropout_p=1.0)
    y.sum().backward()
    assert not values(y).any() and not v.grad.numpy().any() and not q.grad.numpy().any()


def test_dropout_gradient() -> None:
    """With the same seed the dropped weights are the same: finite differences hold."""
    q, k, v = inputs(queries=3, keys=3, width=2)

    def function(*tensors: Any) -> Any:
        tt.manual_seed(5)
        return attend(*tensors, dropout_p=0.4)

    from tinytensor.autograd.gradcheck import gradcheck, gradgradcheck

    assert gradcheck(function, (q, k, v)) and gradgradcheck(function, (q, k, v))


@pytest.mark.parametrize(
    ("shapes", "options", "message"),
    [
        (((4,), (6, 4), (6, 4)), {}, r"query has shape \(4,\), expected at least 2 dimensions"),
        (((5, 4), (6, 3), (6, 4)), {}, r"query \(5, 4\) and key \(6, 3\) differ in their last"),
        (((5, 4), (6, 4), (7, 4)), {}, r"key \(6, 4\) and value \(7, 4\) differ in length"),
        (((2, 5, 4), (3, 6, 4), (3, 6, 4)), {}, r"\(2, 5, 4\), \(3, 6, 4\).* that broadcast"),
        (((5, 4), (6, 4), (6, 4)), {"attn_mask": tt.ones(5, 5, dtype=tt.bool)},
         r"attn_mask has shape \(5, 5\), expected one that broadcasts to \(5, 6\)"),
        (((5, 4), (6, 4), (6, 4)), {"attn_mask": tt.ones(2, 5, 6)}, r"broadcasts to \(5, 6\)"),
        (((5, 4), (6, 4), (6, 4)), {"attn_mask": tt.ones(5, 6, dtype=tt.int64)},
         "attn_mask is int64, expected bool .* or float32"),
        (((5, 4), (6, 4), (6, 4)), {"attn_mask": tt.ones(5, 6, dtype=tt.float64)},
         "attn_mask is float64, expected bool"),
        (((5, 4), (6, 4), (6, 4)), {"attn_mask": tt.ones(5, 6), "is_causal": True},
         "got both attn_mask and is_causal=True"),
        (((5, 5, 4), (3, 6, 4), (3, 6, 4)), {"enable_gqa": True}, "query has 5 heads, .* 3 heads"),
        (((5, 4), (6, 4), (6, 4)), {"enable_gqa": True}, "enable_gqa needs a dimension of heads"),
    ],
)  # fmt: skip
def test_errors(shapes: tuple, options: dict, message: str) -> None:
    with pytest.raises(RuntimeError, match=f"scaled_dot_product_attention: .*{message}"):
        attend(*(tt.ones(*shape) for shape in shapes), **options)


def test_mixed_dtypes_are_refused() -> None:
    with pytest.raises(RuntimeError, match="key is float64, query is float32"):
        attend(tt.ones(2, 3), tt.ones(2, 3, dtype=tt.float64), tt.ones(2, 3))


def test_bad_dropout_probability() -> None:
    q, k, v = inputs()
    with pytest.raises(ValueError, match=r"between 0 and 1, but got 1\.5"):
        attend(q, k, v, dropout_p=1.5)
