"""Kernels for a GPU, on the stand-in for CuPy, which reads their code and runs it on NumPy."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import devices
from tinytensor.kernels import gpu
from tinytensor.kernels.machinery import route

from ..ops.table import Row
from ..ops.test_table import assert_same, call, each, flatten, gradients, tensors_of, weights_for
from ..standin import fake_cupy as cp
from ..standin.raw_kernels import ElementwiseKernel
from .rows import ROWS

NAMES = ("gelu", "silu", "layer_norm", "rms_norm", "cross_entropy", "batch_norm")
GPU_ROWS = [row for row in ROWS if row.name in NAMES]


@pytest.fixture(autouse=True)
def cuda() -> Iterator[None]:
    devices.register(cp)
    yield
    devices.unregister(cp)
    tt.set_kernels("auto")


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the kernels that run."""
    names: list[str] = []
    own = ElementwiseKernel.__call__

    def spied(self: Any, *args: Any) -> Any:
        names.append(self.name)
        return own(self, *args)

    monkeypatch.setattr(ElementwiseKernel, "__call__", spied)
    return names


@each(GPU_ROWS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["f64", "f32"])
def test_same_as_on_the_cpu(row: Row, dtype: Any, launched: list[str]) -> None:
    tolerance = 1e-9 if dtype is np.float64 else 2e-5
    on_gpu = tensors_of(row, row.arrays(), dtype, device="cuda")
    found = flatten(call(row, on_gpu))
    weights = weights_for(found)
    dx = gradients(found, on_gpu, weights)
    assert launched and all(y.is_cuda for y in (*found, *dx))
    count = len(launched)

    tt.set_kernels("numpy")
    on_cpu = tensors_of(row, row.arrays(), dtype)
    expected = flatten(call(row, on_cpu))
    assert_same(row, found, expected, tolerance, tolerance)
    assert_same(row, dx, gradients(expected, on_cpu, weights), tolerance, tolerance)
    assert len(launched) == count


def test_numpy_turns_them_off(launched: list[str]) -> None:
    tt.set_kernels("numpy")
    tt.gelu(tt.ones(3, device="cuda"))
    assert launched == []


def test_second_derivatives_go_through_the_rule(launched: list[str]) -> None:
    x = tt.tensor([0.3, -0.4], dtype=tt.float64, device="cuda", requires_grad=True)
    (g,) = tt.autograd.grad(tt.silu(x).sum(), x, create_graph=True)
    (second,) = tt.autograd.grad(g.sum(), x)
    s = 1 / (1 + np.exp(-np.array([0.3, -0.4])))
    expected = s * (1 - s) * (2 + np.array([0.3, -0.4]) * (1 - 2 * s))
    np.testing.assert_allclose(second.cpu().numpy(), expected, rtol=1e-12)
    assert launched == ["tinytensor_silu"]


@pytest.mark.parametrize("name", ["Adam", "AdamW"])
@pytest.mark.parametrize("options", [{}, {"weight_decay": 0.1}, {"maximize": True}], ids=str)
def test_adam(name: str, options: dict[str, Any], launched: list[str]) -> None:
    rng = np.random.default_rng(0)
    start, *steps = rng.normal(size=(4, 3, 5)).astype(np.float32)
    ends = []
    for device in ("cuda", "cpu"):
        p = tt.tensor(start, device=device, requires_grad=True)
        optimizer = getattr(tt.optim, name)([p], lr=0.1, **options)
        for g in steps:
            p.grad = tt.tensor(g, device=device)
            optimizer.step()
        ends.append(p.detach().cpu().numpy())
    np.testing.assert_allclose(*ends, rtol=1e-5, atol=1e-6)
    assert launched == ["tinytensor_adam"] * 3


@pytest.mark.parametrize("name", ["activation", "layer_norm", "cross_entropy"])
def test_names_are_those_of_the_cpu_kernels(name: str) -> None:
    """A function under a name that no op asks for would never run."""
    from .spy import routed_methods

    module = importlib.import_module(f"tinytensor.kernels.gpu.{name}")
    asked = set(routed_methods())
    ours = {n for n in vars(module) if n.endswith(("_forward", "_backward")) and n[0] != "_"}
    assert ours and ours <= asked


def test_a_kernel_is_made_once() -> None:
    first = gpu._elementwise(cp, "T x", "T y", "y = x", "tinytensor_same")
    assert gpu._elementwise(cp, "T x", "T y", "y = x", "tinytensor_same") is first


def test_route_knows_device_arrays() -> None:
    assert route.on_gpu(cp.ones(3, dtype=np.float32))
    assert not route.on_gpu(cp.ones(3, dtype=np.float16))
    assert not route.on_gpu(np.ones(3, dtype=np.float32)) and not route.on_gpu(tt.ones(3))
