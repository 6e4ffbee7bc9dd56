"""What the rows of the table do not show: refusals, several batches, randomness, given tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nn
import tinytensor as tt

from .scenario import Scenarios, listed, refused

scenario = Scenarios()


@scenario
def what_is_refused(nn: Any, library: Any) -> Any:
    x = library.ones(2, 3)
    actions: list[Callable] = [
        lambda: nn.Linear(4, 2)(x), lambda: nn.Bilinear(0, 2, 2),
        lambda: nn.Bilinear(3, 4, 2)(x, x),
        lambda: nn.Embedding(3, 2, padding_idx=3), lambda: nn.Embedding(3, 2)(x),
        lambda: nn.Embedding(3, 2)(library.tensor([3])), lambda: nn.Embedding.from_pretrained(x[0]),
        lambda: nn.Embedding(3, 2, _weight=x), lambda: nn.Hardtanh(1.0, -1.0),
        lambda: nn.Softmax2d()(x), lambda: nn.GLU()(x), lambda: nn.PReLU(2)(x),
        lambda: nn.Dropout(1.5), lambda: nn.Dropout(-0.1), lambda: nn.GroupNorm(2, 3),
        lambda: nn.GroupNorm(2, 4)(x), lambda: nn.LayerNorm(4)(x), lambda: nn.RMSNorm(4)(x),
        lambda: nn.BatchNorm1d(3)(x[0]), lambda: nn.BatchNorm1d(4)(x), lambda: nn.BatchNorm2d(3)(x),
        lambda: nn.BatchNorm1d(3)(x[:1]), lambda: nn.BatchNorm1d(3).eval()(x[:1]),
        lambda: nn.InstanceNorm1d(3)(x[0]), lambda: nn.InstanceNorm1d(3, affine=True)(x),
        lambda: nn.Unflatten(1, 3), lambda: nn.Unflatten(1, (3, "a")),
        lambda: nn.Unflatten(1, (2,))(x),
        lambda: nn.TripletMarginLoss(margin=0), lambda: nn.CrossEntropyLoss(reduction="all")(x, x),
        lambda: nn.CrossEntropyLoss()(x, library.tensor([0, 3])), lambda: nn.NLLLoss()(x, x),
        lambda: nn.BCELoss()(x * 2, x),
        lambda: nn.CrossEntropyLoss(label_smoothing=2.0)(x, library.tensor([0, 1])),
        lambda: nn.GaussianNLLLoss()(x, x, -x), lambda: nn.CosineEmbeddingLoss()(x, x, x),
    ]  # fmt: skip
    return [refused(action) for action in actions]


@scenario
def running_statistics_over_several_batches(nn: Any, library: Any) -> Any:
    seen = []
    for options in ({}, {"momentum": None}, {"momentum": 0.3, "affine": False},
                    {"track_running_stats": False}):  # fmt: skip
        norm = nn.BatchNorm1d(3, **options)
        for step in range(4):
            values = np.sin(np.arange(15.0) * (step + 1)).reshape(5, 3).astype(np.float32)
            seen.append(listed(norm(library.tensor(values))))
        seen.append([listed(t) for t in norm.state_dict().values()])
        norm.eval()
        seen.append(listed(norm(library.ones(2, 3))))
        norm.reset_running_stats()
        seen.append([listed(t) for t in norm.state_dict().values()])
    return seen


@scenario
def a_table_that_is_given(nn: Any, library: Any) -> Any:
    table = library.tensor([[1.0, 2.0], [3.0, 4.0], [0.0, 0.0]])
    frozen = nn.Embedding.from_pretrained(table)
    learned = nn.Embedding.from_pretrained(table, freeze=False, padding_idx=2)
    index = library.tensor([[0, 2], [1, 1]])
    learned(index).sum().backward()
    table[0, 0] = 9.0  # the table itself, not a copy
    return [
        listed(frozen(index)), frozen.weight.requires_grad, listed(learned.weight.grad),
        repr(frozen), repr(learned), repr(nn.Embedding(4, 2, max_norm=1.0, norm_type=1.0)),
        repr(nn.Embedding(4, 2, -1, sparse=True, scale_grad_by_freq=True)),
    ]  # fmt: skip


@scenario
def rows_are_scaled_down_where_they_are(nn: Any, library: Any) -> Any:
    table = library.tensor([[3.0, 4.0], [0.1, 0.1], [6.0, 8.0]])
    layer = nn.Embedding.from_pretrained(table, freeze=False, max_norm=1.0)
    y = layer(library.tensor([0, 1]))
    y.sum().backward()
    return [listed(y), listed(layer.weight), listed(layer.weight.grad)]


@scenario
def older_words_for_reduction(nn: Any, library: Any) -> Any:
    x, y = library.tensor([1.0, 2.0]), library.tensor([0.0, 4.0])
    losses = [nn.MSELoss(size_average=False), nn.L1Loss(reduce=False), nn.MSELoss(reduce=True),
              nn.SmoothL1Loss(False), nn.MSELoss(None, None, "sum")]  # fmt: skip
    return [[loss.reduction, listed(loss(x, y))] for loss in losses]


# The older words come with a warning, here as there.
scenario.functions[-1] = pytest.param(
    scenario.functions[-1], marks=pytest.mark.filterwarnings("ignore:.*size_average")
)


@scenario
def attributes(nn: Any, library: Any) -> Any:
    """Settings under the names that other people's code looks for."""
    lin, emb = nn.Linear(2, 3), nn.Embedding(4, 5, padding_idx=1)
    norm, batch = nn.LayerNorm(4), nn.BatchNorm2d(3)
    loss = nn.CrossEntropyLoss(ignore_index=0, label_smoothing=0.1)
    return [
        lin.in_features, lin.out_features, emb.num_embeddings, emb.embedding_dim, emb.padding_idx,
        emb.max_norm, emb.norm_type, emb.sparse, norm.normalized_shape, norm.eps,
        norm.elementwise_affine, batch.num_features, batch.momentum, batch.track_running_stats,
        nn.Dropout(0.3).p, nn.Dropout(0.3).inplace, nn.GELU().approximate, nn.Softmax(1).dim,
        nn.LeakyReLU().negative_slope, loss.ignore_index, loss.label_smoothing, loss.reduction,
        nn.GroupNorm(2, 4).num_groups, nn.RMSNorm(4).eps, nn.Flatten().start_dim,
        nn.Linear(2, 3, bias=False).bias, batch.num_batches_tracked.item(),
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["Dropout", "Dropout1d", "Dropout2d", "Dropout3d"])
def test_dropout_drops(name: str) -> None:
    tt.manual_seed(0)
    shape = {"Dropout": (100, 100), "Dropout1d": (100, 100, 2), "Dropout2d": (100, 100, 1, 2)}
    layer = getattr(nn, name)(0.3)
    x = tt.ones(shape.get(name, (100, 100, 1, 1, 2)), requires_grad=True)
    y = layer(x)
    kept = y.detach().numpy() != 0
    assert abs(kept.mean() - 0.7) < 0.02
    np.testing.assert_allclose(y.detach().numpy()[kept], 1 / 0.7, rtol=1e-6)
    y.sum().backward()
    assert tt.equal(x.grad, y.detach()), "the gradient passes where the value did"
    if name != "Dropout":  # whole channels
        assert (kept == kept[..., :1]).all()
    assert tt.equal(layer.eval()(x), x)


