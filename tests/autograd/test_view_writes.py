"""Writes to views: which are refused, as in PyTorch, and the gradients of those that are not."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinytensor as tt

torch = pytest.importorskip("torch")

# Views of x, of shape (4, 3), from which one is taken and written to.
VIEWS: dict[str, Callable] = {
    "unbind": lambda x: x.unbind()[1],
    "iteration": lambda x: list(x)[1],
    "split": lambda x: x.split(2)[0],
    "split_with_sizes": lambda x: x.split_with_sizes((1, 3))[1],
    "chunk": lambda x: x.chunk(2)[1],
    "view of unbind": lambda x: x.unbind()[1].view_as(x[1]),
    "unbind of view": lambda x: x.view(12).unbind()[3],
    "tensor_split": lambda x: x.tensor_split(3)[0],
    "tensor_split at": lambda x: x.tensor_split((1, 3))[1],
    "hsplit": lambda x: x.hsplit(3)[1],
    "unsafe_split": lambda x: x.unsafe_split(2)[0],
    "unsafe_split_with_sizes": lambda x: x.unsafe_split_with_sizes((1, 3))[1],
    "unsafe_chunk": lambda x: x.unsafe_chunk(2)[1],
    "select": lambda x: x.select(0, 1),
    "index": lambda x: x[1:3],
    "transpose": lambda x: x.t(),
}

# Writes to a view v; s requires grad.
WRITES: dict[str, Callable] = {
    "mul_": lambda v, s: v.mul_(2),
    "add_ tracked": lambda v, s: v.add_(s),
    "copy_ tracked": lambda v, s: v.copy_(s.expand_as(v)),
    "zero_": lambda v, s: v.zero_(),
    "setitem": lambda v, s: v.__setitem__(0, s),
    "unsqueeze_": lambda v, s: v.unsqueeze_(0),
    "under no_grad": lambda v, s: _no_grad_write(v),
}


def _no_grad_write(v: Any) -> None:
    library = tt if isinstance(v, tt.Tensor) else torch
    with library.no_grad():
        v.mul_(2)


def outcome(library: Any, view: Callable, write: Callable, tracked: bool, dtype: str) -> Any:
    """The gradients of the leaves, or "refused"."""
    values = np.arange(12, dtype=dtype).reshape(4, 3) / 7
    leaf = library.tensor(values, requires_grad=tracked)
    s = library.tensor(np.array(3, dtype), requires_grad=True)
    base = leaf * 2 if tracked else leaf
    v = view(base)
    try:
        write(v, s)
        total = (v * v).sum() + (base * 3).sum() + s * 2
        total.backward()
    except (RuntimeError, IndexError):
        return "refused"
    leaves = [x for x in (leaf, s) if x.is_leaf]
    grads = [None if x.grad is None else np.asarray(x.grad) for x in leaves]
    return grads, v.detach().numpy()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("view", VIEWS)
def test_writes_to_views_as_in_pytorch(view: str, write: str, dtype: str) -> None:
    for tracked in (True, False):
        ours = outcome(tt, VIEWS[view], WRITES[write], tracked, dtype)
        theirs = outcome(torch, VIEWS[view], WRITES[write], tracked, dtype)
        if isinstance(theirs, str) or isinstance(ours, str):
            # Views made at once can be used after a write that is not recorded; PyTorch refuses.
            assert ours == theirs or write == "under no_grad", (tracked, ours, theirs)
            continue
        for mine, other in zip(ours[0], theirs[0]):
            assert (mine is None) == (other is None)
            if mine is not None:
                np.testing.assert_allclose(mine, other, rtol=1e-6)
        np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-6)


def functions(library: Any) -> dict[str, Any]:
    """Functions that return an argument, a view of one, a view of a new tensor, a new tensor."""

    def made(forward: Callable, pure: bool = False) -> Any:
        def run(ctx: Any, x: Any) -> Any:
            ctx._is_pure_view = pure
            return forward(x)

        members = {
            "forward": staticmethod(run),
            "backward": staticmethod(lambda ctx, *g: sum(g[1:], g[0]) * 2),
        }
        return type("Made", (library.autograd.Function,), members)

    return {
        "argument": made(lambda x: x),
        "view": made(lambda x: x.view_as(x)),
        "slice": made(lambda x: x[:]),
        "view of new": made(lambda x: x.clone().view_as(x)),
        "new": made(lambda x: x * 2),
        "two": made(lambda x: (x.view_as(x), x * 3)),
        "pure view": made(lambda x: x[:], True),
        "pure view of new": made(lambda x: x.clone()[:], True),
        "two pure": made(lambda x: (x[:], x * 3), True),
    }


@pytest.mark.parametrize("tracked", [True, False])
@pytest.mark.parametrize("write", ["mul_", "add_ tracked", "zero_", "base", "nothing"])
@pytest.mark.parametrize("name", functions(tt))
def test_what_a_function_returned_is_written_to(name: str, write: str, tracked: bool) -> None:
    def run(library: Any) -> Any:
        leaf = library.tensor([1.0, 2.0, 3.0], requires_grad=tracked)
        s = library.tensor(3.0, requires_grad=True)
        base = leaf * 2 if tracked else leaf
        try:
            out = functions(library)[name].apply(base)
            out = out[0] if isinstance(out, tuple) else out
            if write == "base":
                base.mul_(5)
            elif write != "nothing":
                WRITES[write](out, s)
            ((out * out).sum() + base.sum() + s).backward()
        except RuntimeError:
            return "refused"
        leaves = [x for x in (leaf, s) if x.is_leaf]
        return [None if x.grad is None else x.grad.tolist() for x in leaves]

    assert run(tt) == run(torch)


def test_a_view_that_a_function_returns_under_no_grad() -> None:
    class Alias(tt.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x[:]

    x = tt.rand(2, requires_grad=True)
    with tt.no_grad():
        out = Alias.apply(x)
    assert not out.requires_grad
    with pytest.raises(RuntimeError, match="zero_: a view .* made under no_grad"):
        out.zero_()


def dirty(library: Any, forward: Callable) -> Any:
    members = {
        "forward": staticmethod(forward),
        "backward": staticmethod(lambda ctx, *g: (sum(g[1:], g[0]), None)),
    }
    return type("Dirty", (library.autograd.Function,), members)


def _temporary(ctx: Any, a: Any, b: Any) -> Any:
    c = 3 * a
    ctx.mark_dirty(c)
    return c


def _temporary_view(ctx: Any, a: Any, b: Any) -> Any:
    c = a.clone().view_as(a)
    ctx.mark_dirty(c)
    return c


def _two(ctx: Any, a: Any, b: Any) -> Any:
    a.add_(b)
    ctx.mark_dirty(a)
    return a, a + b


def _one(ctx: Any, a: Any, b: Any) -> Any:
    a.add_(b)
    ctx.mark_dirty(a)
    return a


def _not_returned(ctx: Any, a: Any, b: Any) -> Any:
    a.add_(b)
    ctx.mark_dirty(a)
    return a.clone()


@pytest.mark.parametrize("as_view", [False, True])
@pytest.mark.parametrize("forward", [_temporary, _temporary_view, _two, _one, _not_returned])
def test_mark_dirty(forward: Callable, as_view: bool) -> None:
    """Refused, warned about or differentiated in the same cases as in PyTorch."""

    def run(library: Any) -> Any:
        a = library.tensor([1.0, 2.0], requires_grad=True)
        x = a.clone().view_as(a) if as_view else a.clone()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                out = dirty(library, forward).apply(x, library.ones(2))
            except RuntimeError:
                return "refused"
        for y in out if isinstance(out, tuple) else (out,):
            y.sum().backward(retain_graph=True)
        return len(caught), a.grad.tolist()

    assert run(tt) == run(torch)


def test_sizes_and_memory_without_a_version() -> None:
    """resize_ to the same shape is no write; set_ takes a leaf while nothing is recorded."""
    for library in (tt, torch):
        x = library.rand(1)
        x.resize_((1, 2))
        assert x._version == 1
        x.resize_((1, 2))
        assert x._version == 1
        p = library.ones(4, requires_grad=True)
        with pytest.raises(RuntimeError):
            p.set_(p.detach()[1:])
        for n in (3, 2):
            with library.no_grad():
                p.set_(p[1:])
            p.grad = None
            library.cat((p, p)).sum().backward()
            assert p.grad.tolist() == [2.0] * n
        with pytest.raises(RuntimeError):
            p.resize_(1)


def test_inference_tensors_that_require_grad() -> None:
    for library in (tt, torch):
        with library.inference_mode():
            c = library.ones(1, 2, 3, requires_grad=True)
            c.resize_(1, 2)
            assert library.is_inference(c) and c.requires_grad and tuple(c.shape) == (1, 2)
        v = c.view(-1)
        assert library.is_inference(v) and not v.requires_grad
        assert not v._is_view() and v.is_leaf


def test_a_view_made_in_inference_mode_loses_its_place() -> None:
    for library in (tt, torch):
        a = library.ones(2, 3, requires_grad=True).clone()
        with library.inference_mode():
            v = a.view(-1)
        a.add_(2)
        with pytest.raises(RuntimeError):
            v.grad_fn  # noqa: B018
