"""Writes through views: what the base, the view and its other views show and where gradients go.

Every program is run with tinytensor and with PyTorch, and must give the same values and gradients.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.errors import GradientError

try:
    import torch
except ImportError:
    torch = None  # type: ignore[assignment]

needs_torch = pytest.mark.skipif(torch is None, reason="PyTorch is not installed")

SHAPE = (4, 4)

VIEWS = {
    "slice": lambda x: x[1:3],
    "slice with step": lambda x: x[::2, 1:],
    "integer and slice": lambda x: x[1, ::2],
    "one element": lambda x: x[1, 2],
    "newaxis": lambda x: x[:, None],
    "ellipsis": lambda x: x[..., -1],
    "reshape": lambda x: x.reshape(2, 8),
    "view": lambda x: x.view(-1),
    "flatten": lambda x: x.flatten(),
    "unflatten": lambda x: x.unflatten(0, (2, 2)),
    "squeeze": lambda x: x.squeeze(),
    "unsqueeze": lambda x: x.unsqueeze(1),
    "transpose": lambda x: x.transpose(0, 1),
    "T": lambda x: x.T,
    "t": lambda x: x.t(),
    "mT": lambda x: x.mT,
    "permute": lambda x: x.permute(1, 0),
    "movedim": lambda x: x.movedim(0, 1),
    "expand, nothing repeated": lambda x: x.expand(4, 4),
    "narrow": lambda x: x.narrow(1, 1, 2),
    "select": lambda x: x.select(0, 2),
    "diagonal": lambda x: x.diagonal(),
    "diagonal, offset": lambda x: x.diagonal(1),
    "unfold": lambda x: x.unfold(0, 2, 2),
    "as_strided": lambda x: x.as_strided((2, 3), (5, 1), 3),
    "slice, unsqueeze_": lambda x: x[1:3].unsqueeze_(1),
    "slice, t_, squeeze_": lambda x: x[1:2].t_().squeeze_(),
    "slice, then select": lambda x: x[1:].select(1, 0),
    "transpose, then slice": lambda x: x.t()[:2],
    "reshape, then slice": lambda x: x.reshape(2, 8)[:, ::3],
    "diagonal, then narrow": lambda x: x.diagonal().narrow(0, 1, 2),
    "four views": lambda x: x.view(2, 2, 4).transpose(0, 2)[1:].select(1, 0),
    "slice, view": lambda x: x[1:3].view(-1),
    "transpose, then a copy": lambda x: x.t().reshape(-1),  # not a view any more
    "the tensor itself": lambda x: x,
}

# Each gets the view and a tracked tensor of its shape, and returns what the view is after it.


def _set_first(v: Any, s: Any) -> Any:
    v[0] = s[0]
    return v


def _set_all(v: Any, s: Any) -> Any:
    v[...] = s
    return v


def _set_masked(v: Any, s: Any) -> Any:
    v[v.detach() > 0] = 0.5
    return v


def _add(v: Any, s: Any) -> Any:
    v += s
    return v


def _mul(v: Any, s: Any) -> Any:
    v *= s
    return v


def _three_writes(v: Any, s: Any) -> Any:
    return v.mul_(s).add_(1).mul_(s)


WRITES = {
    "mul_": lambda v, s: v.mul_(s),
    "mul_ by a number": lambda v, s: v.mul_(3),
    "add_": lambda v, s: v.add_(s),
    "sub_ of a product": lambda v, s: v.sub_(s * s),
    "copy_": lambda v, s: v.copy_(s),
    "fill_": lambda v, s: v.fill_(2),
    "fill_ with a tensor": lambda v, s: v.fill_(s.sum()),
    "zero_": lambda v, s: v.zero_(),
    "tanh_": lambda v, s: v.tanh_(),
    "setitem of a part": _set_first,
    "setitem of all": _set_all,
    "setitem with a mask": _set_masked,
    "+=": _add,
    "*=": _mul,
    "three writes": _three_writes,
}


# A 0-d view has no part that could be set.
PROGRAMS = [
    (view, write)
    for view in VIEWS
    for write in WRITES
    if (view, write) != ("one element", "setitem of a part")
]


def numbers(shape: tuple, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-2, 2, shape)


def run(lib: Any, tracked_base: bool, view: str, write: str) -> list:
    """Values of base, view and two other views after the write, then the two leaves' gradients."""
    leaf = lib.tensor(numbers(SHAPE, 1), requires_grad=True)
    base = leaf * 1.5 if tracked_base else lib.tensor(numbers(SHAPE, 1))
    earlier = base[1:, :3]
    nested = base.t()[1]
    seen = VIEWS[view](base)
    source = lib.tensor(numbers(tuple(seen.shape), 2), requires_grad=True)
    seen = WRITES[write](seen, source)
    later = base.reshape(-1)[3:]

    shown = [base, seen, earlier, nested, later]
    loss = (source * 0).sum() + (leaf * 0).sum()
    for i, tensor in enumerate(shown):
        weights = lib.tensor(numbers(tuple(tensor.shape), 10 + i))
        loss = loss + (tensor * tensor * weights).sum()
    loss.backward()
    values = [tensor.detach().numpy() for tensor in shown]
    return [*values, leaf.grad.numpy(), source.grad.numpy()]


