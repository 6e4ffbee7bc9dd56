"""Clipping gradients, parameters as one vector, and weights that are computed from others."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np
import pytest

import nn
import tinytensor as tt

from .scenario import Scenarios, listed, refused

scenario = Scenarios()


def parameters(nn: Any, library: Any) -> list:
    """Three parameters with gradients, and one without."""
    found = []
    for i, shape in enumerate([(2, 3), (4,), (), (2,)]):
        p = nn.Parameter(library.zeros(shape))
        if i < 3:
            values = np.cos(np.arange(math.prod(shape)) * 1.7 + i).reshape(shape)
            p.grad = library.tensor(values.astype(np.float32))
        found.append(p)
    return found


@scenario
def clip_grad_norm(nn: Any, library: Any) -> Any:
    seen = []
    for norm_type in (2.0, 1, 3.0, math.inf, "inf", 0.5):
        for max_norm in (0.5, 100.0, library.tensor(1.0)):
            ps = parameters(nn, library)
            total = nn.utils.clip_grad_norm_(ps, max_norm, norm_type, foreach=True)
            seen.append([listed(total), [listed(p.grad) for p in ps]])
    ps = parameters(nn, library)
    seen.append(listed(nn.utils.clip_grad_norm_(iter(ps), max_norm=1.0)))
    seen.append(listed(nn.utils.clip_grad_norm_(ps[0], 0.1)))
    seen.append(listed(ps[0].grad))
    seen.append(listed(nn.utils.clip_grad_norm_([], 1.0)))
    seen.append(listed(nn.utils.clip_grad_norm_([ps[3]], 1.0)))
    return seen


@scenario
def clip_grad_norm_of_what_is_not_finite(nn: Any, library: Any) -> Any:
    seen = []
    for bad in (math.inf, math.nan):
        ps = parameters(nn, library)
        ps[1].grad[0] = bad
        seen.append(
            refused(lambda ps=ps: nn.utils.clip_grad_norm_(ps, 1.0, error_if_nonfinite=True))
        )
        seen.append(listed(ps[0].grad))  # nothing is changed then
        seen.append(str(nn.utils.clip_grad_norm_(ps, 1.0).item()))
        seen.append(str(listed(ps[0].grad)))
    return seen


@scenario
def clip_grad_value(nn: Any, library: Any) -> Any:
    ps = parameters(nn, library)
    result = nn.utils.clip_grad_value_(ps, 0.4)
    one = parameters(nn, library)[0]
    nn.utils.clip_grad_value_(one, 1)
    return [result, [listed(p.grad) for p in ps], listed(one.grad)]


@scenario
def total_norm(nn: Any, library: Any) -> Any:
    gradients = [p.grad for p in parameters(nn, library)[:3]]
    ps = parameters(nn, library)
    nn.utils.clip_grads_with_norm_(ps, 0.5, nn.utils.get_total_norm(gradients))
    return [
        [listed(nn.utils.get_total_norm(gradients, p)) for p in (2.0, 1.0, math.inf)],
        listed(nn.utils.get_total_norm([])),
        [listed(p.grad) for p in ps],
    ]


@scenario
def vectors(nn: Any, library: Any) -> Any:
    net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    vector = nn.utils.parameters_to_vector(net.parameters())
    new = library.arange(len(vector)).float()
    nn.utils.vector_to_parameters(new, net.parameters())
    again = nn.utils.parameters_to_vector(net.parameters())
    (again * again).sum().backward()
    return [
        tuple(vector.shape), vector.requires_grad, listed(again), listed(net[1].weight),
        listed(net[1].weight.grad), net[0].weight.requires_grad,
        refused(lambda: nn.utils.vector_to_parameters([1.0], net.parameters())),
    ]  # fmt: skip


# ------------------------------------------------------------------------------------------
# weight_norm and spectral_norm, as hooks and as parametrizations
# ------------------------------------------------------------------------------------------


def with_known_numbers(module: Any, library: Any) -> Any:
    """The module with the same parameters and buffers in both libraries."""
    for name, value in module.state_dict().items():
        numbers = np.cos(np.arange(value.numel()) * 1.3 + len(name)).reshape(tuple(value.shape))
        value.copy_(library.tensor(numbers.astype(np.float32)))
    return module


def passes(module: Any) -> dict[str, Any]:
    """Two forward passes and one backward for both, as a GAN's discriminator has them."""
    shape = (2, 3, 4) if hasattr(module, "stride") else (2, 3)
    weight = next(module.parameters())
    a, b = (
        weight.new_tensor(np.sin(np.arange(math.prod(shape)) * step).reshape(shape).tolist())
        for step in (0.7, 1.9)
    )
    seen: dict[str, Any] = {}
    for mode in ("training", "evaluation"):
        module.train(mode == "training" and module.training)
        module.zero_grad()
        y, z = module(a), module(b)
        (y * z).sum().backward()
        found = {"y": y, "z": z, **{f"d {name}": p.grad for name, p in module.named_parameters()}}
        found.update(module.state_dict())
        seen.update({f"{mode} {name}": x.detach().numpy().copy() for name, x in found.items()})
    return seen


