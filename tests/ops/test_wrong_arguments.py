"""Arguments that PyTorch refuses are refused here, and inputs without elements agree with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinytensor as tt

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of this test")

# Each takes the library (tinytensor or torch) and makes the call.
REFUSED: list[Callable] = [
    lambda t: t.addmm(t.ones(2, 2), t.ones(2, 2), t.ones(2, 2), beta=None),
    lambda t: t.baddbmm(t.ones(1), t.ones(1, 2, 2), t.ones(1, 2, 2), alpha=[1]),
    lambda t: t.addbmm(t.ones(1), t.ones(1, 2, 2), t.ones(1, 2, 2), beta=[1]),
    lambda t: t.dist(t.ones(2), t.ones(2), None),
    lambda t: t.var(t.ones(3), [False]),
    lambda t: t.aminmax(t.ones(2), dim=[0]),
    lambda t: t.multinomial(t.ones(3), 1, replacement=[True]),
    lambda t: t.bucketize([1, 2], t.ones(2)),
    lambda t: t.isin(t.ones(2), [1, 2]),
    lambda t: t.normal([1.0], t.ones(2)),
    lambda t: t.tril_indices(-1, 2),
    lambda t: t.triu_indices(2, -1),
    lambda t: t.round(t.ones(2), decimals=1.5),
    lambda t: t.rot90(t.ones(2, 2), 0.5),
    lambda t: t.repeat_interleave(t.ones(2), [2]),
    lambda t: t.constant_pad_nd(t.ones(2), (1, 1), None),
    lambda t: t.fft.fft2(t.ones(2, 2), dim=None),
    lambda t: t.trapezoid(t.ones(3), t.ones(1, 3)),
    lambda t: t.linalg.vander(t.ones(1)),
    lambda t: t.linalg.tensorinv(t.ones(1), ind=3),
    lambda t: t.linspace(t.ones(2), 3, 3),
    lambda t: t.Tensor.__radd__(2, t.ones(2)),
    lambda t: t.nn.functional.pad(t.ones(2, 3), (1, 1), value=[1.0]),
    lambda t: t.nn.functional.pad(t.ones(1, 2, 3, 3), (1, 1), "circular"),
    lambda t: t.nn.functional.pad(t.ones(2, 0, 3), (1, 1), "reflect"),
    lambda t: t.nn.functional.pad(t.ones(2, 3, 3) > 0, (1, 1), "replicate"),
    lambda t: t.nn.functional.avg_pool2d(t.ones(1, 4, 4), 2, divisor_override=2.5),
    lambda t: t.nn.functional.adaptive_avg_pool2d(t.ones(1, 4, 4), None),
    lambda t: t.nn.functional.adaptive_max_pool2d(t.ones(2, 0, 4, 4), 2),
    lambda t: t.nn.functional.max_unpool2d(
        t.ones(1, 1, 1), t.zeros(1, 1, 1, dtype=t.int64), (2, 2), padding=[0]
    ),
    lambda t: t.nn.functional.conv2d(t.ones(1, 1, 4, 0), t.ones(1, 1, 2, 2), padding=2),
    lambda t: t.nn.functional.layer_norm(t.ones(2), (2,), eps=[1e-5]),
    lambda t: t.nn.functional.rms_norm(t.ones(2), (2.5,)),
    lambda t: t.nn.functional.instance_norm(t.ones(2, 3, 4), t.ones(3), None),
    lambda t: t.nn.functional.bilinear(t.ones(3), t.ones(4), t.ones(5, 3, 4), t.ones(1, 5)),
    lambda t: t.nn.functional.one_hot(t.ones(2, dtype=t.int64), 2.5),
    lambda t: t.nn.functional.cosine_similarity(t.ones(2), t.ones(2), dim=None),
    lambda t: t.nn.functional.pairwise_distance(t.ones(2), t.ones(2), eps=t.ones(2)),
    lambda t: t.nn.functional.cross_entropy(
        t.ones(2, 3), t.ones(2, dtype=t.int64), ignore_index=None
    ),
    lambda t: t.nn.functional.soft_margin_loss(t.ones(5, 5), t.ones(5, 1, 5)),
    lambda t: t.nn.functional.multi_margin_loss(t.ones(2, 3), t.ones(2)),
    lambda t: t.nn.functional.triplet_margin_loss(*[t.ones(2, 2)] * 3, swap="no"),
    lambda t: t.nn.functional.scaled_dot_product_attention(*[t.ones(2, 2)] * 3, is_causal=None),
    lambda t: t.nn.functional.interpolate(
        t.ones(1, 1, 4, 4), 2, mode="bilinear", align_corners=[True]
    ),
]


@pytest.mark.parametrize("call", REFUSED, ids=range(len(REFUSED)))
def test_refused_as_in_pytorch(call: Callable) -> None:
    kinds = (TypeError, ValueError, RuntimeError, IndexError)
    with pytest.raises(kinds):
        call(torch)
    with pytest.raises(kinds) as caught:
        call(tt)
    assert "object has no attribute" not in str(caught.value)


COMPUTED: list[Callable] = [
    lambda t: t.add(t.ones(2), 2, alpha=2.5),
    lambda t: t.sub(t.ones(2, dtype=t.int64), 1.5, alpha=2.5),
    lambda t: t.add(t.ones(2) > 0, True, alpha=2),
    lambda t: t.topk(t.tensor(1.0), 0).values,
    lambda t: t.linalg.pinv(t.ones(0, 5), hermitian=True),
    lambda t: t.linalg.matrix_rank(t.ones(0, 3, 5), hermitian=True),
    lambda t: t.linalg.tensorsolve(t.ones(0, 4, 4, 3), t.ones(0, 4), dims=(0, 2)),
    lambda t: t.lu_unpack(t.ones(3, 2), t.tensor([2, 2, 3], dtype=t.int32)).P,
    lambda t: t.nn.functional.adaptive_avg_pool2d(t.ones(2, 4, 0), 1),
    lambda t: t.nn.functional.adaptive_max_pool2d(t.ones(0, 4, 4), (2, 3)),
    lambda t: t.nn.functional.adaptive_max_pool2d(t.ones(2, 4, 4), (2, 0)),
    lambda t: t.nn.functional.nll_loss(
        t.ones(2, 0), t.zeros(2, dtype=t.int64), ignore_index=0, reduction="none"
    ),
    lambda t: t.nn.functional.cross_entropy(t.ones(2, 0), t.ones(2, 0)),
    lambda t: t.nn.functional.batch_norm(t.ones(0), None, None, training=True),
    lambda t: t.nn.functional.multi_margin_loss(t.tensor(0.5), t.tensor(0)),
    lambda t: t.nn.functional.feature_alpha_dropout(t.ones(3), 1.0, True),
    lambda t: t.nn.functional.unfold(t.ones(1, 3, 3) > 0, 2, padding=1),
    lambda t: t.nn.functional.multilabel_soft_margin_loss(t.ones(5, 1), t.ones(5)),
    lambda t: t.nn.functional.scaled_dot_product_attention(
        t.ones(4, 3, 0), t.ones(4, 4, 6, 0), t.ones(4, 4, 6, 0)
    ),
    lambda t: t.nn.functional.binary_cross_entropy_with_logits(t.ones(2).double(), t.ones(2)),
]


@pytest.mark.parametrize("call", COMPUTED, ids=range(len(COMPUTED)))
def test_computed_as_in_pytorch(call: Callable) -> None:
    mine: Any = call(tt)
    theirs = call(torch)
    assert mine.dtype.name == str(theirs.dtype).removeprefix("torch.")
    np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-6)
