"""nn.utils.parametrize: what is computed, what stays the same object, what is refused."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nn
import tinytensor as tt

from ..ops.test_table import needs_torch, torch
from .scenario import Scenarios, listed, refused

scenario = Scenarios()


def parts(nn: Any) -> Any:
    """Modules to parametrize with, made for either library."""

    class Parts:
        class Double(nn.Module):
            def forward(self, x: Any) -> Any:
                return 2 * x

            def right_inverse(self, x: Any) -> Any:
                return x / 2

        class Symmetric(nn.Module):
            def forward(self, x: Any) -> Any:
                return x.triu() + x.triu(1).transpose(0, 1)

        class Product(nn.Module):
            def forward(self, a: Any, b: Any) -> Any:
                return a * b

            def right_inverse(self, x: Any) -> Any:
                return x / 2, x.new_ones(x.shape) * 2

        class Calls(nn.Module):
            def __init__(self, function: Callable, inverse: Callable | None = None):
                super().__init__()
                self.function = function
                if inverse is not None:
                    self.right_inverse = inverse

            def forward(self, x: Any) -> Any:
                return self.function(x)

    return Parts


def layer(nn: Any, library: Any) -> Any:
    made = nn.Linear(3, 3)
    with library.no_grad():
        made.weight.copy_(library.arange(9.0).reshape(3, 3) / 4 + library.eye(3))
        made.bias.fill_(1)
    return made


@scenario
def one_and_two_functions(nn: Any, library: Any) -> Any:
    p, m, x = parts(nn), layer(nn, library), library.ones(2, 3)
    register = nn.utils.parametrize.register_parametrization
    before = m.weight
    register(m, "weight", p.Symmetric())
    seen = [m.parametrizations.weight.original is before, listed(m.weight), listed(m(x))]
    register(m, "weight", p.Double())
    m(x).sum().backward()
    seen += [listed(m.weight), listed(before.grad), sorted(m.state_dict())]
    seen += [type(m).__name__, nn.utils.parametrize.type_before_parametrizations(m).__name__]
    nn.utils.parametrize.remove_parametrizations(m, "weight")
    seen += [m.weight is before, type(m).__name__, listed(m.weight), sorted(m.state_dict())]
    return [*seen, m.weight.requires_grad, nn.utils.parametrize.is_parametrized(m)]


@scenario
def assigning(nn: Any, library: Any) -> Any:
    p, m = parts(nn), layer(nn, library)
    nn.utils.parametrize.register_parametrization(m, "weight", p.Double())
    nn.utils.parametrize.register_parametrization(m, "bias", p.Product())
    seen = [sorted(m.state_dict()), listed(m.bias)]
    m.weight = library.eye(3)
    m.bias = library.arange(3.0)
    seen += [listed(m.weight), listed(m.parametrizations.weight.original), listed(m.bias)]
    seen += [listed(m.parametrizations.bias.original0), m.parametrizations.bias.ntensors]
    register = nn.utils.parametrize.register_parametrization
    register(m, "weight", p.Symmetric())
    seen.append(refused(lambda: setattr(m, "weight", library.eye(3))))
    remove = nn.utils.parametrize.remove_parametrizations
    seen.append(refused(lambda: remove(m, "bias", leave_parametrized=False)))
    remove(m, "weight", leave_parametrized=False)
    remove(m, "bias")
    return [*seen, listed(m.weight), listed(m.bias), type(m.bias).__name__]


@scenario
def what_is_refused(nn: Any, library: Any) -> Any:
    p, parametrize = parts(nn), nn.utils.parametrize
    register = parametrize.register_parametrization
    functions = {
        "another shape": p.Calls(lambda x: x[:2]),
        "another dtype": p.Calls(lambda x: x.double()),
        "no tensor": p.Calls(lambda x: 3),
        "an inverse of another dtype": p.Calls(lambda x: x.float(), lambda x: x.double()),
        "an inverse without a tensor": p.Calls(lambda x: x, lambda x: None),
        "an inverse of numbers": p.Calls(lambda x: x, lambda x: (x, 3)),
    }
    seen: list[Any] = []
    for what, function in functions.items():
        for first in (None, p.Double()):
            m = layer(nn, library)
            if first is not None:
                parametrize.register_parametrization(m, "weight", first)
            seen.append((what, refused(lambda m=m, f=function: register(m, "weight", f))))
    m = layer(nn, library)
    seen.append(refused(lambda: parametrize.register_parametrization(m, "other", p.Double())))
    seen.append(refused(lambda: parametrize.remove_parametrizations(m, "weight")))
    parametrize.register_parametrization(m, "weight", functions["another shape"], unsafe=True)
    return [*seen, listed(m.weight)]


@scenario
def modes_caches_and_copies(nn: Any, library: Any) -> Any:
    p, parametrize = parts(nn), nn.utils.parametrize
    m = layer(nn, library).eval()
    calls: list[int] = []
    counted = p.Calls(lambda x: (calls.append(1), x * 3)[1])
    parametrize.register_parametrization(m, "weight", counted)
    seen: list[Any] = [counted.training, len(calls)]
    with parametrize.cached():
        m.weight.sum() + m.weight.sum()
        with parametrize.cached():
            m(library.ones(3))
        seen.append(len(calls))
    m.weight.sum()
    seen.append(len(calls))
    other = copy.deepcopy(m)
    with library.no_grad():
        other.parametrizations.weight.original.fill_(1)
    seen += [listed(other.weight), listed(m.weight), type(other).__name__]
    seen.append(refused(lambda: pickle.dumps(m)))
    fresh = parametrize.register_parametrization(layer(nn, library), "weight", counted)
    fresh.load_state_dict(other.state_dict())
    return [*seen, listed(fresh.weight)]


@scenario
def transferred(nn: Any, library: Any) -> Any:
    p, parametrize = parts(nn), nn.utils.parametrize
    m, other = layer(nn, library), nn.Linear(3, 3)
    parametrize.register_parametrization(m, "weight", p.Double())
    parametrize.register_parametrization(m, "bias", p.Product())
    parametrize.transfer_parametrizations_and_params(m, other)
    same = m.parametrizations.weight.original is other.parametrizations.weight.original
    empty = nn.Identity()
    parametrize.transfer_parametrizations_and_params(m, empty, "weight")
    plain = parametrize.transfer_parametrizations_and_params(nn.Linear(1, 1), nn.Identity())
    return [listed(other.weight), listed(other.bias), same, listed(empty.weight), repr(plain)]


def _values(module: Any) -> dict:
    return {key: value.detach().numpy() for key, value in module.state_dict().items()}


@needs_torch
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (2, 4, 3)])
@pytest.mark.parametrize("chosen", ["matrix_exp", "cayley", "householder", None])
@pytest.mark.parametrize("trivial", [True, False])
def test_orthogonal(shape: tuple, chosen: str | None, trivial: bool, dtype: str) -> None:
    """Q for the same originals and base, and the gradient of the original."""
    results = []
    values = np.random.default_rng(3).normal(size=shape)
    state = None
    for library in (torch, tt):
        m = library.nn.Module()
        m.weight = library.nn.Parameter(library.tensor(values, dtype=getattr(library, dtype)))
        orthogonal = library.nn.utils.parametrizations.orthogonal
        orthogonal(m, "weight", chosen, use_trivialization=trivial)
        if state is None:
            rng = np.random.default_rng(4)
            state = _values(m)
            key = "parametrizations.weight.original"
            state[key] = state[key] + 0.3 * rng.normal(size=shape).astype(dtype)
            diagonal = np.einsum(
                "...ii->...i", state[key][..., : min(shape[-2:]), : min(shape[-2:])]
            )
            diagonal[...] = -1
        state = {key: np.ascontiguousarray(value) for key, value in state.items()}
        first = m.weight.detach().numpy()
        m.load_state_dict({key: library.tensor(value) for key, value in state.items()})
        weight = m.weight
        (weight * weight.detach().cos()).sum().backward()
        results.append((first, weight.detach().numpy(), m.parametrizations.weight.original.grad))
        assert sorted(m.state_dict()) == sorted(state)
    (first, weight, gradient), (own_first, own, own_gradient) = results
    atol = 1e-5 if dtype == "float32" else 1e-12
    if chosen in ("householder", None) or trivial:
        columns = own_first if shape[-2] >= shape[-1] else own_first.swapaxes(-1, -2)
        np.testing.assert_allclose(columns.swapaxes(-1, -2) @ columns,
                                   np.broadcast_to(np.eye(columns.shape[-1]),
                                                   (*columns.shape[:-2], *[columns.shape[-1]] * 2)),
                                   atol=atol)  # fmt: skip
        np.testing.assert_allclose(own_first, first, atol=10 * atol)
    np.testing.assert_allclose(own, weight, atol=10 * atol)
    np.testing.assert_allclose(own_gradient.numpy(), gradient.numpy(), atol=20 * atol)


@scenario
def orthogonal_weights(nn: Any, library: Any) -> Any:
    orthogonal = nn.utils.parametrizations.orthogonal
    m = layer(nn, library)
    orthogonal(m)
    turn = library.tensor([[0.0, 1, 0], [0, 0, 1], [1, 0, 0]])
    m.weight = turn
    seen = [listed(m.weight), listed(m.parametrizations.weight[0].base), sorted(m.state_dict())]
    seen.append(refused(lambda: setattr(m, "weight", library.eye(4))))
    for chosen in ("cayley", "householder"):
        m = layer(nn, library)
        with library.no_grad():
            m.weight.copy_(turn)
        orthogonal(m, orthogonal_map=chosen, use_trivialization=False)
        seen.append(refused(lambda m=m: setattr(m, "weight", library.eye(3))))
    bad = nn.Linear(3, 3)
    seen += [
        refused(lambda: orthogonal(bad, "weight", "foo")),
        refused(lambda: orthogonal(bad, "x")),
    ]
    return [*seen, refused(lambda: orthogonal(bad, "bias")), repr(m)]


def test_an_optimiser_made_before_still_trains_the_weight() -> None:
    m = nn.Linear(2, 1)
    optimizer = tt.optim.SGD(m.parameters(), lr=0.1)
    nn.utils.parametrizations.spectral_norm(m)
    nn.utils.parametrize.register_parametrization(m, "bias", parts(nn).Double())
    before = m.parametrizations.weight.original.detach().clone()
    m(tt.tensor([[1.0, 2.0]])).sum().backward()
    optimizer.step()
    assert not tt.equal(before, m.parametrizations.weight.original)


test_same_as_pytorch = scenario.test()