@pytest.mark.parametrize("name", ["AlphaDropout", "FeatureAlphaDropout"])
def test_alpha_dropout_keeps_mean_and_variance(name: str) -> None:
    tt.manual_seed(0)
    y = getattr(nn, name)(0.2)(tt.randn(100, 1000))
    assert abs(y.mean().item()) < 0.05 and y.std().item() == pytest.approx(1, rel=0.05)


def test_clip_loss_learns_its_temperature() -> None:
    tt.manual_seed(0)
    loss = nn.CLIPLoss(0.5)
    pairs = tt.randn(8, 16)
    loss(pairs, pairs).backward()
    assert loss.logit_scale.grad.item() < 0, "sharper is better when pairs match"
    assert not nn.CLIPLoss(learnable=False).logit_scale.requires_grad
    assert nn.CLIPLoss(1e-9)(pairs, pairs).isfinite().item()


ERRORS: list[tuple[Callable, type, str]] = [
    (lambda: nn.CLIPLoss()(tt.ones(2, 3), tt.ones(3, 3)), RuntimeError, r"expected \(N, D\)"),
    (lambda: nn.CLIPLoss(0.0), ValueError, "temperature must be greater than 0"),
    (lambda: nn.PairwiseRewardLoss()(tt.ones(2), tt.ones(3)), RuntimeError, "expected one shape"),
    (lambda: nn.PairwiseRewardLoss(reduction="x"), ValueError, "PairwiseRewardLoss: 'x'"),
    (lambda: nn.BatchNorm2d(3)(tt.ones(2, 3)), ValueError, r"BatchNorm2d: got an input of shape"),
    (lambda: nn.Dropout(2.0), ValueError, "Dropout: got p=2.0, expected a number from 0 to 1"),
    (lambda: nn.Sequential(nn.ReLU())[3], IndexError, "index 3 is out of range for 1 modules"),
]


@pytest.mark.parametrize("action, error, text", ERRORS, ids=[text for _, _, text in ERRORS])
def test_errors_say_what_was_got(action: Callable, error: type, text: str) -> None:
    with pytest.raises(error, match=text):
        action()


test_same_as_pytorch = scenario.test()
