"""Hooks on tensors and nodes: when they run, what they see, and what they may change."""

from __future__ import annotations

from typing import Any

import pytest

import tinytensor as tt


def leaf(values: Any) -> tt.Tensor:
    return tt.tensor(values, dtype=tt.float64, requires_grad=True)


def test_hook_on_a_leaf_sees_the_complete_gradient_once() -> None:
    x, seen = leaf([1.0]), []
    x.register_hook(lambda g: seen.append(g.tolist()))
    (x * 2 + x * 3).sum().backward()
    assert seen == [[5.0]] and x.grad.tolist() == [5.0]


def test_hook_on_a_result_may_replace_the_gradient() -> None:
    x = leaf([1.0])
    h = x * 2
    h.register_hook(lambda g: g * 10)
    (h * 3).sum().backward()
    assert x.grad.tolist() == [60.0]


def test_a_hook_may_write_into_the_gradient() -> None:
    """Although that of a sum is one number, seen again and again."""
    x = leaf([1.0, 2.0])
    h = x * 2
    h.register_hook(lambda g: g.mul_(tt.tensor([10.0, 20.0])))
    h.sum().backward()
    assert x.grad.tolist() == [20.0, 40.0]


def test_hooks_run_in_order_and_see_each_others_replacements() -> None:
    x, seen = leaf([1.0]), []
    x.register_hook(lambda g: g + 1)
    x.register_hook(lambda g: seen.append(g.item()))  # returns None: leaves it
    x.register_hook(lambda g: g * 2)
    (x * 1).sum().backward()
    assert seen == [2.0] and x.grad.tolist() == [4.0]


def test_removed_hooks_do_not_run() -> None:
    x, seen = leaf([1.0]), []
    handle = x.register_hook(lambda g: seen.append("a"))
    x.register_hook(lambda g: seen.append("b"))
    handle.remove()
    handle.remove()  # twice does no harm
    x.sum().backward()
    with x.register_hook(lambda g: seen.append("c")):
        pass
    x.sum().backward()
    assert seen == ["b", "b"]


def test_a_hook_may_remove_itself() -> None:
    x, seen = leaf([1.0]), []

    def once(gradient: Any) -> None:
        seen.append(1)
        handle.remove()

    handle = x.register_hook(once)
    x.sum().backward()
    x.sum().backward()
    assert seen == [1]


def test_hooks_run_for_grad_too() -> None:
    x = leaf([1.0])
    x.register_hook(lambda g: g * 7)
    assert tt.autograd.grad((x * 2).sum(), x)[0].tolist() == [14.0]


def test_hooks_are_differentiable_with_create_graph() -> None:
    x = leaf([2.0])
    h = x * x
    handle = h.register_hook(lambda g: g * g)
    (g,) = tt.autograd.grad((h * h).sum(), x, create_graph=True)  # (2x²)²·2x = 8x⁵
    handle.remove()  # it would run in the second pass too
    (second,) = tt.autograd.grad(g.sum(), x)
    assert g.tolist() == [256.0] and second.tolist() == [640.0]


def test_hook_on_one_of_several_outputs() -> None:
    x, seen = leaf([[1.0], [2.0]]), []
    a, b = (x * 1).unbind(0)
    a.register_hook(lambda g: seen.append(g.tolist()))
    b.register_hook(lambda g: g * 5)
    (a * b).sum().backward()
    assert seen == [[2.0]] and x.grad.tolist() == [[2.0], [5.0]]


@pytest.mark.parametrize(
    ("replacement", "error", "pattern"),
    [
        (lambda g: g[:1], RuntimeError, r"shape \(1,\), expected \(2,\)"),
        (lambda g: g.float(), RuntimeError, "dtype float32, expected float64"),
        (lambda g: 3.0, TypeError, "returned float, expected a Tensor or None"),
    ],
)
def test_replacements_are_checked(replacement: Any, error: type, pattern: str) -> None:
    x = leaf([1.0, 2.0])
    x.register_hook(replacement)
    with pytest.raises(error, match=f"hook.*{pattern}"):
        x.sum().backward()


# ------------------------------------------------------------------------------------------
# retain_grad
# ------------------------------------------------------------------------------------------


def test_retain_grad() -> None:
    x = leaf([1.0, 2.0])
    h = x * 2
    with pytest.warns(UserWarning, match="not a leaf Tensor is being"):
        assert h.grad is None and not h.retains_grad
    h.retain_grad()
    h.retain_grad()
    y = (h * h).sum()
    y.backward(retain_graph=True)
    assert h.retains_grad and h.grad.tolist() == [4.0, 8.0]
    y.backward()
    assert h.grad.tolist() == [8.0, 16.0]  # it accumulates, once for each pass
    x.retain_grad()  # nothing to do for a leaf
    assert not x.retains_grad


