"""nn.attention.flex_attention against the formula in PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from nn.attention.flex_attention import (
    AuxRequest,
    BlockMask,
    and_masks,
    create_block_mask,
    create_mask,
    flex_attention,
    or_masks,
)

import tinytensor as tt

torch: Any = pytest.importorskip("torch")
B, H, L, S, E = 2, 2, 5, 7, 4
DOCUMENT = [0, 0, 1, 1, 1, 2, 2]


def causal(b: Any, h: Any, q: Any, k: Any) -> Any:
    return q >= k


def near(b: Any, h: Any, q: Any, k: Any) -> Any:
    return (q - k).abs() <= 1


def no_first_row(b: Any, h: Any, q: Any, k: Any) -> Any:
    return (q > k) | (b < 0)


def same_document(b: Any, h: Any, q: Any, k: Any) -> Any:
    lib = tt if isinstance(q, tt.Tensor) else torch
    document = lib.tensor(DOCUMENT)
    return document[q] == document[k]


def by_head(b: Any, h: Any, q: Any, k: Any) -> Any:
    return (q + h) % 2 == (k + b) % 2


def alibi(score: Any, b: Any, h: Any, q: Any, k: Any) -> Any:
    return score - (q - k).abs() * 0.5 ** (h + 1)


def softcap(score: Any, b: Any, h: Any, q: Any, k: Any) -> Any:
    return 2 * (score / 2).tanh()


def causal_score(score: Any, b: Any, h: Any, q: Any, k: Any) -> Any:
    lib = tt if isinstance(q, tt.Tensor) else torch
    return lib.where(q >= k, score, -float("inf"))


MASKS = [None, causal, near, no_first_row, same_document, by_head]
SCORES = [None, alibi, softcap, causal_score]


def arrays(dtype: Any, heads: int = H) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    shapes = [(B, H, L, E), (B, heads, S, E), (B, heads, S, 3)]
    return [rng.normal(size=shape).astype(dtype) for shape in shapes]


def by_formula(q: Any, k: Any, v: Any, score_mod: Any, mask: Any, scale: float = 0.5) -> tuple:
    """Attention as the definition has it, in PyTorch."""
    places = [
        torch.arange(n).reshape([n if i == d else 1 for i in range(4)])
        for d, n in enumerate((B, H, L, S))
    ]
    scores = q @ k.mT * scale
    if score_mod is not None:
        scores = score_mod(scores, *places)
    if mask is not None:
        scores = scores.masked_fill(~mask(*places).expand(B, H, L, S), -float("inf"))
    weights = torch.softmax(scores, -1).nan_to_num(0.0)
    return weights @ v, torch.logsumexp(scores, -1)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("score_mod", SCORES)
def test_values_and_gradients(score_mod: Any, mask: Any, dtype: Any) -> None:
    given = arrays(dtype)
    ours = [tt.tensor(a, requires_grad=True) for a in given]
    theirs = [torch.tensor(a, requires_grad=True) for a in given]
    blocks = None if mask is None else create_block_mask(mask, B, H, L, S, BLOCK_SIZE=2)
    y, lse = flex_attention(*ours, score_mod=score_mod, block_mask=blocks, return_lse=True)
    q, k, v = theirs
    expected, expected_lse = by_formula(q, k, v, score_mod, mask)
    close = 1e-9 if dtype is np.float64 else 2e-5
    assert y.array.dtype == dtype
    assert np.allclose(y.numpy(force=True), expected.detach(), rtol=close, atol=close)
    assert np.allclose(lse.numpy(force=True), expected_lse.detach(), rtol=close, atol=close)
    if mask is no_first_row:
        return  # rows of NaN in the formula have no gradient
    grads = tt.autograd.grad((y * y).sum(), ours)
    expected_grads = torch.autograd.grad((expected * expected).sum(), theirs)
    for mine, other in zip(grads, expected_grads):
        assert np.allclose(mine.numpy(), other, rtol=close * 10, atol=close * 10)


def test_a_row_without_keys_gives_zeros_and_gradients_without_nan() -> None:
    q, k, v = [tt.tensor(a, requires_grad=True) for a in arrays(np.float64)]
    mask = create_block_mask(no_first_row, None, None, L, S, BLOCK_SIZE=(3, 2))
    y = flex_attention(q, k, v, block_mask=mask)
    assert (y[:, :, 0] == 0).all()
    y.sum().backward()
    for x in (q, k, v):
        assert x.grad is not None and x.grad.isfinite().all()


def test_gradient_of_a_captured_bias() -> None:
    bias = tt.zeros(H, L, S, dtype=tt.float64, requires_grad=True)
    given = [tt.tensor(a) for a in arrays(np.float64)]
    y = flex_attention(*given, score_mod=lambda s, b, h, q, k: s + bias[h, q, k])
    y.sum().backward()
    assert bias.grad is not None and bias.grad.shape == bias.shape and bias.grad.any()


def test_grouped_queries_and_aux() -> None:
    q, k, v = arrays(np.float64, heads=1)
    y, aux = flex_attention(
        tt.tensor(q), tt.tensor(k), tt.tensor(v), enable_gqa=True,
        return_aux=AuxRequest(lse=True, max_scores=True),
    )  # fmt: skip
    wide = [torch.tensor(np.repeat(a, H, 1)) for a in (k, v)]
    expected, lse = by_formula(torch.tensor(q), wide[0], wide[1], None, None)
    assert np.allclose(y.numpy(), expected) and np.allclose(aux.lse.numpy(), lse)
    assert np.allclose(aux.max_scores.numpy(), (torch.tensor(q) @ wide[0].mT * 0.5).amax(-1))


@pytest.mark.parametrize("size", [(3, 2), (128, 128)])
@pytest.mark.parametrize("mask", [causal, near, same_document, by_head])
def test_blocks_are_pytorchs(mask: Any, size: tuple) -> None:
    from torch.nn.attention import flex_attention as theirs

    ours = create_block_mask(mask, B, H, L, S, BLOCK_SIZE=size)
    if mask is same_document:  # by vmap, which has no `isinstance(q, Tensor)`
        expected = theirs.create_block_mask(
            lambda b, h, q, k: torch.tensor(DOCUMENT)[q] == torch.tensor(DOCUMENT)[k],
            B, H, L, S, device="cpu", BLOCK_SIZE=size,
        )  # fmt: skip
    else:
        expected = theirs.create_block_mask(mask, B, H, L, S, device="cpu", BLOCK_SIZE=size)
    for name in ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices"):
        assert np.array_equal(getattr(ours, name).numpy(), getattr(expected, name)), name
    assert ours.shape == expected.shape and ours.BLOCK_SIZE == expected.BLOCK_SIZE
    assert ours.sparsity() == pytest.approx(expected.sparsity())
    assert ours.numel() == expected.numel()
    assert np.array_equal(ours.to_dense().numpy(), expected.to_dense())


def test_masks_and_parts() -> None:
    both = create_mask(and_masks(causal, near), None, None, 3, 3)
    assert both.int().tolist() == [[[[1, 0, 0], [1, 1, 0], [0, 1, 1]]]]
    either = create_mask(or_masks(causal, near), None, None, 3, 3)
    assert either.int().tolist() == [[[[1, 1, 0], [1, 1, 1], [1, 1, 1]]]]
    mask = create_block_mask(by_head, 2, 3, 4, 4, BLOCK_SIZE=2)
    assert mask[0].shape == (1, 3, 4, 4) and mask[:, 1:].shape == (2, 2, 4, 4)
    assert "BlockMask(shape=(2, 3, 4, 4)" in repr(mask) and "██" in str(mask)


def test_a_mask_from_lists_of_blocks() -> None:
    number, indices = tt.tensor([[[1, 2]]]), tt.tensor([[[[1, 0], [0, 1]]]])
    mask = BlockMask.from_kv_blocks(number, indices, BLOCK_SIZE=2)
    assert mask.kept(1, 1)[0, 0].int().tolist() == [[0, 0, 1, 1]] * 2 + [[1, 1, 1, 1]] * 2


def test_refused() -> None:
    q, k, v = [tt.tensor(a) for a in arrays(np.float32)]
    mask = create_block_mask(causal, None, None, 4, S)
    for call, error, message in [
        (lambda: flex_attention(q, k.double(), v), ValueError, "one dtype"),
        (lambda: flex_attention(q[0], k[0], v[0]), NotImplementedError, "expected"),
        (lambda: flex_attention(q, k[..., :2], v), ValueError, "expected"),
        (lambda: flex_attention(q, k[:, :1], v[:, :1]), ValueError, "enable_gqa"),
        (lambda: flex_attention(q, k, v, block_mask=mask), ValueError, "lengths"),
        (lambda: create_block_mask(None, 1, 1, 2, 2), AssertionError, "mask_mod"),
        (lambda: or_masks(causal, 1), RuntimeError, "functions"),
    ]:
        with pytest.raises(error, match=message):
            call()
