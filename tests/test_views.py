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
# Several outputs that are views; writes to them are in autograd/test_view_writes.py
# ------------------------------------------------------------------------------------------


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
    message = r"(zero|unsqueeze|t)_: a (view of a )?leaf tensor of shape \(4, 4\)"
    with pytest.raises(RuntimeError, match=message):
        VIEWS[view](leaf).zero_()


@pytest.mark.parametrize(
    "write",
    [
        lambda y: y[0].zero_(),
        lambda y: y.t().mul_(2),
        lambda y: y.view(-1)[3:].fill_(1),
        lambda y: y.tensor_split(4, 1)[2].add_(1),
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


def write_with_a_view_from_before(lib: Any, write: Any, partial: bool) -> list:
    leaf = lib.tensor(numbers((3, 3), 1), requires_grad=True)
    base = leaf * 2
    x = base[1:] if partial else base
    view = x[0, 1:]
    x.t_()
    write(x, view, leaf)
    loss = (view * view).sum() + (x * lib.tensor(numbers(tuple(x.shape), 2))).sum()
    (loss + (base * base).sum()).backward()
    return [t.detach().numpy() for t in (base, x, view, leaf.grad)]


@needs_torch
@pytest.mark.parametrize("partial", [False, True], ids=["root", "view"])
@pytest.mark.parametrize(
    "write", [lambda x, view, v: x.mul_(v[0, 0]), lambda x, view, v: view.mul_(v[1, 1:])]
)
def test_a_view_from_before_a_change_of_shape(write: Any, partial: bool) -> None:
    ours = write_with_a_view_from_before(tt, write, partial)
    assert_same(ours, write_with_a_view_from_before(torch, write, partial))


def test_a_view_of_memory_that_was_replaced_is_refused() -> None:
    x = tt.zeros(3)
    view = x[1:]
    x.data = tt.ones(3)
    with pytest.raises(RuntimeError, match=r"view of shape \(2,\) is stale"):
        view.mul_(tt.ones(2, requires_grad=True))


def test_as_strided_adds_up_where_windows_overlap() -> None:
    def windows(x: tt.Tensor) -> tt.Tensor:
        return x.as_strided((4, 3), (1, 1)) ** 3

    x = tt.tensor(numbers((6,), 1), requires_grad=True)
    assert tt.autograd.gradcheck(windows, x) and tt.autograd.gradgradcheck(windows, x)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: x.as_strided((4, 4), (4, 2)), r"as_strided: .*\(4, 2\).* the storage's 16 el"),
        (
            lambda x: x[1:].as_strided((2,), (1,), 15),
            r"as_strided: .*15.* the storage's 16 elements",
        ),
        (lambda x: x.as_strided((2, 2), (1,)), "as_strided: .*as many strides as sizes"),
        (lambda x: x.as_strided((2,), (-1,), 3), "as_strided: .*none negative"),
    ],
)
def test_as_strided_stays_within_the_tensor(call: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        call(tt.zeros(4, 4))


# What as_strided is called on, of a (4, 4) tensor: parts of it, and other layouts.
SOURCES = {
    "rows": lambda x: x[1:3],
    "columns": lambda x: x[:, 2:],
    "one element": lambda x: x[2, 1],
    "transposed": lambda x: x.t(),
    "diagonal": lambda x: x.diagonal(1),
    "expanded": lambda x: x[1].expand(3, 4),
    "another as_strided": lambda x: x.as_strided((3, 2), (3, 2), 1),
    "empty": lambda x: x[4:],
    "detached": lambda x: x[1:].detach(),
    "data": lambda x: x[1:].data,
}
STRIDES = [((2, 3), (4, 1), 5), ((3,), (5,), 0), ((2, 2, 2), (1, 1, 1), 3), ((), (), 15)]


@needs_torch
@pytest.mark.parametrize("geometry", STRIDES, ids=str)
@pytest.mark.parametrize("source", SOURCES)
def test_as_strided_counts_from_the_start_of_the_storage(source: str, geometry: tuple) -> None:
    def program(lib: Any) -> list:
        leaf = lib.tensor(numbers(SHAPE, 1), requires_grad=True)
        x = SOURCES[source](leaf * leaf)
        y = x.as_strided(*geometry)
        loss = (y * y * lib.tensor(numbers(tuple(y.shape), 2))).sum() + (leaf**3).sum() * x.sum()
        (first,) = lib.autograd.grad(loss, leaf, create_graph=True)
        (second,) = lib.autograd.grad((first * first).sum(), leaf, allow_unused=True)
        second = second if second is not None else lib.zeros(4, 4)
        shown = [y, first, second]
        return [*(t.detach().numpy() for t in shown), y.storage_offset(), y.stride()]

    assert_same(program(tt), program(torch))


@needs_torch
@pytest.mark.parametrize("geometry", [*STRIDES[:2], ((2, 2), (4, 2), 1)], ids=str)
@pytest.mark.parametrize("source", [s for s in SOURCES if s not in ("detached", "data")])
def test_writes_to_as_strided_reach_the_root(source: str, geometry: tuple) -> None:
    def program(lib: Any) -> list:
        leaf = lib.tensor(numbers(SHAPE, 1), requires_grad=True)
        root = (leaf * leaf).t().mul(2)  # not row-major
        x = SOURCES[source](root)
        y = x.as_strided(*geometry)
        y.mul_(lib.tensor(numbers(tuple(y.shape), 3)))
        shown = (root, x, y)
        sum((t * t * t).sum() for t in shown).backward()
        return [t.detach().numpy() for t in (*shown, leaf.grad)]

    assert_same(program(tt), program(torch))


def test_a_recorded_write_outside_of_a_detached_part_is_refused() -> None:
    y = tt.zeros(4)[2:].detach().as_strided((2,), (1,), 0)
    assert y.add_(1).tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="mul_: as_strided of a detached part"):
        y.mul_(tt.ones(2, requires_grad=True))


