"""Module: functions that run before and after its forward and backward."""

from __future__ import annotations

import warnings
from collections import namedtuple
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import nn
import tinytensor as tt

from ..ops.test_table import torch
from .scenario import Scenarios, listed, network, refused

scenario = Scenarios()
pytestmark = pytest.mark.filterwarnings("ignore:.*no inputs require gradients")


@pytest.fixture(autouse=True)
def no_global_hooks() -> Iterator[None]:
    yield
    assert not nn.module_hooks.everywhere.any()
    nn.module_hooks.everywhere.backward_is_full = None  # both keep it after the last hook
    if torch is not None:
        torch.nn.modules.module._global_is_full_backward_hook = None


def warned(function: Callable) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function()
    return sorted({w.category.__name__ for w in caught})


@scenario
def forward_hooks(nn: Any, library: Any) -> Any:
    class Scale(nn.Module):
        def forward(self, x: Any, factor: float = 2.0) -> Any:
            return x * factor

    m = Scale()
    x = library.ones(2)
    seen: list[Any] = []
    handles = [
        m.register_forward_pre_hook(lambda mod, args: seen.append(("pre", len(args)))),
        m.register_forward_pre_hook(lambda mod, args: args[0] + 1),
        m.register_forward_pre_hook(
            lambda mod, args, kwargs: (args, {"factor": kwargs.get("factor", 2.0) * 10}),
            with_kwargs=True,
        ),
        m.register_forward_hook(lambda mod, args, out: seen.append(("post", listed(out)))),
        m.register_forward_hook(lambda mod, args, out: out + 0.5),
        m.register_forward_hook(
            lambda mod, args, kwargs, out: seen.append(("kwargs", kwargs, listed(out))),
            with_kwargs=True,
        ),
        m.register_forward_hook(
            lambda mod, args, out: seen.append(("first", listed(args[0]))), prepend=True
        ),
        m.register_forward_pre_hook(lambda mod, args: (args[0] * 3,), prepend=True),
    ]
    results = [listed(m(x)), listed(m(x, factor=3.0))]
    handles[1].remove()
    results.append(listed(m(x)))
    for handle in handles:
        handle.remove()
    results.append(listed(m(x)))
    with handles[0]:
        pass
    return [results, seen]


@scenario
def hooks_and_errors(nn: Any, library: Any) -> Any:
    class Fails(nn.Module):
        def forward(self, x: Any) -> Any:
            raise KeyError("no")

    m = Fails()
    seen: list[Any] = []
    m.register_forward_hook(lambda mod, args, out: seen.append("never"))
    m.register_forward_hook(lambda mod, args, out: seen.append(out), always_call=True)
    error = refused(lambda: m(1))
    ok = nn.Identity()
    ok.register_forward_hook(lambda mod, args, out: seen.append(out), always_call=True)
    ok.register_forward_pre_hook(lambda mod, args, kwargs: 3, with_kwargs=True)
    return [error, seen, refused(lambda: ok(1)), seen]


def watched_layer(nn: Any, library: Any) -> tuple[Any, Any, list]:
    class Two(nn.Module):
        def forward(self, x: Any, note: str, y: Any) -> Any:
            return x * 3 + y, note, y * y

    return Two(), [library.tensor([1.0, 2.0]), library.tensor([3.0, 4.0])], []


def lists(grads: Any) -> Any:
    return [listed(g) for g in grads]


@scenario
def backward_hooks(nn: Any, library: Any) -> Any:
    m, (x, y), seen = watched_layer(nn, library)
    x.requires_grad_()
    y.requires_grad_()
    m.register_full_backward_hook(lambda mod, gi, go: seen.append((lists(gi), lists(go))))
    m.register_full_backward_hook(lambda mod, gi, go: (gi[0] * 10, gi[1], gi[2]))
    m.register_full_backward_hook(lambda mod, gi, go: seen.append("first"), prepend=True)
    m.register_full_backward_pre_hook(lambda mod, go: (go[0] * 2, go[1], go[2]))
    m.register_full_backward_pre_hook(lambda mod, go: seen.append(lists(go)))
    m.register_full_backward_pre_hook(lambda mod, go: seen.append("earliest"), prepend=True)
    a, _, b = m(x, "note", y)
    (a.sum() + b.sum()).backward()
    return [seen, listed(x.grad), listed(y.grad)]


@scenario
def backward_hooks_on_what_is_not_tracked(nn: Any, library: Any) -> Any:
    seen: list[Any] = []

    def note(mod: Any, grad_input: Any, grad_output: Any) -> None:
        seen.append((lists(grad_input), lists(grad_output)))

    lin = nn.Linear(2, 1)
    with library.no_grad():
        lin.weight.fill_(2)
    handle = lin.register_full_backward_hook(note)
    lin(library.ones(3, 2)).sum().backward()  # only the parameters are tracked
    lin.requires_grad_(False)
    x = library.ones(3, 2).requires_grad_()
    lin(x).sum().backward()
    with library.no_grad():
        quiet = lin(x).requires_grad
    handle.remove()
    lin(x).sum().backward()
    return [seen, listed(x.grad), quiet, listed(lin.weight.grad)]


