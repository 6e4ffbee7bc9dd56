"""torch.autograd.graph and PyTorch's other names of a node, compared with PyTorch."""

from __future__ import annotations

import gc
from typing import Any

import pytest

import tinytensor as tt

from ..both import assert_same_in_both

# ------------------------------------------------------------------------------------------
# Programs: both libraries give the same
# ------------------------------------------------------------------------------------------


def hooks_double_what_is_saved(torch: Any, F: Any, make: Any) -> list:
    a, b = make.leaf(3), make.leaf(3)
    with torch.autograd.graph.saved_tensors_hooks(lambda x: 2 * x, lambda x: x):
        y = a * b
    y.sum().backward()
    return [a.grad, b.grad, y]


def the_inner_hooks_count(torch: Any, F: Any, make: Any) -> list:
    hooks = torch.autograd.graph.saved_tensors_hooks
    a = make.leaf(3)
    with hooks(lambda x: 2 * x, lambda x: x):
        y = a * a
        with hooks(lambda x: x.detach().numpy().copy(), torch.from_numpy):
            z = a.exp() * a
        w = a * a
    (y + z + w).sum().backward()
    return [a.grad]


def hooks_in_a_second_derivative(torch: Any, F: Any, make: Any) -> list:
    calls = [0, 0]

    def pack(x: Any) -> Any:
        calls[0] += 1
        return x

    def unpack(x: Any) -> Any:
        calls[1] += 1
        return x

    a = make.leaf(3)
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = (a * a * a).sum()
        (g,) = torch.autograd.grad(y, a, create_graph=True)
        g.sum().backward()
    return [g, a.grad, calls[0] > 3, calls[1] > 3]


def hooks_on_a_function(torch: Any, F: Any, make: Any) -> list:
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 3 * x * x * g

    a = make.leaf(3)
    with torch.autograd.graph.saved_tensors_hooks(lambda x: 2 * x, lambda x: x):
        y = Cube.apply(a)
    y.sum().backward()
    return [a.grad]


def values_kept_on_the_cpu(torch: Any, F: Any, make: Any) -> list:
    a, w = make.leaf(2, 3), make.leaf(4, 3)
    with torch.autograd.graph.save_on_cpu():
        F.linear(a, w).tanh().sum().backward()
    return [a.grad, w.grad]


def written_after_it_was_saved(torch: Any, F: Any, make: Any) -> list:
    a = make.leaf(2, 3)
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        b = a.clone()
        out = (b**2).sum()
        b.sin_()
        (out + b.sum()).backward()
    return [a.grad]


def gradients_along_edges(torch: Any, F: Any, make: Any) -> list:
    graph = torch.autograd.graph
    leaf = make.leaf(3)
    x = leaf * 2
    edge, old = graph.get_gradient_edge(leaf), graph.get_gradient_edge(x)
    x *= 3
    y = (x * x).sum()
    found = torch.autograd.grad(y, (edge, old, x), retain_graph=True)
    parts = x.split(1)
    last = graph.get_gradient_edge(parts[2])
    z = sum(p.sum() * i for i, p in enumerate(parts))
    torch.autograd.backward(graph.get_gradient_edge(z), inputs=[leaf])
    return [found, leaf.grad, last.output_nr, graph.GradientEdge(y.grad_fn, 0).output_nr]


def one_hook_for_several_tensors(torch: Any, F: Any, make: Any) -> list:
    a, b, c = make.leaf(3), make.leaf(3), make.leaf(3)
    seen: list = []
    register = torch.autograd.graph.register_multi_grad_hook
    both = register((a, b), lambda grads: seen.append([g is not None for g in grads]))
    first = register((a, b), lambda g: seen.append(g.shape), mode="any")
    (a * b).sum().backward()
    (a * c).sum().backward()
    c.sum().backward()
    both.remove()
    first.remove()
    (a * b).sum().backward()
    return [sorted(map(str, seen)) == sorted(map(str, seen)), len(seen), a.grad]


