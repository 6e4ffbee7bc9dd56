"""The op table and a training run on the stand-in for CuPy (tests/standin).

No GPU is at hand, so this is what shows that every op runs on one: the stand-in has only what the
real cupy exports, and refuses what it refuses.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import devices
from tinytensor.autograd.gradcheck import gradcheck, gradgradcheck
from tinytensor.create.generator import _defaults
from tinytensor.errors import DeviceError

from ..standin import fake_cupy as cp
from .table import Row
from .test_table import (
    DIFFERENTIABLE,
    ROWS,
    assert_same,
    call,
    each,
    flatten,
    gradients,
    tensors_of,
    weights_for,
)


@pytest.fixture(autouse=True)
def cuda() -> Iterator[None]:
    devices.register(cp)
    yield
    devices.unregister(cp)
    _defaults.pop(tt.device("cuda"), None)  # the generator of a device that is gone


# ------------------------------------------------------------------------------------------
# The op table
# ------------------------------------------------------------------------------------------


@each(ROWS)
def test_same_as_on_numpy(row: Row) -> None:
    arrays = row.arrays()
    on_cpu = tensors_of(row, arrays)
    on_gpu = tensors_of(row, arrays, device="cuda")
    expected = flatten(call(row, on_cpu))
    found = flatten(call(row, on_gpu))
    stays = bool(arrays) and "cpu" not in row.label
    for y in found:
        if isinstance(y, tt.Tensor) and stays:
            assert y.is_cuda, f"{row}: the result left the device"
    assert_same(row, found, expected, 1e-12, 1e-12)
    if row.order:
        weights = weights_for(expected)
        dx = gradients(found, on_gpu, weights)
        assert all(g is None or g.is_cuda for g in dx)
        assert_same(row, dx, gradients(expected, on_cpu, weights), 1e-12, 1e-12)


@each([row for row in DIFFERENTIABLE if row.order >= 2])
def test_gradients_of_gradients_run(row: Row) -> None:
    inputs = tensors_of(row, row.arrays(), device="cuda")
    outputs = [y for y in flatten(call(row, inputs)) if y.requires_grad]
    tracked = [x for x in inputs if x.requires_grad]
    seeds = [tt.ones_like(y).requires_grad_() for y in outputs]
    first = tt.autograd.grad(outputs, tracked, seeds, create_graph=True, allow_unused=True)
    again = [g for g in first if g is not None and g.requires_grad]
    if again:
        ones = [tt.ones_like(g) for g in again]
        tt.autograd.grad(again, [*tracked, *seeds], ones, allow_unused=True)


# ------------------------------------------------------------------------------------------
# Training
# ------------------------------------------------------------------------------------------


def spirals(per_arm: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Two intertwined arms: points (N, 2) and their arm (N,)."""
    rng = np.random.default_rng(0)
    radius = np.linspace(0.1, 1, per_arm)
    points = []
    for arm in range(2):
        angle = 5 * radius + np.pi * arm + rng.normal(0, 0.05, per_arm)
        points.append(np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1))
    return np.concatenate(points).astype(np.float32), np.repeat([0, 1], per_arm)


def train(device: str, steps: int = 60) -> list[float]:
    """The losses of a 2-16-16-2 network under gradient descent with momentum."""
    points, arms = spirals()
    x = tt.tensor(points, device=device)
    target = tt.tensor(arms, device=device)
    rng = np.random.default_rng(1)
    parameters = []
    for n, m in ((2, 16), (16, 16), (16, 2)):
        weight = rng.normal(0, n**-0.5, (m, n)).astype(np.float32)
        parameters += [tt.tensor(weight, device=device), tt.zeros(m, device=device)]
    for p in parameters:
        p.requires_grad_()
    momentum = [tt.zeros_like(p) for p in parameters]
    losses = []
    for _ in range(steps):
        h = x
        for i in (0, 2, 4):
            h = tt.linear(h, parameters[i], parameters[i + 1])
            h = h.tanh() if i < 4 else h
        loss = tt.cross_entropy(h, target)
        for p in parameters:
            p.grad = None
        loss.backward()
        with tt.no_grad():
            for p, m in zip(parameters, momentum, strict=True):
                m.mul_(0.9).add_(p.grad)
                p.sub_(m, alpha=0.1)
        losses.append(loss.item())
    return losses


def test_training_gives_the_losses_of_the_cpu() -> None:
    on_cpu, on_gpu = train("cpu"), train("cuda")
    np.testing.assert_allclose(on_gpu, on_cpu, rtol=1e-5)
    assert on_gpu[-1] < 0.7 * on_gpu[0], "it did not learn"


# ------------------------------------------------------------------------------------------
# A tensor's life on the device
# ------------------------------------------------------------------------------------------

