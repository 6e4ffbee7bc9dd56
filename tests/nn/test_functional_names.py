"""Names of torch.nn.functional and torch.nn.modules that stand for something else here."""

from __future__ import annotations

import importlib
import itertools
import pkgutil
import warnings
from typing import Any

import numpy as np
import pytest

import nn
import nn.functional as F
import tinytensor as tt

X = np.random.default_rng(0).normal(size=(2, 4, 6, 6))
Q = np.random.default_rng(1).normal(size=(3, 2, 8))
K = np.random.default_rng(2).normal(size=(5, 2, 8))

# {function: (input, other arguments)}
VARIANTS: dict[str, tuple[Any, tuple]] = {
    "relu_": (X, ()),
    "elu_": (X, (0.5,)),
    "celu_": (X, (0.5,)),
    "selu_": (X, ()),
    "hardtanh_": (X, (-0.5, 0.5)),
    "leaky_relu_": (X, (0.2,)),
    "rrelu_": (X, (0.1, 0.2)),
    "threshold_": (X, (0.1, 3.0)),
    "max_pool1d_with_indices": (X[0], (2,)),
    "max_pool2d_with_indices": (X, (2,)),
    "max_pool3d_with_indices": (X, (2,)),
    "adaptive_max_pool1d_with_indices": (X[0], (2,)),
    "adaptive_max_pool2d_with_indices": (X, ((2, 3),)),
    "adaptive_max_pool3d_with_indices": (X, ((1, 2, 3),)),
    "native_channel_shuffle": (X, (2,)),
    "upsample": (X, (None, 2)),
    "upsample_nearest": (X, (3,)),
    "upsample_bilinear": (X, (3,)),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_variants(name: str) -> None:
    torch = pytest.importorskip("torch")
    array, args = VARIANTS[name]
    results = []
    for library, functional in ((tt, F), (torch, torch.nn.functional)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # older names are deprecated, in both
            x = library.tensor(array)
            y = getattr(functional, name)(x, *args)
        if name.endswith("_"):
            assert y is x
        results.append([r.numpy() for r in (y if isinstance(y, tuple) else (y,))])
    for ours, theirs in zip(*results):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.parametrize("separate, extra", [*itertools.product([False, True], repeat=2)])
@pytest.mark.parametrize("mask", ["none", "bool", "float", "padding"])
def test_multi_head_attention_forward(separate: bool, extra: bool, mask: str) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(3)
    weight = rng.normal(size=(24, 8)) / 3
    bias, own_k, own_v = rng.normal(size=24), rng.normal(size=(1, 1, 8)), rng.normal(size=(1, 1, 8))
    out_weight, out_bias = rng.normal(size=(8, 8)), rng.normal(size=8)
    hidden = rng.random((3, 5)) < 0.3
    results = []
    for library, functional in ((tt, F), (torch, torch.nn.functional)):
        leaves = [library.tensor(a, requires_grad=True) for a in (Q, K, weight, bias, out_weight)]
        q, k, w, b, o = leaves
        options: dict = {}
        if separate:
            options["use_separate_proj_weight"] = True
            for name, part in zip("qkv", w.chunk(3)):
                options[f"{name}_proj_weight"] = part
        if mask in ("bool", "float"):
            options["attn_mask"] = library.tensor(hidden if mask == "bool" else hidden * -1.5)
        if mask == "padding":
            options["key_padding_mask"] = library.tensor([[False] * 4 + [True], [False] * 5])
        more = (
            (library.tensor(own_k), library.tensor(own_v), True) if extra else (None, None, False)
        )
        y, scores = functional.multi_head_attention_forward(
            q, k, k, 8, 2, None if separate else w, b, *more, 0.0, o, library.tensor(out_bias),
            **options,
        )  # fmt: skip
        (y * y).sum().backward()
        found = [y, scores] + [leaf.grad for leaf in leaves]
        results.append([x.detach().numpy() for x in found])
        assert functional.multi_head_attention_forward(
            q, k, k, 8, 2, None if separate else w, b, *more, 0.0, o, None, need_weights=False,
            **options,
        )[1] is None  # fmt: skip
    for ours, theirs in zip(*results):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-11)


def test_multi_head_attention_forward_without_a_batch() -> None:
    attention = nn.MultiheadAttention(8, 2)
    q, k = tt.tensor(Q[:, 0]).float(), tt.tensor(K[:, 0]).float()
    y, scores = F.multi_head_attention_forward(
        q, k, k, 8, 2, attention.in_proj_weight, attention.in_proj_bias, None, None, False, 0.0,
        attention.out_proj.weight, attention.out_proj.bias, average_attn_weights=False,
    )  # fmt: skip
    expected, weights = attention(q, k, k, average_attn_weights=False)
    assert y.allclose(expected, atol=1e-6) and scores is not None and scores.allclose(weights)


def test_rrelu_draws_a_slope_for_each_element() -> None:
    x = -tt.ones(1000, dtype=tt.float64)
    slopes = -F.rrelu(x, 0.1, 0.4, training=True)
    assert 0.1 <= slopes.min() < 0.12 and 0.38 < slopes.max() < 0.4
    assert nn.RReLU().eval()(x).unique().numel() == 1


def test_fractional_max_pool_draws_windows() -> None:
    x = tt.arange(100.0).reshape(1, 1, 10, 10)
    first, second = (nn.FractionalMaxPool2d(2, 4)(x.expand(8, 8, 10, 10)) for _ in range(2))
    assert first.shape == (8, 8, 4, 4) and not first.equal(second)
    assert (first[..., -1, -1] == 99).all()


# ------------------------------------------------------------------------------------------
# nn.modules
# ------------------------------------------------------------------------------------------

MISSING = {"Container", "CrossMapLRN2d", "_functions", "linear_cross_entropy",
           "linear_cross_entropy_options"}  # fmt: skip


@pytest.mark.parametrize("root", ["nn.modules", "tinytensor.nn.modules"])
def test_every_path_of_pytorch(root: str) -> None:
    torch = pytest.importorskip("torch")
    for info in pkgutil.iter_modules(torch.nn.modules.__path__):
        if info.name in MISSING:
            continue
        theirs = importlib.import_module(f"torch.nn.modules.{info.name}")
        ours = importlib.import_module(f"{root}.{info.name}")
        for name in getattr(theirs, "__all__", ()):
            if hasattr(nn, name):
                assert getattr(ours, name) is getattr(nn, name), f"{info.name}.{name}"


def test_base_classes() -> None:
    from nn.modules.batchnorm import _BatchNorm
    from nn.modules.conv import _ConvNd, _ConvTransposeNd
    from nn.modules.loss import _Loss, _WeightedLoss
    from nn.modules.utils import _pair, _reverse_repeat_tuple, _single

    assert isinstance(nn.BatchNorm2d(3), _BatchNorm)
    assert not isinstance(nn.InstanceNorm2d(3), _BatchNorm)
    assert isinstance(nn.Conv1d(1, 1, 1), _ConvNd)
    assert isinstance(nn.ConvTranspose2d(1, 1, 1), _ConvTransposeNd)
    assert issubclass(nn.CTCLoss, _Loss) and issubclass(nn.NLLLoss, _WeightedLoss)
    assert _pair(3) == (3, 3) and _pair([1, 2]) == (1, 2) and _single(1) == (1,)
    assert _reverse_repeat_tuple((1, 2), 2) == (2, 2, 1, 1)
    assert nn.modules.Linear is nn.Linear