def run_twice(lib: Any, view: str, write: str) -> list:
    """First and second derivatives of a loss that reads the base transposed."""
    leaf = lib.tensor(numbers(SHAPE, 1), requires_grad=True)
    base = leaf * leaf
    seen = VIEWS[view](base)
    source = lib.tensor(numbers(tuple(seen.shape), 2), requires_grad=True)
    seen = WRITES[write](seen, source)
    read = base.t() * lib.tensor(numbers(SHAPE, 3))
    loss = (read * read * read).sum() + (seen * seen).sum() + (source * 0).sum()
    first = lib.autograd.grad(loss, [leaf, source], create_graph=True)
    total = sum((g * g).sum() for g in first)
    second = lib.autograd.grad(total, [leaf, source], allow_unused=True)
    zeros = [np.zeros(SHAPE), np.zeros(tuple(source.shape))]
    return [g.detach().numpy() for g in first] + [
        zero if g is None else g.numpy() for g, zero in zip(second, zeros, strict=True)
    ]


def assert_same(ours: list, theirs: list) -> None:
    for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10, err_msg=f"result {i}")


@needs_torch
@pytest.mark.parametrize(("view", "write"), PROGRAMS)
@pytest.mark.parametrize("tracked_base", [True, False], ids=["tracked", "untracked"])
def test_write_through_a_view(tracked_base: bool, view: str, write: str) -> None:
    assert_same(run(tt, tracked_base, view, write), run(torch, tracked_base, view, write))


@needs_torch
@pytest.mark.parametrize("write", ["mul_", "copy_", "zero_", "setitem of all", "three writes"])
@pytest.mark.parametrize("view", VIEWS)
def test_second_derivative_through_a_view(view: str, write: str) -> None:
    assert_same(run_twice(tt, view, write), run_twice(torch, view, write))


# ------------------------------------------------------------------------------------------
# Several outputs that are views: PyTorch refuses recorded writes to them, here they are exact
# ------------------------------------------------------------------------------------------

MANY = {
    "split": (lambda x: x.split(2)[1], lambda x: x.narrow(0, 2, 2)),
    "split, sizes": (lambda x: x.split([1, 3], dim=1)[1], lambda x: x.narrow(1, 1, 3)),
    "chunk": (lambda x: x.chunk(2, 1)[0], lambda x: x.narrow(1, 0, 2)),
    "unbind": (lambda x: x.unbind(1)[2], lambda x: x.select(1, 2)),
    "iteration": (lambda x: list(x)[3], lambda x: x.select(0, 3)),
    "tensor_split": (lambda x: x.tensor_split(3)[1], lambda x: x.narrow(0, 2, 1)),
}