ON_CUDA = [
    "tt.zeros(2, device='cuda')", "tt.full((2,), 3.0, device='cuda')", "tt.eye(3, device='cuda')",
    "tt.arange(0, 1, 0.25, device='cuda')", "tt.linspace(0, 1, 5, device='cuda')",
    "tt.empty(2, device='cuda')", "tt.as_tensor([1.0], device='cuda')", "tt.tensor(x)",
    "tt.ones_like(x)", "tt.rand(3, device='cuda')", "tt.randn_like(x)", "tt.bernoulli(x.sigmoid())",
    "tt.randint(0, 5, (3,), device='cuda')", "tt.randperm(5, device='cuda')",
    "tt.multinomial(x, 2)", "tt.multinomial(x, 5, replacement=True)", "tt.normal(x, 1.0)",
    "tt.rand(2, device='cuda', generator=tt.Generator('cuda').manual_seed(0))", "tt.one_hot(i, 3)",
    "x.new_zeros(2)", "x.new_tensor([1.0])", "x.to('cuda:0')", "x.cuda()", "x.cpu().cuda()",
    "x.half()", "x.T.contiguous()", "x.clone()", "x.detach()", "copy.deepcopy(r)",
    "x[0]", "x[0, 0]", "x[:, 1:]", "x[i]", "x[x > 2]", "x[[0, 1]]", "x[i, i]", "x[..., None]",
    "x[tt.tensor([0])]", "x.clone().zero_()", "x.clone().copy_(x * 2)", "x.clone().normal_()",
    "x.clone().copy_(tt.ones(2, 3))", "x.clone().uniform_()", "x.clone().masked_fill_(x > 2, 0.0)",
    "x.clone().index_fill_(0, i, 0.0)", "tt.dropout(x, 0.5)", "next(iter(x))",
]  # fmt: skip


def names() -> dict[str, Any]:
    x = tt.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], device="cuda")
    r = tt.tensor([1.0, 2.0], device="cuda", requires_grad=True)
    i = tt.tensor([0, 1], device="cuda")
    return {"tt": tt, "np": np, "cp": cp, "copy": copy, "pickle": pickle, "x": x, "r": r, "i": i}


@pytest.mark.parametrize("text", ON_CUDA)
def test_tensors_stay_on_the_device(text: str) -> None:
    y = eval(text, names())
    assert y.is_cuda and type(y.array) is cp.ndarray


OFF_CUDA = [
    ("x.tolist()", [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
    ("x.sum().item()", 21.0),
    ("float(x.sum())", 21.0),
    ("bool((x > 0).all())", True),
    ("5.0 in x", True),
    ("x.cpu().numpy().tolist()", [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
    ("x.numpy(force=True).sum()", 21.0),
    ("pickle.loads(pickle.dumps(x)).tolist()", [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
    ("str(x.device)", "cuda:0"),
    ("x.T.is_contiguous()", False),
    ("x.stride()", (3, 1)),
    ("tt.cuda.is_available()", True),
    ("tt.cuda.device_count()", 1),
    ("tt.cuda.get_device_name()", "stand-in"),
    ("tt.cuda.synchronize()", None),
    ("tt.cuda.empty_cache()", None),
    ("tt.cuda.memory_allocated() > 0", True),
    ("tt.equal(x, x)", True),
]


@pytest.mark.parametrize("text, expected", OFF_CUDA, ids=[text for text, _ in OFF_CUDA])
def test_values_come_off_the_device_when_asked_for(text: str, expected: Any) -> None:
    assert eval(text, names()) == expected


def test_repr_names_the_device() -> None:
    assert "device='cuda:0'" in repr(names()["x"])
    assert "cuda:0" in names()["x"]._repr_html_()


MIXED = [
    "x + tt.ones(2, 3)", "x + np.ones((2, 3))", "np.ones((2, 3)) + x", "x @ tt.ones(3, 2)",
    "tt.linear(x, tt.ones(2, 3))", "tt.where(x > 0, x, tt.ones(2, 3))",
    "tt.cat([x, tt.ones(2, 3)])", "tt.einsum('ij,jk', x, tt.ones(3, 2))",
    "tt.cross_entropy(x, tt.tensor([0, 1]))",
]  # fmt: skip


@pytest.mark.parametrize("text", MIXED)
def test_two_devices_do_not_mix(text: str) -> None:
    with pytest.raises(DeviceError, match=r"tensors on cpu and cuda:0, expected one device"):
        eval(text, names())


@pytest.mark.parametrize("text", ["x.numpy()", "np.asarray(x)", "np.exp(x)"])
def test_numpy_is_refused(text: str) -> None:
    with pytest.raises(TypeError, match=r"the tensor is on cuda; use tensor\.cpu\(\)\.numpy\(\)"):
        eval(text, names())


def test_writes() -> None:
    x = names()["x"]
    y = x.clone()
    y[0] = 1
    y[1] = x[0]
    y[y > 2] = 0
    y[:, 0] = tt.tensor([7.0, 8.0], device="cuda")
    y += 1
    y *= x
    assert y.tolist() == [[8.0, 4.0, 6.0], [36.0, 15.0, 6.0]]
    with pytest.raises(
        RuntimeError, match=r"add_: the tensor of shape .* is read-only or expanded"
    ):
        x.expand(4, 2, 3).add_(1)


def test_recorded_writes_hooks_and_steps() -> None:
    r = names()["r"]
    seen = []
    r.register_hook(lambda g: g.mul_(2))
    y = r * 3
    y[0] = 0
    part = y[1:]
    part.mul_(5)
    y.register_hook(lambda g: seen.append(g.is_cuda))
    with tt.autograd.detect_anomaly():
        y.sum().backward()
    assert seen == [True] and r.grad.tolist() == [0.0, 30.0]
    steps = list(tt.autograd.trace_backward((r * r).sum()))
    assert all(c.value.is_cuda for step in steps for c in step.contributions)


def test_gradcheck() -> None:
    x = tt.tensor([0.3, 0.4], dtype=tt.float64, device="cuda", requires_grad=True)
    assert gradcheck(tt.tanh, (x,)) and gradgradcheck(tt.tanh, (x,))


def test_seeds() -> None:
    tt.manual_seed(0)
    first = tt.rand(3, device="cuda")
    tt.manual_seed(0)
    assert tt.equal(first, tt.rand(3, device="cuda"))
    tt.cuda.manual_seed(0)
    assert tt.equal(first, tt.rand(3, device="cuda"))