@scenario
def hooks_in_a_network(nn: Any, library: Any) -> Any:
    net = network(nn, library)
    seen: list[Any] = []
    for name, module in net.named_modules():
        if isinstance(module, nn.Linear):
            module.register_forward_hook(lambda m, a, o, name=name: seen.append((name, listed(o))))
            module.register_full_backward_hook(
                lambda m, gi, go, name=name: seen.append((name, lists(gi), lists(go)))
            )
    net(library.ones(1, 3)).sum().backward()
    return [seen, [listed(p.grad) for p in net.parameters()]]


@scenario
def hooks_of_all_modules(nn: Any, library: Any) -> Any:
    file = nn.modules.module
    net = network(nn, library)
    seen: list[Any] = []
    net.register_forward_pre_hook(lambda m, a: seen.append("own pre"))
    net.register_forward_hook(lambda m, a, o: seen.append("own"))
    net.register_full_backward_hook(lambda m, gi, go: seen.append("own backward"))
    net.register_full_backward_pre_hook(lambda m, go: seen.append("own backward pre"))
    handles = [
        file.register_module_forward_pre_hook(lambda m, a: seen.append(("pre", type(m).__name__))),
        file.register_module_forward_pre_hook(lambda m, a: (a[0] * 2,)),
        file.register_module_forward_hook(lambda m, a, o: o + 1),
        file.register_module_forward_hook(
            lambda m, a, k, o: seen.append((type(m).__name__, sorted(k))), with_kwargs=True
        ),
        file.register_module_full_backward_pre_hook(lambda m, go: (go[0] * 3,)),
        file.register_module_full_backward_hook(lambda m, gi, go: seen.append(lists(gi + go))),
    ]
    x = library.ones(1, 3).requires_grad_()
    y = net(x)
    y.sum().backward()
    for handle in handles:
        handle.remove()
    return [seen, listed(y), listed(x.grad), listed(net(x))]


@scenario
def hooks_of_all_modules_and_errors(nn: Any, library: Any) -> Any:
    class Fails(nn.Module):
        def forward(self, x: Any) -> Any:
            raise KeyError("no")

    register = nn.modules.module.register_module_forward_hook
    seen: list[Any] = []
    with register(lambda m, a, o: seen.append("never")):
        with register(lambda m, a, o: seen.append(o), always_call=True) as handle:
            seen.append(refused(lambda: Fails()(1)))
            ids = nn.modules.module._global_forward_hooks_always_called
            seen.append([handle.id in ids, len(handle.hooks_dict_ref())])
        seen.append(handle.id in ids)
    m = Fails()
    m.register_forward_hook(lambda m, a, o: 1 / 0, always_call=True)
    seen.append(warned(lambda: seen.append(refused(lambda: m(1)))))
    return seen


@scenario
def hooks_on_registration(nn: Any, library: Any) -> Any:
    file = nn.modules.module
    seen: list[Any] = []

    def note(kind: str) -> Callable:
        return lambda m, name, value: seen.append((kind, type(m).__name__, name, value is None))

    with (
        file.register_module_parameter_registration_hook(note("parameter")),
        file.register_module_buffer_registration_hook(note("buffer")),
        file.register_module_module_registration_hook(note("module")),
        file.register_module_module_registration_hook(
            lambda m, name, value: nn.Tanh() if isinstance(value, nn.ReLU) else None
        ),
    ):
        net = nn.Sequential(nn.Linear(2, 3, bias=False), nn.BatchNorm1d(3), nn.ReLU())
        net.weight = nn.Parameter(library.ones(2))
        net[1].running_mean = library.ones(3)
        net.add_module("more", nn.ReLU())
    nn.Linear(1, 1)
    return [sorted(seen), [type(m).__name__ for m in net]]


@scenario
def the_dicts_of_hooks(nn: Any, library: Any) -> Any:
    m = nn.Identity()
    seen: list[Any] = []
    pre = m.register_forward_pre_hook(lambda m, a, k: None, with_kwargs=True)
    post = m.register_forward_hook(lambda m, a, o: seen.append(1), always_call=True)
    m.register_full_backward_hook(lambda m, gi, go: None)
    counts = [len(getattr(m, f"_{kind}")) for kind in (
        "forward_pre_hooks", "forward_pre_hooks_with_kwargs", "forward_hooks", "backward_hooks",
        "forward_hooks_with_kwargs", "forward_hooks_always_called", "backward_pre_hooks",
    )]  # fmt: skip
    pre.remove()
    counts.append(len(m._forward_pre_hooks_with_kwargs))
    m(library.ones(1))
    m._forward_hooks.clear()
    m(library.ones(1))
    m._forward_hooks = {}
    post.remove()
    return [counts, seen, m._is_full_backward_hook, m._forward_hooks == {}]