def test_retained_gradient_is_what_the_hooks_made_of_it() -> None:
    x = leaf([1.0])
    h = x * 2
    h.retain_grad()
    h.register_hook(lambda g: g * 10)
    h.sum().backward()
    assert h.grad.tolist() == [10.0] and x.grad.tolist() == [20.0]


def test_retained_gradient_is_its_own_memory() -> None:
    x = leaf([1.0, 2.0])
    h = x * 2
    h.retain_grad()
    h.sum().backward()
    h.grad.mul_(0)
    assert x.grad.tolist() == [2.0, 2.0]


def test_retained_gradients_share_no_memory() -> None:
    """Although the gradient of a sum is passed on as it is."""
    x, seed = leaf([1.0, 2.0]), tt.ones(2, dtype=tt.float64)
    h = x + 1
    k = h + 1
    h.retain_grad()
    k.retain_grad()
    k.backward(seed)
    k.grad.mul_(3)
    h.grad.mul_(5)
    found = [t.tolist() for t in (seed, k.grad, h.grad, x.grad)]
    assert found == [[1.0, 1.0], [3.0, 3.0], [5.0, 5.0], [1.0, 1.0]]


def test_retain_grad_follows_an_in_place_write() -> None:
    x = leaf([1.0, 2.0])
    h = x * 2
    h.retain_grad()
    h.mul_(5)
    (h * 3).sum().backward()
    assert h.retains_grad and h.grad.tolist() == [3.0, 3.0] and x.grad.tolist() == [30.0, 30.0]


# ------------------------------------------------------------------------------------------
# After accumulation
# ------------------------------------------------------------------------------------------


def test_post_accumulate_hook_sees_the_filled_gradient() -> None:
    x, seen = leaf([1.0]), []
    handle = x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.item()))
    x.register_hook(lambda g: g * 2)
    for _ in range(2):
        (x * 3).sum().backward()
    assert seen == [6.0, 12.0]
    (x * 3).sum().backward(inputs=[x])
    assert seen == [6.0, 12.0, 18.0]
    tt.autograd.grad((x * 3).sum(), x)  # accumulates nothing
    handle.remove()
    (x * 3).sum().backward()
    assert len(seen) == 3


def test_post_accumulate_hook_may_clear_the_gradient() -> None:
    x = leaf([1.0])

    def step(p: Any) -> None:
        with tt.no_grad():
            p.sub_(p.grad)
        p.grad = None

    x.register_post_accumulate_grad_hook(step)
    (x * 3).sum().backward()
    assert x.grad is None and x.tolist() == [-2.0]


# ------------------------------------------------------------------------------------------
# On nodes
# ------------------------------------------------------------------------------------------


def test_node_hook_sees_and_replaces_what_the_rule_gave() -> None:
    x, y, seen = leaf([2.0]), leaf([3.0]), []
    z = x * y

    def hook(grad_inputs: tuple, grad_outputs: tuple) -> tuple:
        seen.append(([g.item() for g in grad_inputs], [g.item() for g in grad_outputs]))
        return tuple(g * 10 for g in grad_inputs)

    handle = z.grad_fn.register_hook(hook)
    (z * 1).sum().backward(retain_graph=True)
    assert seen == [([3.0, 2.0], [1.0])]
    assert x.grad.tolist() == [30.0] and y.grad.tolist() == [20.0]
    handle.remove()
    (z * 1).sum().backward()
    assert x.grad.tolist() == [33.0] and len(seen) == 1


def test_node_prehook_replaces_what_the_rule_gets() -> None:
    x = leaf([2.0])
    z = x * 5
    z.grad_fn.register_prehook(lambda grad_outputs: (grad_outputs[0] * 2,))
    z.sum().backward()
    assert x.grad.tolist() == [10.0]


def test_node_hook_gives_none_for_constants() -> None:
    x, seen = leaf([2.0]), []
    z = x * 5
    z.grad_fn.register_hook(lambda gi, go: seen.append([g is None for g in gi]))
    z.sum().backward()
    assert seen == [[False, True]]


def test_node_hook_must_return_as_many() -> None:
    z = leaf([2.0]) * leaf([3.0])
    z.grad_fn.register_hook(lambda gi, go: gi[:1])
    with pytest.raises(RuntimeError, match="returned 1 gradients, expected 2"):
        z.sum().backward()


def test_node_hook_on_an_op_with_several_outputs() -> None:
    x, seen = leaf([[1.0], [2.0]]), []
    a, b = (x * 1).unbind(0)
    a.grad_fn.register_hook(lambda gi, go: seen.append([g.tolist() for g in go]))
    (a * b).sum().backward()
    assert len(seen) == 1
