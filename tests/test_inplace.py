"""Writes into a tensor: values, gradients and versions as PyTorch's, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
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

X = np.linspace(-1.0, 2.0, 12).reshape(3, 4)
V = np.linspace(0.5, 1.5, 12).reshape(3, 4)


def setitem(index: Callable, value: Callable) -> Callable:
    def write(L: Any, x: Any, v: Any) -> None:
        x[index(L)] = value(v)

    return write


def iadd(L: Any, x: Any, v: Any) -> None:
    x += v


def imul_of_view(L: Any, x: Any, v: Any) -> None:
    x[1] *= v[0]


# name: (write into x, of shape (3, 4), with v of the same shape; the name that errors carry)
WRITES: dict[str, tuple[Callable, str]] = {
    "copy_": (lambda L, x, v: x.copy_(v), "copy_"),
    "copy_ broadcast": (lambda L, x, v: x.copy_(v[0]), "copy_"),
    "copy_ number": (lambda L, x, v: x.copy_(3), "copy_"),
    "fill_": (lambda L, x, v: x.fill_(2.5), "fill_"),
    "fill_ tensor": (lambda L, x, v: x.fill_(v[0, 0]), "fill_"),
    "zero_": (lambda L, x, v: x.zero_(), "zero_"),
    "masked_fill_": (lambda L, x, v: x.masked_fill_(v > 1, -3), "masked_fill_"),
    "masked_fill_ tensor": (lambda L, x, v: x.masked_fill_(v > 1, v[0, 0]), "masked_fill_"),
    "masked_scatter_": (lambda L, x, v: x.masked_scatter_(v.detach() > 1, v), "masked_scatter_"),
    "index_fill_": (lambda L, x, v: x.index_fill_(1, L.tensor([0, -1]), 7), "index_fill_"),
    "index_add_": (lambda L, x, v: x.index_add_(0, L.tensor([0, 0, 2]), v), "index_add_"),
    "index_copy_": (lambda L, x, v: x.index_copy_(0, L.tensor([2, 0]), v[:2]), "index_copy_"),
    "index_put_": (
        lambda L, x, v: x.index_put_((L.tensor([0, 2]), L.tensor([1, 1])), v[0, :2]),
        "index_put_",
    ),
    "index_put_ accumulate": (
        lambda L, x, v: x.index_put_((L.tensor([0, 0]),), v[:2], accumulate=True),
        "index_put_",
    ),
    "scatter_": (
        lambda L, x, v: x.scatter_(1, L.tensor([[0, 2], [3, 1]]), v[:2, :2]),
        "scatter_",
    ),
    "scatter_ number": (lambda L, x, v: x.scatter_(0, L.tensor([[2, 0]]), 1.5), "scatter_"),
    "scatter_add_": (
        lambda L, x, v: x.scatter_add_(1, L.tensor([[0, 0], [3, 1]]), v[:2, :2]),
        "scatter_add_",
    ),
    "scatter_reduce_": (
        lambda L, x, v: x.scatter_reduce_(1, L.tensor([[0, 0], [3, 1]]), v[:2, :2], "mean"),
        "scatter_reduce_",
    ),
    "put_": (lambda L, x, v: x.put_(L.tensor([0, -1]), v[0, :2]), "put_"),
    "tril_": (lambda L, x, v: x.tril_(), "tril_"),
    "x[0] = number": (setitem(lambda L: 0, lambda v: 5), "setitem"),
    "x[0] = v": (setitem(lambda L: 0, lambda v: v[1]), "setitem"),
    "x[:, 1:3] = v": (setitem(lambda L: np.s_[:, 1:3], lambda v: v[:, :2]), "setitem"),
    "x[::2] = v": (setitem(lambda L: np.s_[::2], lambda v: v[0]), "setitem"),
    "x[...] = (1, 3, 4)": (setitem(lambda L: ..., lambda v: v[None]), "setitem"),
    "x[list] = v": (setitem(lambda L: [0, 2], lambda v: v[:2]), "setitem"),
    "x[tensor] = 0-d": (setitem(lambda L: L.tensor([2, 0]), lambda v: v[0, 0]), "setitem"),
    "x[..., tensor] = v": (setitem(lambda L: (..., L.tensor([3])), lambda v: v[:, :1]), "setitem"),
    "x[1, tensor] = v": (setitem(lambda L: (1, L.tensor([3, 0])), lambda v: v[0, :2]), "setitem"),
    "x[mask] = v": (setitem(lambda L: L.tensor(X > 0.5), lambda v: v.reshape(-1)[:6]), "setitem"),
    "x[mask] = number": (setitem(lambda L: L.tensor(X > 0.5), lambda v: -1), "setitem"),
    "x[mask, 0] = v": (
        setitem(lambda L: (L.tensor([True, False, True]), 0), lambda v: v[0, :2]),
        "setitem",
    ),
    "x[:] = x": (lambda L, x, v: x.__setitem__(slice(None), x * 1), "setitem"),
    "+=": (iadd, "add_"),
    "x[1] *= v": (imul_of_view, "mul_"),
}  # fmt: skip

each_write = pytest.mark.parametrize("case", WRITES)


def run(L: Any, case: str, tracked: bool) -> tuple[Any, ...]:
    """(value, gradient of x, gradient of v, version) of a write into 2·x, then y² summed."""
    x, v = L.tensor(X), L.tensor(V)
    if tracked:
        x.requires_grad_()
        v.requires_grad_()
    y = x * 2
    WRITES[case][0](L, y, v)
    if tracked:
        (y * y).sum().backward()
    value = y.detach().numpy()
    return value, *(None if t.grad is None else t.grad.numpy() for t in (x, v)), y._version


@needs_torch
@each_write
@pytest.mark.parametrize("tracked", [False, True], ids=["untracked", "tracked"])
def test_values_gradients_and_version_are_pytorchs(case: str, tracked: bool) -> None:
    mine, reference = run(tt, case, tracked), run(torch, case, tracked)
    for name, a, b in zip(("value", "x.grad", "v.grad"), mine, reference, strict=False):
        assert (a is None) == (b is None), f"{case}: {name} is {a}, expected {b}"
        if a is not None:
            np.testing.assert_allclose(a, b, rtol=1e-12, err_msg=f"{case}: {name}")
    assert mine[3] == reference[3], f"{case}: version {mine[3]}, expected {reference[3]}"


@each_write
def test_a_leaf_that_requires_grad_is_refused(case: str) -> None:
    write, name = WRITES[case]
    x = tt.tensor(X, requires_grad=True)
    with pytest.raises(RuntimeError, match=rf"^{name}: .*leaf.*requires grad"):
        write(tt, x, tt.tensor(V))
    np.testing.assert_array_equal(x.detach().numpy(), X)
    assert x._version == 0


@each_write
def test_a_leaf_under_no_grad_is_written(case: str) -> None:
    write = WRITES[case][0]
    expected = tt.tensor(X)
    write(tt, expected, tt.tensor(V))
    x = tt.tensor(X, requires_grad=True)
    with tt.no_grad():
        write(tt, x, tt.tensor(V))
    np.testing.assert_array_equal(x.detach().numpy(), expected.numpy())
    assert x.is_leaf and x.requires_grad and x._version == expected._version > 0


@each_write
def test_a_saved_value_that_is_overwritten_is_noticed(case: str) -> None:
    x = tt.tensor(X, requires_grad=True)
    y = x * 2
    z = y * y  # saves y
    WRITES[case][0](tt, y, tt.tensor(V))
    with pytest.raises(GradientError) as found:
        z.sum().backward()
    message = str(found.value)
    assert message.startswith("mul: ") and "(3, 4)" in message
    assert f"version {y._version}, expected 0" in message


@each_write
def test_an_untracked_tensor_becomes_tracked_by_a_tracked_value(case: str) -> None:
    x, v = tt.tensor(X), tt.tensor(V, requires_grad=True)
    WRITES[case][0](tt, x, v)
    assert x.requires_grad == (x.grad_fn is not None)
    if x.requires_grad:
        x.sum().backward()
        assert v.grad is not None and v.grad.shape == (3, 4)


# ------------------------------------------------------------------------------------------
# Views
# ------------------------------------------------------------------------------------------


@needs_torch
@pytest.mark.parametrize(
    "program",
    [
        lambda L, y, v: y[0].fill_(3),
        lambda L, y, v: y[0][1:].copy_(v[0, 1:]),
        lambda L, y, v: y.t()[1].mul_(v[:, 0]),
        lambda L, y, v: y.view(-1)[::3].zero_(),
        lambda L, y, v: y[:, 1:].masked_fill_(v[:, 1:] > 1, 0),
        lambda L, y, v: (y[0].add_(v[0]), y[:, 0].mul_(v[:, 1])),
        lambda L, y, v: y[None, 1, ...][0].index_fill_(0, L.tensor([1, 1]), 4),
        lambda L, y, v: y[1:2, [0, 2]].zero_(),  # a copy: y stays as it is
        lambda L, y, v: y[L.tensor(1)].zero_(),  # a view
    ],
)
def test_a_write_through_a_view_reaches_the_base(program: Callable) -> None:
    results = []
    for L in (tt, torch):
        x, v = L.tensor(X).requires_grad_(), L.tensor(V).requires_grad_()
        y = x * 3
        program(L, y, v)
        (y * y * y).sum().backward()
        grads = [np.zeros((3, 4)) if t.grad is None else t.grad.numpy() for t in (x, v)]
        results.append((y.detach().numpy(), *grads, y._version))
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_a_view_of_a_leaf_is_refused() -> None:
    x = tt.ones(2, 3, requires_grad=True)
    for write in (lambda: x[0].zero_(), lambda: x[0].__setitem__(1, 5.0)):
        with pytest.raises(
            RuntimeError, match=r"(zero_|setitem): a view of a leaf .*requires grad"
        ):
            write()


def test_an_expanded_tensor_is_refused() -> None:
    x = tt.zeros(3, 1).expand(3, 4)
    for write in (
        lambda: x.add_(1),
        lambda: x.fill_(tt.tensor(1.0)),
        lambda: x.__setitem__(0, 1.0),
        lambda: x.copy_(tt.ones(3, 4)),
    ):
        with pytest.raises(RuntimeError, match="clone"):
            write()
    assert x.sum().item() == 0


@needs_torch
@pytest.mark.parametrize(
    "write",
    [
        lambda L, x: x.fill_(2),
        lambda L, x: x.zero_(),
        lambda L, x: x.__setitem__((slice(None), 0), L.tensor(V[:, 0])),
        lambda L, x: x[:, 1].mul_(L.tensor(V[:, 1])),
        lambda L, x: x.masked_fill_(L.tensor(V > 1), 3),
        lambda L, x: x.index_fill_(0, L.tensor([2, 0, 2]), 3),
        lambda L, x: x.__setitem__(L.tensor(V > 1), 3),
        lambda L, x: x.index_put_((L.tensor([2]),), L.tensor([4.0], dtype=L.float64)),
    ],
)
@pytest.mark.filterwarnings("ignore:Use of")  # PyTorch calls some of them deprecated
def test_writes_to_an_expanded_tensor(write: Callable) -> None:
    values = []
    for L in (tt, torch):
        x = L.tensor(X[:, :1])
        expanded = x.expand(3, 4)
        write(L, expanded)
        values.append((x.numpy(), expanded.numpy(), x._version))
    for mine, reference in zip(*values, strict=True):
        np.testing.assert_array_equal(mine, reference)


@needs_torch
def test_gradient_of_a_write_to_a_part_of_an_expanded_tensor() -> None:
    def program(L: Any, write: Callable) -> Any:
        leaf = L.tensor(X, requires_grad=True)
        x = leaf * 2
        write(x[:, :1].expand(3, 4), leaf)
        (x * x).sum().backward()
        return leaf.grad.numpy()

    def part(expanded: Any, leaf: Any) -> None:
        expanded[:, 2] = leaf[:, 1]

    np.testing.assert_allclose(program(tt, part), program(torch, part), rtol=1e-12)
    for L in (tt, torch):
        with pytest.raises(RuntimeError, match="memory"):
            program(L, lambda expanded, leaf: expanded.fill_(3))


# ------------------------------------------------------------------------------------------
# Second order, dtypes, errors
# ------------------------------------------------------------------------------------------


def test_second_derivatives_through_writes() -> None:
    def function(x: Any, v: Any) -> Any:
        y = x * x
        y[0, 1:] = v[0, 1:] * x[1, 1:]
        y[:, [0, 2]] *= v[:, [1, 1]]
        y.masked_fill_(tt.tensor(X > 1.5), v[0, 0] * v[0, 1])
        return y * y

    x, v = (tt.tensor(a).requires_grad_() for a in (X, V))
    assert tt.autograd.gradcheck(function, (x, v))
    assert tt.autograd.gradgradcheck(function, (x, v))


def test_a_later_change_of_the_index_does_not_reach_backward() -> None:
    x, index = tt.arange(4.0, requires_grad=True), tt.tensor([0, 1])
    y = x * 1
    y[index] = 0
    z = y[index + 2] + x[index]
    index.fill_(3)
    z.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("source", [tt.float64, tt.float32, tt.int64, tt.bool])
@pytest.mark.parametrize("target", [tt.float64, tt.float32, tt.int32, tt.uint8, tt.bool])
def test_copy_and_setitem_cast_to_the_targets_dtype(source: Any, target: Any) -> None:
    src = tt.tensor([0.0, 1.0, 3.0]).to(source)
    x, y = tt.zeros(3, dtype=target), tt.zeros(3, dtype=target)
    assert x.copy_(src) is x
    y[:] = src
    assert x.dtype == y.dtype == target
    assert x.tolist() == y.tolist() == src.to(target).tolist()


@pytest.mark.parametrize(
    ("write", "error", "message"),
    [
        (lambda x: x.__setitem__(0, tt.ones(2)), RuntimeError, r"setitem: .*\(2,\).*\(4,\)"),
        (lambda x: x.__setitem__([0, 1], tt.ones(3)), RuntimeError, r"setitem: .*\(3,\).*\(2, 4\)"),
        (lambda x: x.__setitem__(0, [1, 2]), TypeError, "setitem: .*list"),
        (lambda x: x.__setitem__(5, 1), IndexError, "index 5 .* axis 0 with size 3"),
        (lambda x: x.__setitem__([5], 1), IndexError, "setitem: index 5 .* axis 0 with size 3"),
        (lambda x: x.copy_(tt.ones(3)), RuntimeError, r"copy_: .*\(3,\).*\(3, 4\)"),
        (lambda x: x.copy_(tt.ones(1, 3, 4)), RuntimeError, r"copy_: .*\(1, 3, 4\).*\(3, 4\)"),
        (lambda x: x.copy_([1.0]), TypeError, "copy_: got list"),
        (lambda x: x.fill_(tt.ones(1)), RuntimeError, r"fill_: .*\(1,\).*0-d"),
        (lambda x: x.fill_("a"), TypeError, "fill_: .*str"),
        (lambda x: x[0].masked_fill_(x > 0, 1), RuntimeError, r"masked_fill_: .*\(3, 4\).*\(4,\)"),
    ],
)
def test_errors_name_op_got_and_expected(write: Callable, error: type, message: str) -> None:
    x = tt.zeros(3, 4)
    with pytest.raises(error, match=message):
        write(x)
    assert x._version == 0 and x.sum().item() == 0


class HalfWritten(np.ndarray):
    """An array whose writes are interrupted when half is done."""

    def __setitem__(self, index: Any, value: Any) -> None:
        np.asarray(self)[:1] = np.asarray(value)[:1]
        raise KeyboardInterrupt


def test_an_interrupted_write_counts() -> None:
    """The tensor may be half written: what saved its old value must not use it."""
    x = tt.tensor([1.0, 2.0])
    w = tt.ones(2, requires_grad=True)
    y = (w * x).sum()
    version, whole = x._version, x.array
    x.array = whole.view(HalfWritten)
    with pytest.raises(KeyboardInterrupt):
        x.neg_()
    x.array = whole
    assert x.tolist() == [-1.0, 2.0] and x._version == version + 1
    with pytest.raises(GradientError, match="changed in place"):
        y.backward()