@scenario
def backward_hooks_of_two_kinds(nn: Any, library: Any) -> Any:
    m = nn.Sigmoid()
    m.register_backward_hook(lambda m, gi, go: (gi[0] * 2,))
    x = library.zeros(2).requires_grad_()
    m(x).sum().backward()
    other = nn.Sigmoid()
    other.register_full_backward_hook(lambda m, gi, go: None)
    with nn.modules.module.register_module_backward_hook(lambda m, gi, go: (gi[0] * 5,)):
        m(x).sum().backward()
        everywhere = refused(
            lambda: nn.modules.module.register_module_full_backward_hook(lambda *_: None)
        )
    return [
        listed(x.grad), everywhere,
        refused(lambda: m.register_full_backward_hook(lambda *_: None)),
        refused(lambda: other.register_backward_hook(lambda *_: None)),
    ]  # fmt: skip


@scenario
def backward_hooks_and_other_outputs(nn: Any, library: Any) -> Any:
    Pair = namedtuple("Pair", "a b")

    class Makes(nn.Module):
        def __init__(self, make: Callable):
            super().__init__()
            self.make = make

        def forward(self, x: Any) -> Any:
            return self.make(x)

    seen: list[Any] = []

    def watch(make: Callable) -> Any:
        m = Makes(make)
        m.register_full_backward_hook(lambda m, gi, go: seen.append(len(go)))
        return m

    x = library.ones(2).requires_grad_()
    pair = watch(lambda x: Pair(x * 2, x * 3))(x)
    (pair.a.sum() + pair.b.sum()).backward()
    result: list[Any] = [type(pair).__name__, listed(x.grad)]
    result.append(warned(lambda: watch(lambda x: {"y": x * 2})(x)["y"].sum().backward()))
    result.append(warned(lambda: watch(lambda x: x * x)(x).sum().backward()))
    lin = nn.Linear(2, 1)
    lin.register_full_backward_hook(lambda m, gi, go: None)
    result.append(warned(lambda: lin(library.ones(2)).sum().backward()))
    lin.register_full_backward_hook(lambda m, gi, go: (library.ones(2),))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result.append(refused(lambda: lin(library.ones(2)).sum().backward()))
    short = watch(lambda x: x * 2)
    short.register_full_backward_hook(lambda m, gi, go: ())
    result.append(refused(lambda: short(x).sum().backward()))
    return [*result, seen]


@scenario
def writes_beside_backward_hooks(nn: Any, library: Any) -> Any:
    """A write to what passes the hooks would give a wrong gradient, so it is refused."""

    def hooked(m: Any) -> Any:
        m.register_full_backward_hook(lambda m, gi, go: None)
        return m

    x = library.tensor([-1.0, 2.0]).requires_grad_()
    m = hooked(nn.Identity())
    results = [refused(lambda: hooked(nn.ReLU(inplace=True))(x.exp() - 1))]
    results.append(refused(lambda: m(x).add_(1)))
    results.append(refused(lambda: m(x)[0].fill_(0)))
    y = x * 2
    z = m(y)
    y[0] *= 3
    results.append(refused(lambda: z + 1))
    m(x).clone().add_(1).sum().backward()
    with library.no_grad():
        quiet = m(x.detach()).add_(1)
    return [results, listed(x.grad), listed(quiet)]


def test_second_derivatives_pass_through_backward_hooks() -> None:
    lin = nn.Linear(2, 1)
    lin.register_full_backward_hook(lambda m, gi, go: None)
    x = tt.tensor([[1.0, 2.0]], requires_grad=True)
    (g,) = tt.autograd.grad((lin(x) ** 2).sum(), x, create_graph=True)
    g.sum().backward()
    expected = 2 * lin.weight.detach().sum() * lin.weight.detach()
    np.testing.assert_allclose(x.grad.numpy(), expected.numpy(), rtol=1e-6)


test_same_as_pytorch = scenario.test()


@pytest.mark.filterwarnings("ignore:Using a non-full backward hook")
@pytest.mark.parametrize("full", [False, True])
def test_writing_to_the_output_after_a_backward_hook(full: bool) -> None:
    torch = pytest.importorskip("torch")
    array, weight = np.arange(20.0).reshape(5, 4) / 10 - 1, np.arange(12.0).reshape(3, 4) / 6 - 1
    found: list = []
    for lib in (tt, torch):
        m, seen = lib.nn.Linear(4, 3, bias=False).double(), []
        m.weight.data = lib.tensor(weight)
        register = m.register_full_backward_hook if full else m.register_backward_hook
        register(lambda m, gi, go, seen=seen: seen.append(go[0].tolist()))
        x = lib.tensor(array, requires_grad=True)
        y = m(x)
        try:
            y.relu_()
        except RuntimeError as error:
            found.append("is being modified in" in str(error))
            continue
        (y * y).sum().backward()
        found.append((x.grad.tolist(), m.weight.grad.tolist(), seen))
    assert (found[0] is found[1] is True) if full else np.allclose(found[0][0], found[1][0])
    if not full:
        np.testing.assert_allclose(found[0][1], found[1][1])
        np.testing.assert_allclose(found[0][2], found[1][2])
