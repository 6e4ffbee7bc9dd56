"""Module: its state there and back, conversions, and copies."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import nn
import tinytensor as tt

from ..ops.test_table import needs_torch, torch
from .scenario import Scenarios, kind, listed, network

scenario = Scenarios()


# ------------------------------------------------------------------------------------------
# State
# ------------------------------------------------------------------------------------------


@scenario
def state_dict_shares_memory(nn: Any, library: Any) -> Any:
    lin = nn.Linear(2, 2)
    state = lin.state_dict()
    with library.no_grad():
        state["weight"].fill_(3)
    kept = lin.state_dict(keep_vars=True)
    given = {"other": 1}
    lin.state_dict(destination=given, prefix="x.")
    return [listed(lin.weight), state["weight"].requires_grad, kept["bias"] is lin.bias,
            type(state).__name__, list(given)]  # fmt: skip


@scenario
def loading(nn: Any, library: Any) -> Any:
    net, other = network(nn, library), network(nn, library)
    with library.no_grad():
        for p in other.parameters():
            p.mul_(2)
        other.blocks[0].count.fill_(9)
    first = next(net.parameters())
    keys = net.load_state_dict(other.state_dict())
    values = [listed(t) for t in net.state_dict().values()]
    state = other.state_dict()
    del state["head.0.bias"]
    state["extra"] = library.ones(1)
    loose = net.load_state_dict(state, strict=False)
    double = {k: t.double() for k, t in other.state_dict().items()}
    net.load_state_dict(double)
    return [
        list(keys), first is next(net.parameters()), values, loose.missing_keys,
        loose.unexpected_keys, kind(first), first.requires_grad,
    ]  # fmt: skip


@scenario
def loading_with_assign(nn: Any, library: Any) -> Any:
    lin = nn.Linear(2, 2)
    lin.bias.requires_grad_(False)
    weight = library.ones(2, 2).double()
    lin.load_state_dict({"weight": weight, "bias": library.ones(2)}, assign=True)
    weight[0, 0] = 5
    return [kind(lin.weight), listed(lin.weight), lin.weight.requires_grad, lin.bias.requires_grad,
            type(lin.weight).__name__]  # fmt: skip


def test_load_names_every_problem_and_changes_nothing() -> None:
    net = network(nn, tt)
    before = {key: value.clone() for key, value in net.state_dict().items()}
    state = {key: value + 1 for key, value in net.state_dict().items()}
    del state["embed.weight"], state["blocks.1.count"]
    state["unknown"] = state["stranger.weight"] = tt.ones(1)
    state["blocks.0.scale"] = tt.ones(4)
    state["head.0.bias"] = tt.ones(1, 3)
    with pytest.raises(RuntimeError, match="does not fit Net") as caught:
        net.load_state_dict(state)
    for text in (
        "missing: embed.weight, blocks.1.count",
        "unexpected: unknown, stranger.weight",
        "blocks.0.scale: got (4,), expected (3,)",
        "head.0.bias: got (1, 3), expected (3,)",
    ):
        assert text in str(caught.value)
    assert all(tt.equal(value, before[key]) for key, value in net.state_dict().items())
    with pytest.raises(RuntimeError, match="misshapen") as caught:
        net.load_state_dict(state, strict=False)
    assert "missing" not in str(caught.value)
    assert all(tt.equal(value, before[key]) for key, value in net.state_dict().items())


@needs_torch
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_a_state_of_pytorch_is_loaded(dtype: str) -> None:
    theirs = network(torch.nn, torch)
    state = {k: v.to(getattr(torch, dtype)) if v.is_floating_point() else v
             for k, v in theirs.state_dict().items()}  # fmt: skip
    ours = network(nn, tt)
    for tensor in ours.state_dict().values():
        tensor.zero_()
    assert not any(ours.load_state_dict(state))
    for key, value in ours.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), state[key].to(theirs.state_dict()[key].dtype))
    assert ours.head[0].weight is ours.embed.weight


def test_a_state_of_arrays_is_loaded() -> None:
    lin = nn.Linear(2, 1)
    lin.load_state_dict({"weight": np.array([[1.0, 2.0]]), "bias": [3.0]})
    assert lin.weight.tolist() == [[1, 2]] and lin.bias.tolist() == [3]


# ------------------------------------------------------------------------------------------
# Conversions
# ------------------------------------------------------------------------------------------


@scenario
def conversions(nn: Any, library: Any) -> Any:
    net = network(nn, library)
    net(library.ones(2, 3)).sum().backward()
    first = next(net.parameters())
    seen = []
    for change in (
        net.double,
        net.half,
        net.float,
        lambda: net.to(library.float64),
        lambda: net.to("cpu", library.float32),
        lambda: net.to(dtype=library.float64),
        lambda: net.to(library.ones(1)),
        net.cpu,
    ):
        same = change() is net
        state = net.state_dict()
        seen.append([same, [kind(t) for t in state.values()], kind(first), kind(first.grad)])
        seen.append([kind(net.blocks[0].cache), next(net.parameters()) is first])
        seen.append(net.head[0].weight is net.embed.weight)
    return seen


@scenario
def a_module_may_convert_while_a_gradient_waits(nn: Any, library: Any) -> Any:
    lin = nn.Linear(2, 1)
    with library.no_grad():
        lin.weight.fill_(2)
    lin(library.ones(1, 2)).sum().backward()
    lin.double()
    lin(library.ones(1, 2).double()).sum().backward()
    return [listed(lin.weight.grad), kind(lin.weight.grad), lin.weight.requires_grad]


# ------------------------------------------------------------------------------------------
# Copies
# ------------------------------------------------------------------------------------------


@scenario
def deep_copies(nn: Any, library: Any) -> Any:
    net = network(nn, library)
    twin = copy.deepcopy(net)
    with library.no_grad():
        for p in twin.parameters():
            p.add_(1)
    layers = nn.ModuleList([copy.deepcopy(net.blocks[0]) for _ in range(3)])
    return [
        [listed(p) for p in net.parameters()], [listed(p) for p in twin.parameters()],
        twin.head[0].weight is twin.embed.weight, twin.again is twin.blocks[0],
        [n for n, _ in layers.named_parameters()], len({id(p) for p in layers.parameters()}),
        listed(twin(library.ones(1, 3))), list(twin.state_dict()),
    ]  # fmt: skip


def test_pickle() -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    net[1].eval()
    twin = pickle.loads(pickle.dumps(net))
    x = tt.ones(3, 2)
    assert tt.equal(twin(x), net(x)) and isinstance(twin[0].weight, nn.Parameter)
    assert not twin[1].training


def test_a_copied_buffer_knows_whether_it_is_saved() -> None:
    m = nn.Module()
    m.kept, m.gone = nn.Buffer(tt.ones(1)), nn.Buffer(tt.ones(1), persistent=False)
    twin = copy.deepcopy(m)
    assert list(m.state_dict()) == list(twin.state_dict()) == ["kept"]
    assert copy.deepcopy(nn.Buffer(tt.ones(1), persistent=False)).persistent is False


test_same_as_pytorch = scenario.test()


def test_to_empty() -> None:
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    before = {name: tuple(value.shape) for name, value in net.state_dict().items()}
    weight = net[0].weight
    assert net.to_empty(device="cpu") is net and net[0].weight is weight
    assert {name: tuple(value.shape) for name, value in net.state_dict().items()} == before
    assert weight.requires_grad and net[1].num_batches_tracked.dtype == tt.int64


def test_set_submodule() -> None:
    net = nn.Sequential(nn.Sequential(nn.Linear(2, 2)), nn.ReLU())
    net.set_submodule("0.0", nn.Linear(2, 5))
    net.set_submodule("0.1", nn.Tanh())
    assert net(tt.ones(1, 2)).shape == (1, 5) and len(net[0]) == 2
    net.set_submodule("1", nn.Identity(), strict=True)
    assert isinstance(net[1], nn.Identity)
    with pytest.raises(ValueError, match="set_submodule: got no target"):
        net.set_submodule("", nn.ReLU())
    with pytest.raises(ValueError, match="set_submodule: got int, expected a Module"):
        net.set_submodule("0", 3)  # type: ignore[arg-type]
    with pytest.raises(AttributeError, match="has no module 'x'"):
        net.set_submodule("x.y", nn.ReLU())
    with pytest.raises(AttributeError, match="there is no module '5', and strict=True"):
        net.set_submodule("5", nn.ReLU(), strict=True)
