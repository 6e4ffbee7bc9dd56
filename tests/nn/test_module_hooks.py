"""Module: functions that run before and after its forward and backward."""

from __future__ import annotations

from typing import Any

import numpy as np

import nn
import tinytensor as tt

from .scenario import Scenarios, listed, network, refused

scenario = Scenarios()


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


def test_second_derivatives_pass_through_backward_hooks() -> None:
    lin = nn.Linear(2, 1)
    lin.register_full_backward_hook(lambda m, gi, go: None)
    x = tt.tensor([[1.0, 2.0]], requires_grad=True)
    (g,) = tt.autograd.grad((lin(x) ** 2).sum(), x, create_graph=True)
    g.sum().backward()
    expected = 2 * lin.weight.detach().sum() * lin.weight.detach()
    np.testing.assert_allclose(x.grad.numpy(), expected.numpy(), rtol=1e-6)


test_same_as_pytorch = scenario.test()
