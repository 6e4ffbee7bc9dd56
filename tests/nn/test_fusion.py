"""Batch norm merged into the layer before it; old keys of weight_norm; other names of nn.utils."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import nn
import tinytensor as tt
from nn.utils import (
    fuse_conv_bn_eval,
    fuse_linear_bn_eval,
    parametrizations,
    parametrize,
    skip_init,
    weight_norm,
)


def trained(bn: Any) -> Any:
    """Batch norm with statistics and weights that are not 0 and 1."""
    for tensor in (*bn.parameters(), bn.running_mean, bn.running_var):
        tensor.data = tt.rand_like(tensor) + 0.5
    return bn.eval()


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kind", ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose2d", "Linear"])
def test_fused(kind: str, bias: bool) -> None:
    dims = int(kind[-2]) if kind != "Linear" else 1
    bn = trained(getattr(nn, f"BatchNorm{dims}d")(4).double())
    if kind == "Linear":
        layer: Any = nn.Linear(3, 4, bias=bias).double().eval()
        x, fused = tt.randn(5, 3, dtype=tt.float64), fuse_linear_bn_eval(layer, bn)
    else:
        layer = getattr(nn, kind)(3, 4, 2, bias=bias).double().eval()
        x = tt.randn(2, 3, *(5,) * dims, dtype=tt.float64)
        fused = fuse_conv_bn_eval(layer, bn, transpose="Transpose" in kind)
    np.testing.assert_allclose(
        fused(x).detach().numpy(), bn(layer(x)).detach().numpy(), rtol=1e-9, atol=1e-12
    )
    assert fused.weight.requires_grad and fused.bias.dtype == tt.float64


def test_fusion_needs_evaluation() -> None:
    with pytest.raises(AssertionError, match="expected both in eval"):
        fuse_conv_bn_eval(nn.Conv2d(1, 1, 1), nn.BatchNorm2d(1))


def test_states_of_the_older_weight_norm() -> None:
    old = nn.Sequential(weight_norm(nn.Linear(3, 2)))
    new = nn.Sequential(parametrizations.weight_norm(nn.Linear(3, 2)))
    assert str(new.load_state_dict(old.state_dict())) == "<All keys matched successfully>"
    x = tt.randn(4, 3)
    assert new(x).allclose(old(x), atol=1e-6)
    assert pickle.dumps(new[0]._hooks_of("before_load"))


def test_type_before_parametrizations() -> None:
    layer = nn.Linear(2, 2)
    assert parametrize.type_before_parametrizations(layer) is nn.Linear
    parametrizations.weight_norm(layer)
    assert type(layer) is not nn.Linear
    assert parametrize.type_before_parametrizations(layer) is nn.Linear


def test_skip_init() -> None:
    assert tuple(skip_init(nn.Linear, 3, 2).weight.shape) == (2, 3)