def layers(nn: Any) -> list:
    return [nn.Linear(3, 4), nn.Linear(3, 2, bias=False), nn.Conv1d(3, 4, 2),
            nn.ConvTranspose1d(3, 2, 2)]  # fmt: skip


NORMS = {
    "spectral_norm": [{}, {"n_power_iterations": 3, "eps": 1e-2}, {"dim": 1}],
    "weight_norm": [{}, {"dim": 1}, {"dim": -1}, {"dim": None}],
}


@pytest.mark.parametrize("home", ["utils", "utils.parametrizations"])
@pytest.mark.parametrize("name", NORMS)
@pytest.mark.filterwarnings("ignore")  # PyTorch says that the older form is old
def test_norms_of_weights_equal_pytorchs(home: str, name: str) -> None:
    torch = pytest.importorskip("torch")
    make = attrgetter(f"{home}.{name}")
    for options in NORMS[name]:
        for mine, other in zip(layers(nn), layers(torch.nn)):
            ours = passes(with_known_numbers(make(nn)(mine, **options), tt))
            theirs = passes(with_known_numbers(make(torch.nn)(other, **options), torch))
            assert ours.keys() == theirs.keys()
            for key, value in ours.items():
                np.testing.assert_allclose(
                    value, theirs[key], rtol=1e-4, atol=1e-5, err_msg=f"{options} {mine} {key}"
                )


@pytest.mark.parametrize("home", ["utils", "utils.parametrizations"])
@pytest.mark.parametrize("name", NORMS)
def test_norms_of_weights_have_pytorchs_defaults(home: str, name: str) -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = (
        {p.name: p.default for p in inspect.signature(function).parameters.values()}
        for function in map(attrgetter(f"{home}.{name}"), (nn, torch.nn))
    )
    assert ours == theirs


@pytest.mark.parametrize("name", NORMS)
@pytest.mark.filterwarnings("ignore")
def test_a_norm_that_is_removed_leaves_its_weight(name: str) -> None:
    for layer in layers(nn):
        module = with_known_numbers(getattr(nn.utils, name)(layer), tt).eval()
        before = passes(module)["evaluation y"]
        getattr(nn.utils, f"remove_{name}")(module)
        assert sorted(module.state_dict()) == ["bias", "weight"][module.bias is None :]
        np.testing.assert_allclose(passes(module)["evaluation y"], before, rtol=1e-6)


def test_clipping_a_training_step_keeps_the_gradient_array() -> None:
    lin = nn.Linear(3, 2)
    (lin(tt.ones(4, 3)) * 100).sum().backward()
    array = lin.weight.grad.array
    before = nn.utils.get_total_norm([p.grad for p in lin.parameters()])
    returned = nn.utils.clip_grad_norm_(lin.parameters(), 1.0)
    after = nn.utils.get_total_norm([p.grad for p in lin.parameters()])
    assert lin.weight.grad.array is array and not lin.weight.grad.requires_grad
    assert returned.item() == before.item() and after.item() == pytest.approx(1, rel=1e-5)


@pytest.mark.parametrize("scale", [1e-7, 1e-6, 1e-3])
def test_clipping_tiny_gradients_equals_pytorchs(scale: float) -> None:
    """The eps in max_norm / (norm + eps) counts there."""
    torch = pytest.importorskip("torch")
    found = []
    for library, package in ((tt, nn), (torch, torch.nn)):
        ps = parameters(package, library)
        for p in ps[:3]:
            p.grad *= scale
        package.utils.clip_grad_norm_(ps, scale / 3)
        found.append([p.grad.numpy() for p in ps[:3]])
    for ours, theirs in zip(*found):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)


@pytest.mark.parametrize("dtype", [tt.float32, tt.float64])
def test_the_norm_has_the_dtype_of_the_gradients(dtype: Any) -> None:
    p = nn.Parameter(tt.ones(2, dtype=dtype))
    p.grad = tt.ones(2, dtype=dtype)
    assert nn.utils.clip_grad_norm_(p, 1.0).dtype == dtype


FUNCTIONS: list[Callable] = [nn.utils.clip_grad_norm_, nn.utils.clip_grad_value_]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_parameters_without_gradients_stay_so(function: Callable) -> None:
    lin = nn.Linear(2, 2)
    function(lin.parameters(), 1.0)
    assert all(p.grad is None for p in lin.parameters())


test_same_as_pytorch = scenario.test()