@needs_torch
@pytest.mark.parametrize("write", ["mul_", "copy_", "zero_", "+=", "setitem of a part"])
@pytest.mark.parametrize("view", MANY)
@pytest.mark.parametrize("tracked_base", [True, False], ids=["tracked", "untracked"])
def test_write_to_one_of_several_outputs(
    monkeypatch: pytest.MonkeyPatch, tracked_base: bool, view: str, write: str
) -> None:
    ours, theirs = MANY[view]
    monkeypatch.setitem(VIEWS, "ours", ours)
    monkeypatch.setitem(VIEWS, "theirs", theirs)
    assert_same(run(tt, tracked_base, "ours", write), run(torch, tracked_base, "theirs", write))


def test_outputs_of_split_see_each_others_base() -> None:
    x = tt.zeros(4)
    left, right = x.split(2)
    right.fill_(5)
    x[0] = 7
    assert left.tolist() == [7, 0] and right.tolist() == [5, 5] and x.tolist() == [7, 0, 5, 5]


# ------------------------------------------------------------------------------------------
# Untracked views, detached tensors, no_grad
# ------------------------------------------------------------------------------------------


def test_untracked_write_is_seen_everywhere() -> None:
    x = tt.zeros(2, 3)
    row, column, flat = x[0], x.t()[1], x.view(-1)
    x.diagonal().fill_(1)
    row[2] = 9
    column.add_(3)
    assert x.tolist() == [[1, 3, 9], [0, 4, 0]]
    assert flat.tolist() == [1, 3, 9, 0, 4, 0]
    assert not x.requires_grad and x.is_leaf and x._version == 3 == flat._version


def test_view_knows_its_base() -> None:
    x = tt.zeros(2, 3)
    assert x.t()._base is x and x._base is None
    assert x.t().reshape(-1)._base is None, "a copy has no base"
    assert x.clone()._base is None and x.flip(0)._base is None and x.repeat(1, 1)._base is None


def test_untracked_base_becomes_tracked_through_a_view() -> None:
    x = tt.tensor([1.0, 2.0], requires_grad=True)
    base = tt.zeros(4)
    view, other, apart = base[:2], base[1:3], tt.zeros(4)
    view.copy_(x)
    assert base.requires_grad and other.requires_grad and view.requires_grad
    assert base.grad_fn is not None and not apart.requires_grad
    other.sum().backward()
    assert x.grad.tolist() == [0, 1]


def test_write_under_no_grad_is_not_recorded() -> None:
    x = tt.ones(3, requires_grad=True)
    with tt.no_grad():
        x[1:].mul_(5)
    assert x.tolist() == [1, 5, 5] and x.is_leaf and x.requires_grad
    (x * x).sum().backward()
    assert x.grad.tolist() == [2, 10, 10]


def test_view_made_under_no_grad_is_not_written_to_outside() -> None:
    y = tt.ones(3, requires_grad=True) * 2
    with tt.no_grad():
        view = y[1:]
        view.mul_(2)
    with pytest.raises(RuntimeError, match=r"mul_: a view of shape \(2,\) .* no_grad"):
        view.mul_(2)


# ------------------------------------------------------------------------------------------
# What is refused
# ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("view", [v for v in VIEWS if v not in ("transpose, then a copy",)])
def test_view_of_a_leaf_that_requires_grad_is_not_written_to(view: str) -> None:
    leaf = tt.tensor(numbers(SHAPE, 1), requires_grad=True)
    with pytest.raises(RuntimeError, match=r"zero_: a (view of a )?leaf tensor of shape \(4, 4\)"):
        VIEWS[view](leaf).zero_()


