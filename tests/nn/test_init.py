"""Starting values: their distributions, and those that layers begin with."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import nn
import tinytensor as tt
from tinytensor import devices
from tinytensor.create.generator import _defaults

from ..standin import fake_cupy as cp
from .scenario import Scenarios, listed, refused

scenario = Scenarios()
WEIGHT = (60, 50, 3)  # fan_in 150, fan_out 180


@pytest.fixture
def cuda() -> Iterator[None]:
    devices.register(cp)
    yield
    devices.unregister(cp)
    _defaults.pop(tt.device("cuda"), None)


# name, arguments, expected mean, expected standard deviation, expected low, expected high
DISTRIBUTIONS: list[tuple] = [
    ("uniform_", (), 0.5, 12**-0.5, 0, 1),
    ("uniform_", (-2.0, 4.0), 1, 6 * 12**-0.5, -2, 4),
    ("normal_", (), 0, 1, None, None),
    ("normal_", (3.0, 0.5), 3, 0.5, None, None),
    ("trunc_normal_", (), 0, 0.8796, -2, 2),
    ("trunc_normal_", (0.0, 1.0, 1.5, 3.0), 1.9224, 0.3468, 1.5, 3),
    ("trunc_normal_", (5.0, 1.0, 6.5, 8.0), 6.9224, 0.3468, 6.5, 8),
    ("trunc_normal_", (1.0, 0.02), 1, 0.02, None, None),
    ("xavier_uniform_", (), 0, math.sqrt(2 / 330), -math.sqrt(6 / 330), math.sqrt(6 / 330)),
    ("xavier_uniform_", (2.0,), 0, 2 * math.sqrt(2 / 330), None, None),
    ("xavier_normal_", (), 0, math.sqrt(2 / 330), None, None),
    ("kaiming_uniform_", (), 0, math.sqrt(2 / 150), -math.sqrt(6 / 150), math.sqrt(6 / 150)),
    ("kaiming_uniform_", (math.sqrt(5),), 0, (3 * 150) ** -0.5, -(150**-0.5), 150**-0.5),
    ("kaiming_normal_", (), 0, math.sqrt(2 / 150), None, None),
    ("kaiming_normal_", (0, "fan_out", "relu"), 0, math.sqrt(2 / 180), None, None),
    ("kaiming_normal_", (0, "fan_in", "tanh"), 0, 5 / 3 / math.sqrt(150), None, None),
]


@pytest.mark.parametrize(
    "name, args, mean, std, low, high", DISTRIBUTIONS, ids=lambda v: str(v) if v else ""
)
def test_distribution(
    name: str, args: tuple, mean: float, std: float, low: float, high: float
) -> None:
    tensor = nn.Parameter(tt.empty(WEIGHT))
    function = getattr(nn.init, name)
    generator = tt.Generator().manual_seed(0)
    assert function(tensor, *args, generator=generator) is tensor
    values = tensor.detach().numpy().astype(np.float64)
    count = values.size
    assert abs(values.mean() - mean) < 5 * std / math.sqrt(count)
    assert values.std() == pytest.approx(std, rel=5 / math.sqrt(count))
    if low is not None:
        span = high - low
        assert low <= values.min() < low + 0.02 * span
        assert high - 0.02 * span < values.max() <= high
    assert tensor.is_leaf and tensor.requires_grad and tensor.dtype == tt.float32
    again = function(tt.empty(WEIGHT), *args, generator=tt.Generator().manual_seed(0))
    assert tt.equal(again, tensor.detach()), "the same seed gives the same values"


@scenario
def fixed_values(nn: Any, library: Any) -> Any:
    def filled(function: Callable, shape: tuple, *args: Any) -> Any:
        return listed(function(library.empty(shape), *args))

    init = nn.init
    return [
        filled(init.constant_, (2, 2), 3.5), filled(init.ones_, (3,)), filled(init.zeros_, (2,)),
        filled(init.eye_, (2, 3)), filled(init.eye_, (3, 2)), filled(init.dirac_, (3, 2, 3)),
        filled(init.dirac_, (2, 2, 3, 3)), filled(init.dirac_, (4, 2, 3), 2),
        filled(init.dirac_, (2, 2, 2, 3, 1)),
    ]  # fmt: skip


@scenario
def gains(nn: Any, library: Any) -> Any:
    names = ["linear", "conv1d", "conv_transpose3d", "sigmoid", "tanh", "relu", "selu",
             "leaky_relu"]  # fmt: skip
    gain = nn.init.calculate_gain
    return [[float(gain(name)) for name in names], gain("leaky_relu", 0.2), gain("leaky_relu", 1)]


@scenario
def what_is_refused(nn: Any, library: Any) -> Any:
    init = nn.init
    flat, matrix = library.empty(3), library.empty(3, 3)
    actions: list[Callable] = [
        lambda: init.eye_(flat), lambda: init.dirac_(matrix), lambda: init.xavier_uniform_(flat),
        lambda: init.kaiming_normal_(flat), lambda: init.kaiming_uniform_(matrix, mode="fan"),
        lambda: init.orthogonal_(flat), lambda: init.sparse_(flat, 0.5),
        lambda: init.calculate_gain("gelu"), lambda: init.calculate_gain("leaky_relu", True),
        lambda: init.dirac_(library.empty(3, 2, 1), 2),
    ]  # fmt: skip
    return [refused(action) for action in actions]


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4), (4, 2, 3), (7, 1)])
@pytest.mark.parametrize("dtype", [tt.float32, tt.float64])
def test_orthogonal(shape: tuple, dtype: Any) -> None:
    q = nn.init.orthogonal_(tt.empty(shape, dtype=dtype), gain=2).reshape(shape[0], -1)
    product = q @ q.T if q.shape[0] <= q.shape[1] else q.T @ q
    np.testing.assert_allclose(product.numpy(), 4 * np.eye(len(product)), atol=1e-5)
    assert q.dtype == dtype


def test_sparse() -> None:
    values = nn.init.sparse_(tt.empty(50, 40), 0.3, std=2.0).numpy()
    assert ((values == 0).sum(axis=0) == 15).all()
    assert values[values != 0].std() == pytest.approx(2, rel=0.1)


@pytest.mark.parametrize("name", ["kaiming_uniform_", "kaiming_normal_"])
def test_nothing_to_fill_is_said(name: str) -> None:
    with pytest.warns(UserWarning, match="the tensor has no elements"):
        getattr(nn.init, name)(tt.empty(0, 3))


ALL = [name for name in nn.init.__all__ if name.endswith("_")]
ARGUMENTS = {"constant_": (2.0,), "sparse_": (0.5,)}


@pytest.mark.parametrize("name", ALL)
def test_on_the_standin(name: str, cuda: None) -> None:
    shape = (4, 4, 3) if name == "dirac_" else (4, 4)
    tensor = nn.Parameter(tt.empty(shape, device="cuda"))
    array = tensor.array
    getattr(nn.init, name)(tensor, *ARGUMENTS.get(name, ()))
    assert tensor.array is array and tensor.is_cuda and bool(tensor.isfinite().all())


# Layer, parameter, how its starting values are distributed: bounds, or mean and deviation
STARTS: list[tuple] = [
    (lambda: nn.Linear(100, 50), "weight", "uniform", 0.1),
    (lambda: nn.Linear(100, 5000), "bias", "uniform", 0.1),
    (lambda: nn.Bilinear(25, 30, 10), "weight", "uniform", 0.2),
    (lambda: nn.Bilinear(25, 3, 5000), "bias", "uniform", 0.2),
    (lambda: nn.Embedding(100, 50), "weight", "normal", 1.0),
    (lambda: nn.PReLU(7, init=0.1), "weight", "constant", 0.1),
    (lambda: nn.LayerNorm(7), "weight", "constant", 1.0),
    (lambda: nn.LayerNorm(7), "bias", "constant", 0.0),
    (lambda: nn.RMSNorm(7), "weight", "constant", 1.0),
    (lambda: nn.BatchNorm1d(7), "weight", "constant", 1.0),
    (lambda: nn.BatchNorm2d(7), "running_var", "constant", 1.0),
    (lambda: nn.BatchNorm2d(7), "running_mean", "constant", 0.0),
    (lambda: nn.GroupNorm(1, 7), "bias", "constant", 0.0),
    (lambda: nn.CLIPLoss(0.5), "logit_scale", "constant", math.log(2)),
]


@pytest.mark.parametrize("make, name, kind, size", STARTS, ids=lambda v: str(v)[:12])
def test_layers_start_as_in_pytorch(make: Callable, name: str, kind: str, size: float) -> None:
    tt.manual_seed(0)
    values = getattr(make(), name).detach().numpy()
    if kind == "constant":
        np.testing.assert_allclose(values, size, rtol=1e-6)
    elif kind == "uniform":
        assert np.abs(values).max() <= size and np.abs(values).max() > 0.98 * size
        assert values.std() == pytest.approx(size / math.sqrt(3), rel=0.05)
    else:
        assert values.std() == pytest.approx(size, rel=0.05) and abs(values.mean()) < 0.05


def test_the_padding_row_starts_as_zero() -> None:
    assert nn.Embedding(4, 3, padding_idx=-2).weight[2].tolist() == [0, 0, 0]


@pytest.mark.parametrize("dtype", [tt.float64, tt.float16])
def test_layers_take_a_dtype_and_a_device(dtype: Any, cuda: None) -> None:
    for make in (
        lambda **o: nn.Linear(2, 2, **o), lambda **o: nn.Bilinear(2, 2, 2, **o),
        lambda **o: nn.Embedding(2, 2, **o), lambda **o: nn.LayerNorm(2, **o),
        lambda **o: nn.RMSNorm(2, **o), lambda **o: nn.GroupNorm(1, 2, **o),
        lambda **o: nn.BatchNorm1d(2, **o), lambda **o: nn.PReLU(**o),
        lambda **o: nn.CLIPLoss(**o), lambda **o: nn.InstanceNorm1d(2, affine=True, **o),
    ):  # fmt: skip
        layer = make(dtype=dtype, device="cuda")
        for tensor in layer.state_dict().values():
            assert tensor.is_cuda and (tensor.dtype == dtype or not tensor.is_floating_point())


test_same_as_pytorch = scenario.test()