# ------------------------------------------------------------------------------------------
# Found by random programs (tests/random_programs)
# ------------------------------------------------------------------------------------------


def test_a_view_from_no_grad_is_refused_after_its_base_was_written_to() -> None:
    base = tt.ones(3, requires_grad=True) * 2
    with tt.no_grad():
        view = base[1:]
    assert (view * 2).tolist() == [4, 4]
    base.mul_(3)
    assert view.tolist() == [6, 6]
    with pytest.raises(RuntimeError, match=r"view of shape \(2,\) that was made under no_grad"):
        view * 2
    with tt.no_grad():
        assert (view * 2).tolist() == [12, 12]


@needs_torch
def test_views_made_again_pass_by_the_views_between() -> None:
    """What a write to one view makes of another does not go through the hooks of a third."""

    def program(lib: Any) -> list:
        leaf = lib.tensor(numbers(SHAPE, 1), requires_grad=True)
        base = leaf * 2
        between = base[1:]
        view = between[:, 1:]
        between.register_hook(lambda g: g * 10)
        view.register_hook(lambda g: g * 100)
        view.mul_(leaf[1:, 1:])
        (base * base).sum().backward(retain_graph=True)
        (unused,) = lib.autograd.grad(view.sum(), between, retain_graph=True, allow_unused=True)
        view.sum().backward()
        return [leaf.grad.numpy(), float(unused is None)]

    assert_same(program(tt), program(torch))


def test_a_write_to_a_part_of_a_saved_result_is_noticed() -> None:
    y = tt.tensor(numbers(SHAPE, 1), requires_grad=True) * 2
    y.relu_()  # saves what it wrote
    y[0].neg_()
    with pytest.raises(GradientError, match="relu: its output, .*, was changed in place"):
        y.sum().backward()


@needs_torch
@pytest.mark.parametrize(
    "make",
    [
        lambda lib, x: lib.cat([x.t(), x.t()]),
        lambda lib, x: lib.stack([x.t(), x.t()], -1),
        lambda lib, x: lib.zeros_like(x.t()),
        lambda lib, x: lib.ones_like(x[:, 0].expand(3, 4)),
        lambda lib, x: x[:, 1].ravel(),
        lambda lib, x: x.detach()[1:].data,
        lambda lib, x: x[1:].detach()[1],
        lambda lib, x: x.t_(),
    ],
)
def test_layout_and_place_in_memory(make: Any) -> None:
    mine, reference = (make(lib, lib.tensor(numbers(SHAPE, 1))) for lib in (tt, torch))
    for known in ("stride", "storage_offset", "is_contiguous"):
        assert getattr(mine, known)() == getattr(reference, known)()
    assert mine._version == reference._version


def test_the_base_of_a_view_is_its_root() -> None:
    x = tt.zeros(2, 3)
    assert x.t()[0][1:]._base is x


@needs_torch
def test_gradients_of_a_whole_overwritten_tensor_have_no_history() -> None:
    def program(lib: Any) -> list:
        leaf = lib.tensor(numbers(SHAPE, 1), requires_grad=True)
        y = leaf * 2
        y[...] = lib.tensor(numbers(SHAPE, 2))
        (g,) = lib.autograd.grad((y * y).sum(), leaf, create_graph=True)
        return [g.detach().numpy(), float(g.requires_grad)]

    assert_same(program(tt), program(torch))


@needs_torch
@pytest.mark.parametrize(
    ("shape", "size", "stride", "offset"),
    [((4, 3), (2, 2), (1, 3), 1), ((6,), (3,), (2,), 1), ((2, 3), (), (), 4)],
)
def test_as_strided_scatter(shape: tuple, size: tuple, stride: tuple, offset: int) -> None:
    """Gradients by finite differences: PyTorch's own gradcheck refuses its gradient of input."""
    x, src = numbers(shape, 1), numbers(size, 2)
    found = tt.as_strided_scatter(tt.tensor(x), tt.tensor(src), size, stride, offset)
    expected = torch.as_strided_scatter(torch.tensor(x), torch.tensor(src), size, stride, offset)
    np.testing.assert_array_equal(found.numpy(), expected.numpy())
    inputs = [tt.tensor(np.float64(a), requires_grad=True) for a in (x, src)]
    assert tt.autograd.gradcheck(
        lambda a, b: tt.as_strided_scatter(a, b, size, stride, offset), inputs
    )
    with pytest.raises(RuntimeError, match="as_strided_scatter: src has shape"):
        tt.as_strided_scatter(tt.tensor(x), tt.ones(7), size, stride, offset)