@pytest.mark.parametrize(
    "write",
    [
        lambda y: y[0].zero_(),
        lambda y: y.t().mul_(2),
        lambda y: y.view(-1)[3:].fill_(1),
        lambda y: y.unbind(1)[2].add_(1),
        lambda y: y.diagonal().copy_(tt.zeros(4)),
        lambda y: y.detach().t().zero_(),
        lambda y: y.__setitem__((1, 2), 0),
    ],
)
def test_saved_value_overwritten_through_a_view(write: Any) -> None:
    x = tt.tensor(numbers(SHAPE, 1), requires_grad=True)
    y = x * 2
    z = y * y  # saves y
    write(y)
    with pytest.raises(GradientError, match=r"mul: its input .* of shape \(4, 4\), was changed"):
        z.sum().backward()


def test_saved_view_overwritten_through_its_base() -> None:
    y = tt.tensor(numbers(SHAPE, 1), requires_grad=True) * 2
    row = y[0]
    z = row * row
    y.add_(1)
    with pytest.raises(GradientError, match=r"mul: .* of shape \(4,\), was changed in place"):
        z.sum().backward()


@pytest.mark.parametrize(
    "expand",
    [
        lambda x: x.expand(3, 4),
        lambda x: x.t().broadcast_to((2, 1, 3)),
        lambda x: tt.broadcast_tensors(x, tt.zeros(4))[0],
        lambda x: tt.meshgrid(x.view(-1), x.view(-1), indexing="ij")[0],
    ],
)
def test_expanded_view_is_not_written_to(expand: Any) -> None:
    x = tt.ones(3, 1)
    with pytest.raises(RuntimeError, match=r"add_: .*expanded.*clone"):
        expand(x).add_(1)
    assert x.tolist() == [[1], [1], [1]]


def test_a_leaf_does_not_change_its_shape_in_place() -> None:
    x = tt.zeros(2, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"unsqueeze_: a leaf tensor of shape \(2, 3\)"):
        x.unsqueeze_(0)
    y = x.detach().unsqueeze_(0)
    assert (tuple(x.shape), tuple(y.shape)) == ((2, 3), (1, 2, 3))


def reshape_then_write(lib: Any) -> list:
    leaf = lib.tensor(numbers(SHAPE, 1), requires_grad=True)
    base = leaf * 2
    base.transpose_(0, 1).unsqueeze_(1)
    view = base[1]
    view.mul_(leaf[0])
    base[0] = 0.5
    (base * base * lib.tensor(numbers((4, 1, 4), 2))).sum().backward()
    return [base.detach().numpy(), view.detach().numpy(), leaf.grad.numpy()]


@needs_torch
def test_writes_after_a_change_of_shape_in_place() -> None:
    assert_same(reshape_then_write(tt), reshape_then_write(torch))


@pytest.mark.parametrize("write", [lambda x, view: x.mul_(2), lambda x, view: view.mul_(2)])
def test_a_view_from_before_a_change_of_shape_is_not_used_wrongly(write: Any) -> None:
    x = tt.ones(3, 3, requires_grad=True) * 2
    view = x[0, 1]
    x.t_()
    assert view.sum().requires_grad  # as long as nothing is written, it is what it was
    with pytest.raises(RuntimeError, match=r"view of shape \(\) was made before its base got"):
        write(x, view)
        view.sum()


def test_as_strided_adds_up_where_windows_overlap() -> None:
    def windows(x: tt.Tensor) -> tt.Tensor:
        return x.as_strided((4, 3), (1, 1)) ** 3

    x = tt.tensor(numbers((6,), 1), requires_grad=True)
    assert tt.autograd.gradcheck(windows, x) and tt.autograd.gradgradcheck(windows, x)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: x.t().as_strided((2,), (1,)), r"as_strided: .*call contiguous\(\) first"),
        (lambda x: x.as_strided((4, 4), (4, 2)), r"as_strided: .*\(4, 2\).* the tensor's 16 elem"),
        (lambda x: x.as_strided((2, 2), (1,)), "as_strided: .*as many strides as sizes"),
        (lambda x: x.as_strided((2,), (-1,), 3), "as_strided: .*none negative"),
    ],
)
def test_as_strided_stays_within_the_tensor(call: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        call(tt.zeros(4, 4))
