"""Losses: errors, warnings, and the corners of PyTorch's definitions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tinytensor as tt

LOGITS = tt.tensor([[1.0, 2.0, 3.0], [0.5, -1.0, 0.0]])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tt.cross_entropy(LOGITS, tt.tensor([0, 3])), IndexError,
         "cross_entropy: target 3 is out of bounds for 3 classes"),
        (lambda: tt.cross_entropy(LOGITS, tt.tensor([0, -1])), IndexError,
         "cross_entropy: target -1 is out of bounds for 3 classes"),
        (lambda: tt.nll_loss(LOGITS, tt.tensor([0, 3])), IndexError,
         "nll_loss: target 3 is out of bounds for 3 classes"),
        (lambda: tt.cross_entropy(LOGITS, tt.tensor([0, 1, 2])), ValueError,
         r"cross_entropy: target has shape \(3,\), expected \(2,\) .* input \(2, 3\)"),
        (lambda: tt.cross_entropy(tt.ones(2, 3, 4), tt.zeros(2, 5).long()), RuntimeError,
         r"cross_entropy: target has shape \(2, 5\), expected \(2, 4\)"),
        (lambda: tt.cross_entropy(LOGITS, tt.tensor([0.0, 1.0])), RuntimeError,
         "cross_entropy: target has dtype float32, expected integers"),
        (lambda: tt.cross_entropy(LOGITS, tt.zeros(2, 3).long()), RuntimeError,
         "cross_entropy: .* probabilities, but dtype int64"),
        (lambda: tt.cross_entropy(LOGITS, tt.tensor([0, 1]), tt.ones(4)), RuntimeError,
         r"cross_entropy: weight has shape \(4,\), expected \(3,\)"),
        (lambda: tt.cross_entropy(LOGITS, tt.tensor([0, 1]), tt.ones(3, requires_grad=True)),
         RuntimeError, "cross_entropy: weight requires grad"),
        (lambda: tt.cross_entropy(LOGITS, tt.tensor([0, 1]), label_smoothing=1.5), RuntimeError,
         "cross_entropy: label_smoothing must be between 0.0 and 1.0, got 1.5"),
        (lambda: tt.cross_entropy(LOGITS.long(), tt.tensor([0, 1])), RuntimeError,
         "cross_entropy: got .*int64"),
        (lambda: tt.mse_loss(LOGITS, LOGITS, reduction="avg"), ValueError,
         "mse_loss: 'avg' is not a valid value for reduction"),
        (lambda: tt.mse_loss(LOGITS, LOGITS, weight=tt.ones(3)), ValueError,
         r"mse_loss: weight has shape \(3,\), expected \(2, 3\)"),
        (lambda: tt.smooth_l1_loss(LOGITS, LOGITS, beta=-1), RuntimeError, "smooth_l1_loss: beta"),
        (lambda: tt.huber_loss(LOGITS, LOGITS, delta=0), RuntimeError, "huber_loss: delta is 0"),
        (lambda: tt.binary_cross_entropy(LOGITS, LOGITS), RuntimeError,
         "binary_cross_entropy: all elements of input should be between 0 and 1"),
        (lambda: tt.binary_cross_entropy(tt.ones(2), tt.ones(3)), ValueError,
         r"binary_cross_entropy: target has shape \(3,\), expected \(2,\)"),
        (lambda: tt.binary_cross_entropy_with_logits(tt.ones(2), tt.ones(3)), ValueError,
         r"binary_cross_entropy_with_logits: target has shape \(3,\), expected \(2,\)"),
        (lambda: tt.gaussian_nll_loss(LOGITS, LOGITS, -LOGITS), ValueError, "negative entry"),
        (lambda: tt.gaussian_nll_loss(LOGITS, LOGITS, tt.ones(3)), ValueError,
         r"gaussian_nll_loss: var has shape \(3,\)"),
        (lambda: tt.triplet_margin_loss(LOGITS, LOGITS, LOGITS, margin=0), ValueError,
         "triplet_margin_loss: margin must be greater than 0, got 0"),
        (lambda: tt.margin_ranking_loss(LOGITS, LOGITS, tt.ones(3)), RuntimeError,
         "margin_ranking_loss: .* the same number of dimensions"),
        (lambda: tt.cosine_embedding_loss(LOGITS, LOGITS, tt.ones(2, 3)), RuntimeError,
         "cosine_embedding_loss: got shapes"),
        (lambda: tt.multi_margin_loss(LOGITS, tt.tensor([0, 3])), RuntimeError,
         "multi_margin_loss: target 3 is out of range, expected 0 to 2"),
        (lambda: tt.multi_margin_loss(LOGITS, tt.tensor([0, 1]), p=3), ValueError, "p is 3"),
    ],
)  # fmt: skip
def test_errors(call: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"])
def test_broadcasting_a_target_warns(name: str) -> None:
    with pytest.warns(UserWarning, match=rf"{name}: using a target size \(3,\) .* size \(2, 3\)"):
        loss = getattr(tt, name)(LOGITS, tt.zeros(3))
    full = getattr(tt, name)(LOGITS, tt.zeros(2, 3))
    assert loss.item() == full.item()


@pytest.mark.parametrize(
    ("options", "reduction"),
    [
        ({"size_average": False}, "sum"),
        ({"size_average": True}, "mean"),
        ({"reduce": False}, "none"),
        ({"reduce": True}, "mean"),
        ({"size_average": False, "reduce": False}, "none"),
    ],
)
def test_older_words_for_reduction(options: dict, reduction: str) -> None:
    with pytest.warns(UserWarning, match=f"use reduction='{reduction}'"):
        loss = tt.mse_loss(LOGITS, LOGITS * 0, **options)
    assert loss.tolist() == tt.mse_loss(LOGITS, LOGITS * 0, reduction=reduction).tolist()


def test_kl_div_mean_warns() -> None:
    with pytest.warns(UserWarning, match="batchmean"):
        tt.kl_div(LOGITS, LOGITS.softmax(1))


@pytest.mark.parametrize("function", [tt.cross_entropy, tt.nll_loss])
def test_all_targets_ignored(function: Any) -> None:
    x = LOGITS.clone().requires_grad_()
    loss = function(x, tt.tensor([-100, -100]))
    assert math.isnan(loss.item())
    loss.backward()
    assert x.grad is not None and not x.grad.numpy().any()
    assert function(x, tt.tensor([-100, -100]), reduction="sum").item() == 0


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_ignored_rows_count_nothing(smoothing: float) -> None:
    x = tt.tensor([[1.0, 2.0, 3.0], [math.nan, 0.0, 0.0]])
    alone = tt.cross_entropy(x[:1], tt.tensor([1]), label_smoothing=smoothing)
    both = tt.cross_entropy(x, tt.tensor([1, -100]), label_smoothing=smoothing)
    assert both.item() == alone.item()


def test_cross_entropy_is_nll_of_log_softmax() -> None:
    x = tt.randn(4, 5, 3, dtype=tt.float64).requires_grad_()
    t = tt.randint(0, 5, (4, 3))
    w = tt.rand(5, dtype=tt.float64)
    fused = tt.cross_entropy(x, t, w)
    (g,) = tt.autograd.grad(fused, [x])
    plain = tt.nll_loss(tt.log_softmax(x, 1), t, w)
    (expected,) = tt.autograd.grad(plain, [x])
    np.testing.assert_allclose(fused.item(), plain.item())
    np.testing.assert_allclose(g.numpy(), expected.numpy(), atol=1e-15)


def test_cross_entropy_of_huge_logits() -> None:
    x = tt.tensor([[1e4, -1e4, 0.0]], requires_grad=True)
    loss = tt.cross_entropy(x, tt.tensor([1]))
    assert loss.item() == 2e4
    loss.backward()
    assert x.grad is not None and x.grad.tolist() == [[1.0, -1.0, 0.0]]


@pytest.mark.parametrize("dtype", [tt.uint8, tt.int32, tt.int64])
def test_any_integers_may_number_the_classes(dtype: tt.dtype) -> None:
    loss = tt.cross_entropy(LOGITS, tt.tensor([2, 0], dtype=dtype))
    assert loss.item() == tt.cross_entropy(LOGITS, tt.tensor([2, 0])).item()


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_class_numbers_and_their_one_hot_shares_agree(smoothing: float) -> None:
    t = tt.tensor([2, 0])
    shares = tt.tensor([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    a = tt.cross_entropy(LOGITS, t, label_smoothing=smoothing)
    b = tt.cross_entropy(LOGITS, shares, label_smoothing=smoothing)
    np.testing.assert_allclose(a.item(), b.item(), rtol=1e-6)


def test_the_gradient_does_not_change_the_logits() -> None:
    x = LOGITS.clone().requires_grad_()
    loss = tt.cross_entropy(x, tt.tensor([0, 1]))
    loss.backward(retain_graph=True)
    assert x.grad is not None
    first = x.grad.numpy().copy()
    loss.backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * first)
    np.testing.assert_array_equal(x.detach().numpy(), LOGITS.numpy())


def test_binary_cross_entropy_clamps_logarithms() -> None:
    x = tt.tensor([0.0, 1.0], requires_grad=True)
    loss = tt.binary_cross_entropy(x, tt.tensor([1.0, 0.0]), reduction="sum")
    assert loss.item() == 200
    loss.backward()
    assert x.grad is not None and np.isfinite(x.grad.numpy()).all()


def test_gaussian_variance_is_held_above_eps() -> None:
    loss = tt.gaussian_nll_loss(tt.zeros(2), tt.ones(2), tt.zeros(2), eps=0.25)
    np.testing.assert_allclose(loss.item(), 0.5 * (math.log(0.25) + 4), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_binary_cross_entropy_has_pytorchs_slope_at_the_ends(dtype: str) -> None:
    """Where x·(1 − x) is 0 or nearly so, PyTorch divides by 1e-12."""
    torch = pytest.importorskip("torch")
    found = []
    for library in (tt, torch):
        x = library.tensor([0.0, 1.0, 0.0, 1.0, 1e-13, 1e-10, 1e-5], dtype=getattr(library, dtype))
        t = library.tensor([0.0, 1.0, 1.0, 0.0, 0.5, 0.5, 0.5], dtype=x.dtype)
        x.requires_grad_()
        library.nn.functional.binary_cross_entropy(x, t, reduction="sum").backward()
        found.append(x.grad.numpy())
    np.testing.assert_allclose(*found, rtol=1e-5)


@pytest.mark.parametrize("scale", [0.0, 1e-7])
@pytest.mark.parametrize("which", [0, 1])
def test_cosine_embedding_loss_of_a_vector_of_no_length(which: int, scale: float) -> None:
    """PyTorch's eps under the root counts there."""
    torch = pytest.importorskip("torch")
    found = []
    for library in (tt, torch):
        pair = [library.tensor([v], dtype=library.float64) for v in ([3.0, -4.0], [1.0, 2.0])]
        pair[which] *= scale
        for x in pair:
            x.requires_grad_()
        loss = library.nn.functional.cosine_embedding_loss(*pair, library.tensor([1]))
        loss.backward()
        found.append(np.concatenate([loss.detach().numpy()[None], *(x.grad[0] for x in pair)]))
    np.testing.assert_allclose(*found, rtol=1e-7)  # PyTorch rounds its eps to float32