def hooks_on_accumulate_grad(torch: Any, F: Any, make: Any) -> list:
    order: list = []
    a = make.leaf(3)
    y = a * 2
    node = y.grad_fn.next_functions[0][0]
    node.register_hook(lambda inputs, outputs: order.append(("post", len(inputs), len(outputs))))
    node.register_prehook(lambda grads: order.append("pre") or (grads[0] * 10,))
    a.register_hook(lambda g: order.append("tensor") or g + 1)
    a.register_post_accumulate_grad_hook(lambda t: order.append("accumulated"))
    y.sum().backward()
    return [[str(o) for o in order], a.grad]


def rules_called_by_hand(torch: Any, F: Any, make: Any) -> list:
    a, b = make.leaf(3), make.leaf(3)
    one = make.normal(3)
    y = a * b
    y.grad_fn.metadata["note"] = 1
    return [
        (a**2).grad_fn(one.detach()).detach(),
        [g.detach() for g in y.grad_fn(one)],
        y.grad_fn.metadata["note"],
        y.grad_fn._saved_self.detach(),
        a.exp().grad_fn._saved_result.detach(),
    ]


def callbacks_at_the_end(torch: Any, F: Any, make: Any) -> list:
    order: list = []
    engine = torch.autograd.Variable._execution_engine
    a = make.leaf(3)
    y = a * 2
    a.register_hook(lambda g: order.append("leaf"))
    y.register_hook(lambda g: engine.queue_callback(lambda: order.append("end")))
    y.sum().backward()
    return [order]


def rows_of_gradients(torch: Any, F: Any, make: Any) -> list:
    a, b, rows = make.leaf(3), make.leaf(3), make.normal(4, 3)
    y = a * a * b
    found = torch.autograd.grad(y, (a, b), rows, is_grads_batched=True, create_graph=True)
    found[0].sum().backward()
    return [[f.detach() for f in found], a.grad, b.grad]


