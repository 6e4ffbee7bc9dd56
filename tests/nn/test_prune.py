"""nn.utils.prune: masks, states and trained weights as in PyTorch; and older names of functions."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nn
import tinytensor as tt
from nn.utils import prune

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of this test")
pytest.importorskip("torch.nn.utils.prune")


def net(library: Any) -> Any:
    rng = np.random.default_rng(0)
    layers = library.nn
    model = layers.Sequential(
        layers.Conv2d(2, 4, 3), layers.ReLU(), layers.Flatten(), layers.Linear(16, 5)
    )
    with library.no_grad():
        for p in model.parameters():
            p.copy_(library.tensor(rng.standard_normal(tuple(p.shape)).astype(np.float32)))
    return model


def once(p: Any, m: Any, library: Any) -> None:
    p.l1_unstructured(m[3], name="weight", amount=0.3)


def by_count(p: Any, m: Any, library: Any) -> None:
    p.l1_unstructured(m[3], "bias", amount=2)


def by_scores(p: Any, m: Any, library: Any) -> None:
    scores = library.arange(80.0).reshape(5, 16)
    p.l1_unstructured(m[3], "weight", 0.25, importance_scores=scores)


def twice(p: Any, m: Any, library: Any) -> None:
    p.l1_unstructured(m[0], "weight", 0.5)
    p.ln_structured(m[0], name="weight", amount=0.5, n=2, dim=0)
    p.l1_unstructured(m[0], "weight", 3)


def channels(p: Any, m: Any, library: Any) -> None:
    p.ln_structured(m[0], "weight", amount=1, n=1, dim=1)
    p.ln_structured(m[3], "weight", amount=0.4, n=float("inf"), dim=-1)
    p.ln_structured(m[3], "weight", amount=0.2, n=2, dim=0)


def mask(p: Any, m: Any, library: Any) -> None:
    p.custom_from_mask(m[3], name="bias", mask=library.tensor([0, 1, 0, 1, 1]))
    p.identity(m[0], "bias")


def everywhere(p: Any, m: Any, library: Any) -> None:
    p.global_unstructured(
        ((m[0], "weight"), (m[3], "weight")), pruning_method=p.L1Unstructured, amount=0.2
    )
    p.global_unstructured(
        [(m[0], "weight"), (m[3], "weight")], pruning_method=p.L1Unstructured, amount=10
    )


@pytest.mark.parametrize("how", [once, by_count, by_scores, twice, channels, mask, everywhere])
def test_as_in_pytorch(how: Callable) -> None:
    ours, theirs = net(tt), net(torch)
    x = np.random.default_rng(1).standard_normal((3, 2, 4, 4)).astype(np.float32)
    for library, p, model in ((tt, prune, ours), (torch, torch.nn.utils.prune, theirs)):
        how(p, model, library)
        optimizer = library.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        for _ in range(3):
            optimizer.zero_grad()
            model(library.tensor(x)).square().mean().backward()
            optimizer.step()
        model(library.tensor(x))
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for key, value in theirs.state_dict().items():
        np.testing.assert_allclose(ours.state_dict()[key].numpy(), value.numpy(), 1e-4, 1e-5, key)
    assert prune.is_pruned(ours) and torch.nn.utils.prune.is_pruned(theirs)
    assert [n for n, _ in ours.named_buffers()] == [n for n, _ in theirs.named_buffers()]
    for i, name in ((0, "weight"), (0, "bias"), (3, "weight"), (3, "bias")):
        if hasattr(theirs[i], name + "_mask"):
            prune.remove(ours[i], name)
            torch.nn.utils.prune.remove(theirs[i], name)
    assert not prune.is_pruned(ours)
    assert sorted(ours.state_dict()) == sorted(theirs.state_dict())
    for key, value in theirs.state_dict().items():
        np.testing.assert_allclose(ours.state_dict()[key].numpy(), value.numpy(), 1e-4, 1e-5, key)


def test_random_methods_prune_as_many_as_asked_for() -> None:
    tt.manual_seed(0)
    layer = nn.Linear(10, 8)
    prune.random_unstructured(layer, "weight", 0.25)
    assert (layer.weight == 0).sum().item() == 20
    prune.random_structured(layer, "weight", amount=3, dim=0)
    assert (layer.weight.abs().sum(dim=1) == 0).sum().item() == 3
    assert prune.RandomUnstructured(4).prune(tt.ones(10)).sum().item() == 6


def test_pruned_modules_are_saved() -> None:
    layer = nn.Linear(4, 3)
    prune.l1_unstructured(layer, "weight", 5)
    x = tt.ones(2, 4)
    with tt.no_grad():
        layer.weight_orig.fill_(1.0)
    assert (layer(x) - layer.bias).sum().item() == 14  # 2 rows of the 7 ones that are left
    buffer = io.BytesIO()
    tt.save(layer.state_dict(), buffer)
    buffer.seek(0)
    fresh = prune.identity(nn.Linear(4, 3), "weight")
    fresh.load_state_dict(tt.load(buffer))
    assert tt.equal(fresh(x), layer(x))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda m: prune.l1_unstructured(m, "weight", 1.5), ValueError, "got amount 1.5"),
        (lambda m: prune.l1_unstructured(m, "weight", -1), ValueError, "got amount -1"),
        (lambda m: prune.l1_unstructured(m, "weight", 99), ValueError, "expected at most 12"),
        (lambda m: prune.l1_unstructured(m, "weight", "x"), TypeError, "expected a number"),
        (lambda m: prune.remove(m, "weight"), ValueError, "is not pruned"),
        (lambda m: prune.ln_structured(m, "bias", 1, 2, 0), ValueError, "≥ 2 dims"),
        (lambda m: prune.ln_structured(m, "weight", 1, 2, 4), IndexError, "got dim 4"),
    ],
)
def test_wrong_arguments_are_refused_and_nothing_changes(
    call: Callable, error: type, message: str
) -> None:
    layer = nn.Linear(4, 3)
    before = list(layer.state_dict())
    with pytest.raises(error, match=message):
        call(layer)
    assert list(layer.state_dict()) == before and not prune.is_pruned(layer)


def test_older_names_warn_and_work() -> None:
    weight = tt.empty(3, 4)
    with pytest.warns(FutureWarning, match="nn.init.constant: an older name"):
        assert nn.init.constant(weight, 2.0) is weight and weight.sum().item() == 24
    for name in ("xavier_uniform", "kaiming_normal", "orthogonal", "normal", "uniform"):
        with pytest.warns(FutureWarning, match=name):
            getattr(nn.init, name)(weight)
    leaf = tt.ones(4, requires_grad=True)
    leaf.sum().backward()
    with pytest.warns(FutureWarning, match="use clip_grad_norm_"):
        assert nn.utils.clip_grad_norm([leaf], 1.0).item() == 2.0
    from nn.utils.stateless import functional_call

    layer = nn.Linear(2, 1)
    other = {"weight": tt.ones(1, 2), "bias": tt.zeros(1)}
    assert functional_call(layer, other, tt.ones(1, 2)).item() == 2.0
