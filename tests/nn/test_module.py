"""Module: what it holds, its modes, the paths it gives to nodes, and its text."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

import nn
import tinytensor as tt

from .scenario import Scenarios, listed, network, refused

scenario = Scenarios()


# ------------------------------------------------------------------------------------------
# What is inside
# ------------------------------------------------------------------------------------------


@scenario
def names_of_all_kinds(nn: Any, library: Any) -> Any:
    net = network(nn, library)
    return {
        "parameters": [name for name, _ in net.named_parameters()],
        "every parameter": [name for name, _ in net.named_parameters(remove_duplicate=False)],
        "own parameters": [name for name, _ in net.blocks[0].named_parameters(recurse=False)],
        "prefixed": [name for name, _ in net.named_parameters(prefix="net")],
        "buffers": [name for name, _ in net.named_buffers()],
        "every buffer": [name for name, _ in net.named_buffers("b", remove_duplicate=False)],
        "modules": [(name, type(m).__name__) for name, m in net.named_modules()],
        "every module": [name for name, _ in net.named_modules(remove_duplicate=False)],
        "prefixed modules": [name for name, _ in net.named_modules(prefix="net")],
        "children": [name for name, _ in net.named_children()],
        "counts": [
            len(list(f())) for f in (net.modules, net.children, net.parameters, net.buffers)
        ],
        "state": list(net.state_dict()),
        "prefixed state": list(net.state_dict(prefix="model."))[:2],
        "odd prefix": list(net.state_dict(prefix="model"))[:2],
        "found": type(net.get_submodule("blocks.1.lin")).__name__,
        "shape": tuple(net.get_parameter("blocks.1.lin.weight").shape),
        "buffer": net.get_buffer("blocks.0.count").item(),
        "itself": net.get_submodule("") is net,
    }


@scenario
def setting_again_keeps_the_place(nn: Any, library: Any) -> Any:
    a, b = nn.Linear(2, 2), nn.Linear(2, 2)
    a.weight = b.weight
    net = nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Sigmoid())
    net[0] = nn.Linear(2, 2)
    norm = nn.BatchNorm1d(2)
    norm.running_mean = library.ones(2)
    return [list(a.state_dict()), repr(net), list(norm.state_dict())]


@scenario
def a_name_changes_its_kind(nn: Any, library: Any) -> Any:
    m = nn.Module()
    seen = []

    def note() -> None:
        seen.append(([n for n, _ in m.named_parameters()], [n for n, _ in m.named_buffers()],
                     [n for n, _ in m.named_children()]))  # fmt: skip

    m.x = 3
    note()
    m.x = nn.Parameter(library.ones(2))
    note()
    seen.append([refused(lambda v=v: setattr(m, "x", v)) for v in (nn.ReLU(), nn.Buffer(), 3)])
    m.x = None
    note()
    del m.x
    m.x = nn.Buffer(library.ones(2))
    note()
    m.x = library.zeros(1)
    note()
    m.x = nn.Linear(1, 1)
    note()
    seen.append([refused(lambda v=v: setattr(m, "x", v)) for v in (nn.Buffer(), library.ones(1))])
    m.x = nn.Parameter(library.ones(2))
    note()
    del m.x
    note()
    m.x = "plain"
    del m.x
    return [*seen, hasattr(m, "x")]


@scenario
def what_is_refused(nn: Any, library: Any) -> Any:
    lin = nn.Linear(2, 2)
    norm = nn.BatchNorm1d(2)
    net = nn.Sequential(lin)
    return [
        refused(lambda: setattr(lin, "weight", library.ones(2, 2))),
        refused(lambda: setattr(norm, "running_mean", 3)),
        refused(lambda: setattr(net, "0", library.ones(2))),
        refused(lambda: lin.register_parameter("a.b", None)),
        refused(lambda: lin.register_parameter("", None)),
        refused(lambda: lin.register_parameter(3, None)),
        refused(lambda: lin.register_parameter("forward", None)),
        refused(lambda: lin.register_parameter("weight", None)),
        refused(lambda: lin.register_parameter("p", library.ones(2))),
        refused(lambda: lin.register_buffer("in_features", None)),
        refused(lambda: lin.register_buffer("b", 3)),
        refused(lambda: lin.add_module("m", 3)),
        refused(lambda: lin.missing),
        refused(lambda: delattr(lin, "missing")),
        refused(lambda: lin.get_submodule("a.b")),
        refused(lambda: lin.get_parameter("no")),
        refused(lambda: lin.get_buffer("no")),
        refused(lambda: lin.train(3)),
        refused(lambda: lin.to(library.int64)),
        refused(lambda: lin.load_state_dict(3)),
        refused(lambda: nn.Module()(1)),
        refused(lambda: nn.Parameter(library.tensor([1, 2]))),
        refused(lambda: nn.Parameter(library.tensor([1, 2]), requires_grad=False)),
    ]


@scenario
def before_init(nn: Any, library: Any) -> Any:
    class Early(nn.Module):
        def __init__(self, make: Callable) -> None:
            self.part = make()
            super().__init__()

    makers = [
        lambda: nn.Linear(1, 1),
        lambda: nn.Parameter(library.ones(1)),
        lambda: library.ones(1),
        lambda: 3,
    ]
    return [refused(lambda make=make: Early(make)) for make in makers]


@scenario
def a_parameter(nn: Any, library: Any) -> Any:
    source = library.ones(2, 3)
    p = nn.Parameter(source)
    q = nn.Parameter(source, requires_grad=False)
    source[0, 0] = 5
    p.note = "kept"
    twin = copy.deepcopy(p)
    y = p * 2
    return [
        p.requires_grad, q.requires_grad, p.is_leaf, listed(p), type(p).__name__, p.note,
        type(twin).__name__, twin.requires_grad, isinstance(y, nn.Parameter), y.requires_grad,
        isinstance(p, library.Tensor), isinstance(source, nn.Parameter), repr(q),
        tuple(nn.Parameter().shape), isinstance(p.data, nn.Parameter),
        isinstance(p.detach(), nn.Parameter),
    ]  # fmt: skip


# ------------------------------------------------------------------------------------------
# Modes
# ------------------------------------------------------------------------------------------


@scenario
def apply_train_eval(nn: Any, library: Any) -> Any:
    net = network(nn, library)
    order: list[str] = []
    same = net.apply(lambda module: order.append(type(module).__name__))

    class Frozen(nn.Module):
        def train(self, mode: bool = True) -> Any:
            return super().train(False)

    net.frozen = Frozen()
    modes = [[m.training for m in net.modules()]]
    assert net.eval() is net
    modes.append([m.training for m in net.modules()])
    net.train()
    modes.append([m.training for m in net.modules()])
    return [same is net, order, modes]


@scenario
def requires_grad_and_zero_grad(nn: Any, library: Any) -> Any:
    net = network(nn, library)
    net(library.ones(2, 3)).sum().backward()
    had = [p.grad is not None for p in net.parameters()]
    net.zero_grad(set_to_none=False)
    zeros = [listed(p.grad.abs().sum()) for p in net.parameters()]
    net.zero_grad()
    gone = [p.grad for p in net.parameters()]
    frozen = [p.requires_grad for p in net.requires_grad_(False).parameters()]
    return [had, zeros, gone, frozen]


# ------------------------------------------------------------------------------------------
# Missing attributes, scopes, text
# ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name, hint",
    [("wieght", "'weight'"), ("in_feature", "'in_features'"), ("foward", "'forward'")],
)
def test_a_missing_attribute_is_suggested(name: str, hint: str) -> None:
    with pytest.raises(AttributeError, match=rf"'Linear' object has no attribute '{name}'") as e:
        getattr(nn.Linear(2, 2), name)
    assert f"did you mean {hint}?" in str(e.value)


def test_a_missing_attribute_far_from_all_has_no_suggestion() -> None:
    with pytest.raises(AttributeError) as caught:
        nn.Linear(2, 2).qqqqqq  # noqa: B018
    assert "did you mean" not in str(caught.value)


def test_setting_before_init_says_what_to_do() -> None:
    class Early(nn.Module):
        def __init__(self) -> None:
            self.part = nn.Linear(1, 1)

    with pytest.raises(AttributeError, match=r"'part' is set before super\(\).__init__\(\)"):
        Early()


def scopes(y: tt.Tensor) -> set[str]:
    """The module paths on all nodes behind y."""
    found, stack, seen = set(), [y.grad_fn], set()
    while stack:
        node = stack.pop()
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        found.add(getattr(node, "scope", ""))
        stack += [parent for parent, _ in node.next_functions]
    return found - {""}


def test_nodes_know_the_path_of_the_module_that_made_them() -> None:
    net = network(nn, tt)
    y = net(tt.ones(1, 3))
    assert {"Net.embed", "Net.blocks.1", "Net.blocks.1.lin", "Net.head.0", "Net.head.1"} <= scopes(
        y
    )
    twin = copy.deepcopy(net)
    assert scopes(twin(tt.ones(1, 3))) == scopes(y)


def test_paths_through_dicts_shortcuts_and_strangers() -> None:
    stranger = nn.Linear(2, 2)

    class Inner(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lin = nn.Linear(2, 2)

        def forward(self, x: Any) -> Any:
            return self.lin(x)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.parts = nn.ModuleDict({"a": nn.ModuleList([nn.Linear(2, 2)])})
            self.inner = Inner()

        def forward(self, x: Any) -> Any:
            return stranger(self.inner.lin(self.parts["a"][0](x)))

    net = Net()
    assert scopes(net(tt.ones(1, 2))) == {"Net.parts.a.0", "Net.inner.lin", "Net.Linear"}
    net.inner.lin = nn.Linear(2, 2)
    net.parts["b"] = nn.ModuleList()
    assert scopes(net(tt.ones(1, 2))) == {"Net.parts.a.0", "Net.inner.lin", "Net.Linear"}


def test_the_scope_is_left_after_an_error() -> None:
    class Fails(nn.Module):
        def forward(self, x: Any) -> Any:
            raise KeyError("no")

    with pytest.raises(KeyError):
        Fails()(1)
    x = tt.ones(1, requires_grad=True)
    assert not scopes(x * 2)


@scenario
def reprs(nn: Any, library: Any) -> Any:
    net = network(nn, library)

    class Said(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.child = nn.ReLU()

        def extra_repr(self) -> str:
            return "one\ntwo"

    plain = nn.Module()
    plain.empty = None
    plain.layers = nn.ModuleList([nn.Linear(1, 1), nn.Linear(1, 1), nn.ReLU(), nn.ModuleList()])
    plain.register_module("none", None)
    return [repr(net), repr(Said()), repr(plain), repr(nn.Module()), str(net)]


test_same_as_pytorch = scenario.test()