PROGRAMS = [
    hooks_double_what_is_saved,
    the_inner_hooks_count,
    hooks_in_a_second_derivative,
    hooks_on_a_function,
    values_kept_on_the_cpu,
    written_after_it_was_saved,
    gradients_along_edges,
    one_hook_for_several_tensors,
    hooks_on_accumulate_grad,
    rules_called_by_hand,
    callbacks_at_the_end,
    rows_of_gradients,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_program(program: Any) -> None:
    assert_same_in_both(program)


# ------------------------------------------------------------------------------------------
# Errors, and what is left behind
# ------------------------------------------------------------------------------------------


def test_hooks_that_do_wrong() -> None:
    a = tt.ones(3, requires_grad=True)
    hooks = tt.autograd.graph.saved_tensors_hooks
    writes = hooks(lambda x: x.detach().add_(1), lambda x: x)
    with writes, pytest.raises(RuntimeError, match="changed its argument in place"):
        a.clone() * a.clone()
    with hooks(lambda x: x, lambda x: 1):
        y = (a * a).sum()
    with pytest.raises(TypeError, match="unpack hook returned int, expected a Tensor"):
        y.backward()
    disabled, same = tt.autograd.graph.disable_saved_tensors_hooks, hooks(lambda x: x, lambda x: x)
    with disabled("not here"), pytest.raises(RuntimeError, match="not here"), same:
        pass
    with same, pytest.raises(RuntimeError, match="nor here"), disabled("nor here"):
        pass


def test_wrong_arguments() -> None:
    graph = tt.autograd.graph
    a = tt.ones(3, requires_grad=True)
    with pytest.raises(ValueError, match="expected 'all' or 'any'"):
        graph.register_multi_grad_hook((a,), print, mode="some")
    with pytest.raises(RuntimeError, match="tensor 1 does not require grad"):
        graph.register_multi_grad_hook((a, tt.ones(3)), print)
    with pytest.raises(RuntimeError, match="does not require grad"):
        graph.get_gradient_edge(tt.ones(3))
    with pytest.raises(TypeError, match="expected 1 arguments, got 2 instead"):
        (a * 2).grad_fn(a, a)
    with pytest.raises(AttributeError, match="_saved_nothing"):
        (a * a).grad_fn._saved_nothing  # noqa: B018
    with pytest.raises(RuntimeError, match="no backward is running"):
        tt.autograd.Variable._execution_engine.queue_callback(print)
    with pytest.raises(RuntimeError, match="one leading batch dimension"):
        tt.autograd.grad(a * 2, a, tt.ones(()), is_grads_batched=True)
    with pytest.raises(ValueError, match="inputs is empty"):
        tt.autograd.grad(a.sum(), [])
    a.register_post_accumulate_grad_hook(lambda t: t)
    with pytest.raises(RuntimeError, match="returned a value, expected None"):
        a.sum().backward()


def test_hooks_leave_no_cycles_and_no_watching() -> None:
    a = tt.ones(3, requires_grad=True)
    with tt.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
        y = (a * a).sum()
    assert not tt.autograd.mode.state.mode.watched
    y.backward()
    gc.collect()
    gc.disable()
    try:
        with tt.autograd.graph.saved_tensors_hooks(lambda x: x.clone(), lambda x: x):
            (a.exp() * a).sum().backward()
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_raw_saved_values() -> None:
    a = tt.ones(3, requires_grad=True)
    y = a * a
    raw = y.grad_fn._raw_saved_self
    assert raw.unpack_hook is None
    raw.register_hooks(lambda x: x * 2, lambda x: x)
    with pytest.raises(RuntimeError, match="already registered"):
        raw.register_hooks(lambda x: x, lambda x: x)
    y.sum().backward()
    assert a.grad.tolist() == [3.0, 3.0, 3.0]
    with pytest.raises(RuntimeError, match="freed"):
        raw.data  # noqa: B018


def test_increment_version() -> None:
    a = tt.ones(3)
    before = a._version
    tt.autograd.graph.increment_version(a)
    tt.autograd.graph.increment_version([a, a])
    assert a._version == before + 3


# ------------------------------------------------------------------------------------------
# Writing to saved tensors
# ------------------------------------------------------------------------------------------


def counts_of_copies(library: Any) -> list[int]:
    """The number of saved tensors and of copies, after each step."""
    found = []
    with library.autograd.graph.allow_mutation_on_saved_tensors() as context:

        def note() -> None:
            found.extend([len(context.tid_to_weakhandle), len(context.cloned)])

        a = library.rand(2, 3, requires_grad=True).clone()
        b, c = a**2, a**2
        note()
        a.sin_()
        note()
        del b, c
        note()
        b = a**2
        a[:1].mul_(2)
        c = a**2
        a.zero_()
        note()
        b.sum().backward(retain_graph=False)
        note()
        del c
        note()
        scale = library.ones(3)
        d = a.detach().requires_grad_() * scale
        library.sin(scale.clone(), out=scale)
        note()
        del d
        note()
    return found


def test_copies_are_made_when_a_saved_tensor_is_written_to() -> None:
    torch = pytest.importorskip("torch")
    gc.disable()
    try:
        assert counts_of_copies(tt) == counts_of_copies(torch)
    finally:
        gc.enable()


def test_backward_belongs_into_the_block() -> None:
    allow = tt.autograd.graph.allow_mutation_on_saved_tensors
    with allow():
        y = (tt.rand(3, requires_grad=True) ** 2).sum()
    for _ in range(2):
        with pytest.raises(AssertionError, match="outside of the block"):
            y.backward()
        with allow(), pytest.raises(AssertionError, match="outside of the block"):
            y.backward()
        with allow(), pytest.raises(RuntimeError, match="nested"), allow():
            pass


def test_names_that_cannot_be_made_or_deleted() -> None:
    with pytest.raises(RuntimeError, match="SavedTensor"):
        tt.autograd.SavedTensor()
    x = tt.ones(1, requires_grad=True)
    with pytest.raises(RuntimeError, match="data"):
        del x.data
    with pytest.raises(RuntimeError, match="requires_grad"):
        del x.requires_grad
