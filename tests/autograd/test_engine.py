"""backward() and grad(): every argument, every rule of accumulation, and what the graph shows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.autograd import Op, backward, grad
from tinytensor.autograd.variable import wrap
from tinytensor.errors import GradientError

try:
    import torch
except ImportError:
    torch = None  # type: ignore[assignment]

needs_torch = pytest.mark.skipif(torch is None, reason="PyTorch is not installed")


def leaf(values: Any, dtype: Any = tt.float64) -> tt.Tensor:
    return tt.tensor(values, dtype=dtype, requires_grad=True)


def numbers(tensor: Any) -> list:
    return tensor.detach().tolist()


# ------------------------------------------------------------------------------------------
# backward
# ------------------------------------------------------------------------------------------


def test_backward_of_a_scalar() -> None:
    x = leaf([1.0, 2.0, 3.0])
    assert (x * x).sum().backward() is None  # type: ignore[func-returns-value]
    assert numbers(x.grad) == [2.0, 4.0, 6.0]


def test_backward_with_a_gradient() -> None:
    x = leaf([1.0, 2.0])
    (x * x).backward(tt.tensor([10.0, 100.0], dtype=tt.float64))
    assert numbers(x.grad) == [20.0, 400.0]


def test_gradient_is_brought_to_the_outputs_dtype() -> None:
    x = leaf([1.0, 2.0], tt.float32)
    (x * 3).backward(tt.tensor([1.0, 2.0], dtype=tt.float64))
    assert x.grad.dtype == tt.float32 and numbers(x.grad) == [3.0, 6.0]


def test_single_element_outputs_need_no_gradient() -> None:
    x = leaf([[2.0]])
    (x * x).backward()
    assert numbers(x.grad) == [[4.0]]


def test_a_leaf_is_its_own_root() -> None:
    x = leaf(3.0)
    x.backward()
    assert x.grad.item() == 1.0
    x.backward(tt.tensor(5.0, dtype=tt.float64))
    assert x.grad.item() == 6.0


def test_gradients_accumulate_over_calls() -> None:
    x = leaf([1.0, 2.0])
    for _ in range(3):
        (x * 2).sum().backward()
    assert numbers(x.grad) == [6.0, 6.0]


def test_gradients_with_a_graph_accumulate_over_calls() -> None:
    x = leaf([1.0, 2.0])
    for factor in (2, 3):
        with pytest.warns(UserWarning, match="create_graph=True will create a reference cycle"):
            (x**3 * factor).sum().backward(create_graph=True)
    assert numbers(x.grad) == [15.0, 60.0]
    (second,) = tt.autograd.grad(x.grad.sum(), x)
    assert numbers(second) == [30.0, 60.0]


def test_a_leaf_used_twice_gets_the_sum() -> None:
    x = leaf([3.0])
    (x * x + x).sum().backward()
    assert numbers(x.grad) == [7.0]


def test_several_roots_at_once() -> None:
    x, y = leaf([1.0, 2.0]), leaf(4.0)
    one = tt.ones(2, dtype=tt.float64)
    backward([x * y, (x * x).sum(), y * y], [one, None, None])
    assert numbers(x.grad) == [6.0, 8.0] and y.grad.item() == 3.0 + 8.0


def test_the_same_root_twice_counts_twice() -> None:
    x = leaf([1.0])
    y = (x * 5).sum()
    backward([y, y])
    assert numbers(x.grad) == [10.0]


def test_inputs_limits_what_is_filled() -> None:
    x, y = leaf([1.0]), leaf([2.0])
    (x * y).sum().backward(inputs=[x])
    assert numbers(x.grad) == [2.0] and y.grad is None
    (x * y).sum().backward(inputs=y)  # one tensor, without a list
    assert numbers(y.grad) == [1.0]


def test_the_same_input_twice_counts_once() -> None:
    x = leaf([1.0])
    backward([(x * 2).sum()], inputs=[x, x])
    assert numbers(x.grad) == [2.0]


def test_inputs_may_be_results_of_ops() -> None:
    x = leaf([1.0])
    h = x * 2
    (h * h).sum().backward(inputs=[h])
    assert numbers(h.grad) == [4.0] and x.grad is None and h.retains_grad


def test_retain_graph() -> None:
    x = leaf([2.0])
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward(retain_graph=True)
    y.backward()
    assert numbers(x.grad) == [12.0]
    with pytest.raises(GradientError, match="second time.*retain_graph=True.*made at"):
        y.backward()


def test_create_graph_makes_the_gradient_differentiable() -> None:
    x = leaf([2.0])
    with pytest.warns(UserWarning, match="reference cycle"):
        (x * x * x).sum().backward(create_graph=True)
    first = x.grad
    assert first.requires_grad and numbers(first) == [12.0]
    x.grad = None
    first.sum().backward()
    assert numbers(x.grad) == [12.0]  # 6·x


def test_grad_mode_is_restored_after_an_error() -> None:
    class Fails(Op):
        def forward(self, x: Any) -> Any:
            return x + 0

        def backward(self, g: Any) -> Any:
            raise ValueError("no")

    x = leaf([1.0])
    with pytest.raises(ValueError):
        Fails.apply(x).sum().backward()
    assert tt.is_grad_enabled()


# ------------------------------------------------------------------------------------------
# Ownership of .grad
# ------------------------------------------------------------------------------------------


def assert_own(*tensors: Any) -> None:
    for i, a in enumerate(tensors):
        assert a.array.flags.writeable and a.array.flags.c_contiguous
        for b in tensors[i + 1 :]:
            assert not np.shares_memory(a.array, b.array)


def test_grad_aliases_nothing() -> None:
    x, y, seed = leaf([1.0, 2.0]), leaf([3.0, 4.0]), tt.ones(2, dtype=tt.float64)
    (x + y).backward(seed)  # add hands the very same array to both
    assert_own(x.grad, y.grad, seed, x, y)
    x.grad.mul_(5)
    assert numbers(y.grad) == [1.0, 1.0] and numbers(seed) == [1.0, 1.0]


def test_grad_is_writable_when_the_gradient_was_broadcast() -> None:
    x = leaf(np.ones((3, 4)))
    x.sum().backward()  # the gradient of sum is a view of one number
    assert_own(x.grad, x)
    x.grad.add_(1)
    assert numbers(x.grad) == [[2.0] * 4] * 3


def test_grad_results_alias_nothing() -> None:
    x, y, seed = leaf([1.0]), leaf([2.0]), tt.ones(1, dtype=tt.float64)
    gx, gy = grad(x + y, (x, y), seed)
    assert_own(gx, gy, seed)
    same, again = grad(x + y, (x, x), seed)
    assert_own(same, again)


def test_a_hooks_tensor_is_not_written_by_later_passes() -> None:
    x = leaf([1.0])
    seen: list = []
    x.register_hook(seen.append)
    for _ in range(2):
        (x * 2 + x * 3).sum().backward()
    assert [numbers(g) for g in seen] == [[5.0], [5.0]] and numbers(x.grad) == [10.0]


def test_accumulation_bumps_the_version_of_grad() -> None:
    x = leaf([1.0])
    (x * 2).sum().backward()
    before = x.grad._version
    (x * 2).sum().backward()
    assert x.grad._version == before + 1


def test_zero_dimensional_leaves_have_array_gradients() -> None:
    x = leaf(2.0)
    (x * x + x * x).backward()
    assert isinstance(x.grad.array, np.ndarray) and x.grad.shape == ()
    (x * x).backward()
    assert x.grad.item() == 12.0


# ------------------------------------------------------------------------------------------
# grad
# ------------------------------------------------------------------------------------------


def test_grad_touches_no_grad_attribute() -> None:
    x = leaf([3.0])
    (g,) = grad((x * x).sum(), x)
    assert numbers(g) == [6.0] and x.grad is None


def test_grad_with_respect_to_intermediates() -> None:
    x = leaf([2.0])
    h = x * x
    y = (h * h).sum()
    gh, gx = grad(y, (h, x))
    assert numbers(gh) == [8.0] and numbers(gx) == [32.0]


def test_grad_with_respect_to_the_output_itself() -> None:
    x = leaf(2.0)
    y = x * x
    gy, gx = grad(y, (y, x))
    assert gy.item() == 1.0 and gx.item() == 4.0
    assert grad(x, x)[0].item() == 1.0


def test_grad_of_several_outputs() -> None:
    x = leaf([2.0])
    outputs, weights = (x * x, x * 3), (wrap(np.array([10.0])), wrap(np.array([100.0])))
    (g,) = grad(outputs, x, weights)
    assert numbers(g) == [340.0]


def test_grad_takes_any_iterable_of_inputs() -> None:
    x, y = leaf([2.0]), leaf([3.0])
    found = grad((x * y).sum(), (t for t in (x, y)))  # as model.parameters() gives them
    assert [numbers(g) for g in found] == [[3.0], [2.0]]


def test_grad_takes_its_arguments_in_pytorchs_order() -> None:
    x, unused = leaf([2.0]), leaf([1.0])
    #                                      retain, create, only_inputs, allow_unused
    found = grad(x * x, (x, unused), wrap(np.array([1.0])), True, True, True, True)
    assert found[0].requires_grad and found[1] is None
    assert numbers(grad((x * x).sum(), x, only_inputs=True)[0]) == [4.0]


def test_unused_inputs() -> None:
    x, unused = leaf([2.0]), leaf([1.0, 1.0])
    y = (x * x).sum()
    with pytest.raises(GradientError, match=r"input 1, of shape \(2,\).*allow_unused"):
        grad(y, (x, unused), retain_graph=True)
    assert grad(y, (x, unused), allow_unused=True, retain_graph=True)[1] is None
    zeros = grad(y, (x, unused), materialize_grads=True)[1]
    assert numbers(zeros) == [0.0, 0.0]


def test_grad_skips_rules_that_lead_nowhere() -> None:
    class Forbidden(Op):
        def forward(self, x: Any) -> Any:
            return x + 0

        def backward(self, g: Any) -> Any:
            raise AssertionError("this rule is not needed")

    x, y = leaf([1.0]), leaf([2.0])
    (g,) = grad((x * Forbidden.apply(y)).sum(), x)
    assert numbers(g) == [2.0]


def test_grad_frees_and_retains_like_backward() -> None:
    x = leaf([2.0])
    y = (x * x).sum()
    grad(y, x, retain_graph=True)
    grad(y, x)
    with pytest.raises(GradientError, match="second time"):
        grad(y, x)


# ------------------------------------------------------------------------------------------
# Higher order
# ------------------------------------------------------------------------------------------


def nth_derivatives(f: Any, at: float, order: int) -> list[float]:
    x = leaf(at)
    y, values = f(x), []
    for _ in range(order):
        (y,) = grad(y, x, create_graph=True)
        values.append(y.item())
    return values


@pytest.mark.parametrize("at", [-1.3, 0.4, 2.0])
def test_four_orders_against_the_analytic_derivatives(at: float) -> None:
    assert nth_derivatives(lambda x: x * x * x * x, at, 4) == pytest.approx(
        [4 * at**3, 12 * at**2, 24 * at, 24.0]
    )
    t = math.tanh(at)
    expected = [1 - t**2, -2 * t * (1 - t**2), (1 - t**2) * (6 * t**2 - 2)]
    assert nth_derivatives(lambda x: x.tanh(), at, 3) == pytest.approx(expected)
    assert nth_derivatives(lambda x: x.sin(), at, 4) == pytest.approx(
        [math.cos(at), -math.sin(at), -math.cos(at), math.sin(at)]
    )


def third_order(library: Any, x: Any, w: Any) -> list:
    y = (library.tanh(x @ w) * x).sum()
    results = []
    for _ in range(3):
        gx, gw = library.autograd.grad(y, (x, w), create_graph=True)
        results += [gx, gw]
        y = (gx * gx).sum() + (gw * x.sum()).sum()
    return results


@needs_torch
def test_three_orders_against_pytorch() -> None:
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(2, 3)), rng.normal(size=(3, 3))
    ours = third_order(tt, leaf(x), leaf(w))
    theirs = third_order(torch, *(torch.tensor(a, requires_grad=True) for a in (x, w)))
    for a, b in zip(ours, theirs):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-10, atol=1e-10)


def test_gradient_with_respect_to_the_incoming_gradient() -> None:
    x, v = leaf([2.0, 3.0]), leaf([1.0, 1.0])
    (g,) = grad(x * x, x, v, create_graph=True)  # 2·x·v
    gv, gx = grad(g.sum(), (v, x))
    assert numbers(gv) == [4.0, 6.0] and numbers(gx) == [2.0, 2.0]


# ------------------------------------------------------------------------------------------
# Shapes of graphs
# ------------------------------------------------------------------------------------------


def test_diamond_visits_each_node_once() -> None:
    calls = []

    class Watched(Op):
        def forward(self, x: Any) -> Any:
            return x * 2

        def backward(self, g: Any) -> Any:
            calls.append(g.tolist())
            return g * 2

    x = leaf([1.0])
    h = Watched.apply(x)
    left, right = h * 3, h * 5
    (left * right).sum().backward()
    assert calls == [[60.0]]  # h = 2: d(15·h²)/dh, complete when the rule runs, and once
    assert numbers(x.grad) == [120.0]


def test_deep_diamonds_take_linear_time() -> None:
    x = leaf([1.0])
    y = x
    for _ in range(60):  # 2⁶⁰ paths
        y = y * 0.5 + y * 0.5
    y.sum().backward()
    assert numbers(x.grad) == [1.0]


def test_only_some_outputs_of_an_op_are_used() -> None:
    x = leaf(np.arange(6.0).reshape(3, 2))
    a, _, c = x.unbind(0)
    (a * 2).sum().backward()
    assert numbers(x.grad) == [[2.0, 2.0], [0.0, 0.0], [0.0, 0.0]]
    x.grad = None
    values, indices = (x * 1).max(dim=0)
    assert not indices.requires_grad and indices.grad_fn is None
    (values * c.detach()).sum().backward()
    assert numbers(x.grad) == [[0.0, 0.0], [0.0, 0.0], [4.0, 5.0]]


def test_all_outputs_of_an_op_are_used_several_times() -> None:
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    a, b = (x * 1).unbind(0)
    (a * b + a).sum().backward()
    assert numbers(x.grad) == [[4.0, 5.0], [1.0, 2.0]]


def test_mixed_dtypes_give_each_leaf_its_own() -> None:
    x, y = leaf([1.0, 2.0], tt.float32), leaf([3.0, 4.0], tt.float64)
    z = x * y
    assert z.dtype == tt.float64
    z.sum().backward()
    assert x.grad.dtype == tt.float32 and y.grad.dtype == tt.float64
    assert numbers(x.grad) == [3.0, 4.0] and numbers(y.grad) == [1.0, 2.0]


def test_a_zero_dimensional_factor_is_cast_and_summed() -> None:
    x, s = leaf([1.0, 2.0], tt.float32), leaf(3.0, tt.float64)
    (x * s).sum().backward()
    assert x.grad.dtype == tt.float32 and s.grad.dtype == tt.float64 and s.grad.item() == 3.0


@pytest.mark.parametrize(
    "shape", [(), (1,), (3,), (1, 3), (2, 1), (1, 1), (2, 3), (1, 2, 3), (4, 1, 1)]
)
def test_broadcasting_is_undone(shape: tuple) -> None:
    x, y = leaf(np.ones(shape)), leaf(np.ones((4, 2, 3)))
    (x * y).sum().backward()
    assert x.grad.shape == shape
    np.testing.assert_array_equal(x.grad.array, np.full(shape, 24 / math.prod(shape)))


def test_empty_tensors() -> None:
    x = leaf(np.zeros((0, 3)))
    (x * 2).sum().backward()
    assert x.grad.shape == (0, 3)


# ------------------------------------------------------------------------------------------
# Leaves, flags, grad_fn
# ------------------------------------------------------------------------------------------


def test_requires_grad_rules() -> None:
    x = tt.ones(2)
    assert not x.requires_grad and x.is_leaf
    x.requires_grad = True
    y = x * 2
    assert y.requires_grad and not y.is_leaf
    y.requires_grad_(True)  # already so
    with pytest.raises(RuntimeError, match="only a leaf"):
        y.requires_grad_(False)
    with pytest.raises(RuntimeError, match="floating point"):
        tt.ones(2, dtype=tt.int64).requires_grad_()
    assert x.requires_grad_(False) is x and not (x * 2).requires_grad


def test_constants_are_leaves() -> None:
    x = tt.ones(2)
    assert (x * 2).is_leaf and (x * 2).grad_fn is None
    y = (leaf([1.0]) * 2).detach()
    assert y.is_leaf and not y.requires_grad


def test_next_functions_end_in_the_leaves() -> None:
    x, y = leaf([1.0]), leaf([2.0])
    z = (x * y + 1).tanh()
    tanh = z.grad_fn
    assert tanh.name() == "TanhBackward" and "Tanh" in repr(tanh)
    ((add, index),) = tanh.next_functions
    assert add.name() == "AddBackward" and index == 0
    (mul, _), (nothing, _) = add.next_functions
    assert nothing is None
    (first, _), (second, _) = mul.next_functions
    assert first.name() == "AccumulateGrad" and first.next_functions == ()
    assert first.variable is x and second.variable is y


def test_one_accumulator_for_a_leaf() -> None:
    x = leaf([1.0])
    (a, _), (b, _) = (x * x).grad_fn.next_functions
    assert a is b


def test_outputs_of_one_op_share_its_node() -> None:
    x = leaf([[1.0], [2.0]])
    a, b = (x * 1).split(1)
    assert a.grad_fn is b.grad_fn or a.grad_fn.name() == b.grad_fn.name()
    ((node, index),) = (b * 1).grad_fn.next_functions[:1]
    assert node is b.grad_fn and index == b.output_nr


def test_a_detached_tensor_does_not_hold_the_graph() -> None:
    import weakref

    x = leaf([1.0])
    y = x * 2
    node = weakref.ref(y.grad_fn)
    d = y.detach()
    del y
    assert node() is None
    d.add_(1)  # and its version still counts
    assert d._version == 1


def test_a_write_through_a_detached_tensor_is_noticed() -> None:
    x = leaf([0.5])
    y = x.tanh()
    y.detach().add_(1)
    with pytest.raises(GradientError, match="tanh: its output.*changed in place"):
        y.sum().backward()
    h = x * 2
    d = h.detach()
    z = (h * h).sum()  # saved after the detach
    d.mul_(3)
    with pytest.raises(GradientError, match="mul.*changed in place"):
        z.backward()


def test_a_view_made_under_no_grad_stays_outside() -> None:
    x = leaf([1.0, 2.0])
    with tt.no_grad():
        v = x.view(2, 1)
        x.mul_(2)
    assert not v.requires_grad and "grad_fn=<Invalid>" in repr(v)
    with pytest.raises(RuntimeError, match="made under no_grad.*make it again"):
        v.grad_fn  # noqa: B018


# ------------------------------------------------------------------------------------------
# Errors
# ------------------------------------------------------------------------------------------


class Misshapen(Op):
    """y = x, with a gradient of the wrong shape."""

    def forward(self, x: Any) -> Any:
        return x * 1

    def backward(self, g: Any) -> Any:
        return g[:-1]


class Integer(Op):
    """y = x, with a gradient of the wrong dtype."""

    def forward(self, x: Any) -> Any:
        return x * 1

    def backward(self, g: Any) -> Any:
        return g.astype(np.int64)


def saved_then_written() -> None:
    x = leaf([1.0, 2.0])
    h = x * 1
    y = (h * h).sum()
    h.add_(1)
    y.backward()


def output_written() -> None:
    y = leaf([1.0, 2.0]).tanh()
    z = y.sum()
    y.mul_(2)
    z.backward()


ERRORS: list[tuple[str, Any, type, list[str]]] = [
    ("vector", lambda: (leaf([1.0, 2.0]) * 2).backward(), GradientError,
     ["backward", "scalar", r"\(2,\)", "gradient="]),
    ("wrong shape", lambda: (leaf([1.0, 2.0]) * 2).backward(tt.ones(3)), GradientError,
     [r"Mismatch in shape: grad_output\[0\].*\(\[3\]\).*output\[0\].*\(\[2\]\)"]),
    ("grad: wrong shape", lambda: grad(leaf([1.0, 2.0]) * 2, leaf(1.0), tt.ones(1)), GradientError,
     [r"Mismatch in shape: grad_output\[0\].*\(\[1\]\).*output\[0\].*\(\[2\]\)"]),
    ("constant", lambda: tt.ones(1).backward(), GradientError,
     ["backward", r"\(1,\)", "does not require grad", "grad_fn"]),
    ("under no_grad", lambda: untracked().backward(), GradientError,
     ["does not require grad", "no_grad"]),
    ("grad: constant input", lambda: grad(leaf(1.0) * 2, tt.ones(3)), GradientError,
     ["grad", "input 0", r"\(3,\)", "requires_grad=True"]),
    ("inputs: constant", lambda: (leaf(1.0) * 2).backward(inputs=[tt.ones(3)]), GradientError,
     ["backward", "input 0", r"\(3,\)"]),
    ("inputs: empty", lambda: (leaf(1.0) * 2).backward(inputs=[]), RuntimeError,
     ["backward", "inputs is empty"]),
    ("too many gradients", lambda: grad(leaf(1.0) * 2, leaf(1.0), (None, None)), RuntimeError,
     ["grad", "2 gradients for 1 outputs"]),
    ("unused", lambda: grad(leaf(1.0) * 2, leaf([[1.0]])), GradientError,
     ["input 0", r"\(1, 1\)", "allow_unused"]),
    ("materialize", lambda: grad(leaf(1.0), leaf(1.0), allow_unused=False, materialize_grads=True),
     ValueError, ["materialize_grads", "allow_unused"]),
    ("batched", lambda: grad(leaf(1.0), leaf(1.0), is_grads_batched=True), RuntimeError,
     ["grad", "is_grads_batched"]),
    ("rule: shape", lambda: Misshapen.apply(leaf([1.0, 2.0])).sum().backward(), GradientError,
     ["misshapen", r"\(1,\)", r"expected \(2,\)", "made at"]),
    ("rule: dtype", lambda: Integer.apply(leaf([1.0, 2.0])).sum().backward(), GradientError,
     ["integer", "int64", "expected float64", "made at"]),
    ("saved, then written", saved_then_written, GradientError,
     ["mul: its input 'a'", r"\(2,\)", "version 1, expected 0", "clone", "made at"]),
    ("output written", output_written, GradientError,
     ["tanh: its output", r"\(2,\)", "version 1, expected 0"]),
    ("leaf in place", lambda: leaf([1.0]).add_(1), RuntimeError,
     ["add_", "a leaf", r"\(1,\)", "no_grad"]),
    ("view of a leaf in place", lambda: leaf([1.0, 2.0])[:1].add_(1), RuntimeError,
     ["add_", "a view of a leaf", "no_grad"]),
    ("grad of the wrong shape", lambda: set_grad(leaf([1.0]), tt.ones(2, dtype=tt.float64)),
     RuntimeError, ["grad", r"\(2,\)", r"\(1,\)"]),
    ("grad of the wrong type", lambda: set_grad(leaf([1.0]), 3), TypeError,
     ["grad", "int", "Tensor"]),
    ("retain_grad", lambda: tt.ones(1).retain_grad(), RuntimeError,
     ["retain_grad", "require grad"]),
    ("hook", lambda: tt.ones(1).register_hook(print), RuntimeError, ["register_hook", "require"]),
    ("post-accumulate hook", lambda: (leaf(1.0) * 2).register_post_accumulate_grad_hook(print),
     RuntimeError, ["register_post_accumulate_grad_hook", "leaf"]),
]  # fmt: skip


def untracked() -> tt.Tensor:
    with tt.no_grad():
        return leaf(1.0) * 2


def set_grad(tensor: Any, value: Any) -> None:
    tensor.grad = value


@pytest.mark.parametrize(
    ("call", "error", "patterns"), [e[1:] for e in ERRORS], ids=[e[0] for e in ERRORS]
)
def test_errors_say_what_is_wrong(call: Any, error: type, patterns: list[str]) -> None:
    import re

    with pytest.raises(error) as info:
        call()
    message = str(info.value)
    assert "\n" not in message
    for pattern in patterns:
        assert re.search(pattern, message), f"{pattern!r} is not in {message!r}"


# ------------------------------------------------------------------------------------------
# Found by random programs (tests/random_programs)
# ------------------------------------------------------------------------------------------


def test_a_leaf_that_was_detached_gets_no_gradient() -> None:
    x, y = (tt.ones(2, requires_grad=True) for _ in range(2))
    z = (x * y).sum()
    x.detach_()
    z.backward()
    assert x.grad is None and y.grad is not None


def test_a_leaf_that_got_a_history_is_refused() -> None:
    base = tt.ones(3)
    leaf = base[1:].requires_grad_()
    z = (leaf + 1).sum()
    base.mul_(tt.ones(3, requires_grad=True))
    with pytest.raises(GradientError, match=r"leaf of shape \(2,\) is a view of a tensor that was"):
        z.backward()


def test_hooks_on_no_way_to_the_inputs_do_not_run() -> None:
    x, y = (tt.ones(2, requires_grad=True) for _ in range(2))
    a, b = x * 2, y * 3
    calls: list = []
    a.register_hook(calls.append)
    x.register_hook(calls.append)
    (dy,) = tt.autograd.grad([a, b], [y], [tt.ones(2), tt.ones(2)])
    assert dy.tolist() == [3, 3] and calls == []


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: tt.lerp(x, tt.zeros(2), 0.25), 1.5),
        (lambda x: tt.add(tt.zeros(2), x, alpha=0.5), 1),
        (lambda x: tt.sub(tt.zeros(2), x, alpha=0.5), -1),
    ],
)
def test_ops_that_save_no_tensor_run_backward_twice(function: Any, expected: float) -> None:
    x = tt.ones(2, requires_grad=True)
    y = function(x).sum()
    y.backward()
    y.backward()
    assert x.grad is not None
    assert x.grad.tolist() == [expected, expected]


def test_a_value_written_over_after_create_graph_is_noticed() -> None:
    x = tt.ones(2, requires_grad=True)
    y = x * 2
    z = tt.cos(y)
    (g,) = tt.autograd.grad(z.sum(), x, create_graph=True)  # −2·sin y: saves y once more
    y.add_(1)
    with pytest.raises(GradientError, match="was changed in place"):
        g.sum().backward()


@pytest.mark.parametrize("create_graph", [False, True])
def test_zeros_for_an_unused_input_can_be_differentiated(create_graph: bool) -> None:
    x, y = tt.ones(2, requires_grad=True), tt.ones(2, requires_grad=True)
    options: Any = {"materialize_grads": True, "create_graph": create_graph}
    _, dy = tt.autograd.grad(x.sum(), (x, y), **options)
    assert dy.tolist() == [0, 0] and dy.requires_grad == create_graph
    if create_graph:
        (again,) = tt.autograd.grad(dy.sum(), y, materialize_grads=True)
        assert again.tolist() == [0, 0]
