"""Views that are changed in place, parts of tensors as views, and shapes that are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tinytensor as tt

from .nn.scenario import Scenarios, refused

scenario = Scenarios()


def sizes(x: Any) -> Any:
    return [tuple(x.shape), tuple(x.stride()), x.storage_offset(), x.tolist()]


CHANGES: dict[str, Callable] = {
    "swapaxes_": lambda x: x.swapaxes_(0, 1),
    "swapdims_": lambda x: x.swapdims_(0, 2),
    "transpose_": lambda x: x.transpose_(0, 1),
    "t_": lambda x: x[0].t_(),
    "unsqueeze_": lambda x: x.unsqueeze_(1),
    "squeeze_": lambda x: x[:, :1].squeeze_(1),
    "as_strided_": lambda x: x.as_strided_((2, 2), (12, 1), 3),
}


@pytest.mark.parametrize("name", CHANGES)
def test_views_changed_in_place(name: str) -> None:
    """They stay views: a write through them reaches the base, and its gradient."""
    torch = pytest.importorskip("torch")
    results = []
    for library in (torch, tt):
        leaf = library.arange(24.0).reshape(2, 3, 4).requires_grad_()
        base = leaf * 2
        view = CHANGES[name](base[:])
        assert view._is_view() and view._base is base
        view.mul_(3)
        weights = library.arange(24.0).reshape(2, 3, 4)
        ((base * weights).sum() + view.sum()).backward()
        results.append([sizes(view.detach()), base.tolist(), leaf.grad.tolist()])
    assert results[0] == results[1]


SPLITS: dict[str, Callable] = {
    "split": lambda x: x.split(2, 1),
    "chunk": lambda x: x.chunk(2, 2),
    "unbind": lambda x: x.unbind(1),
    "tensor_split": lambda x: x.tensor_split(2, -1),
    "hsplit": lambda x: x.hsplit(3),
    "diagonal": lambda x: [x.diagonal(0, 1, 2)],
    "unflatten": lambda x: [x.unflatten(2, (2, 2))],
    "movedim": lambda x: [x.movedim(0, 2)],
    "mT": lambda x: [x.mT],
    "expand_as": lambda x: [x.expand_as(x)],
}


@pytest.mark.parametrize("name", SPLITS)
def test_parts_are_views(name: str) -> None:
    """A write into a part without gradients reaches the base."""
    torch = pytest.importorskip("torch")
    results = []
    for library in (torch, tt):
        x = library.arange(24.0).reshape(2, 3, 4).clone()
        parts = SPLITS[name](x)
        assert all(part._is_view() and part._base is x for part in parts)
        for i, part in enumerate(parts):
            part.mul_(i + 2)
        results.append([x.tolist(), [sizes(part) for part in parts]])
    assert results[0] == results[1]


@scenario
def contiguity(nn: Any, library: Any) -> Any:
    x = library.zeros(2, 3, 4, 5)
    moved = library.zeros(2, 4, 5, 3).permute(0, 3, 1, 2)
    formats = (library.contiguous_format, library.channels_last)
    return [[t.is_contiguous(memory_format=f) for f in formats] for t in (x, moved)]


@scenario
def shapes_that_are_refused(nn: Any, library: Any) -> Any:
    x = library.ones(4)
    return [
        refused(lambda: library.broadcast_shapes(1, -12)),
        refused(lambda: library.broadcast_shapes((3,), (-1, 1))),
        refused(lambda: library.tensor_split(x, library.tensor([[1]]), 0)),
        refused(lambda: library.tensor_split(x, library.tensor(1.5), 0)),
        [tuple(p.shape) for p in library.tensor_split(x, library.tensor([1, 3]))],
        tuple(library.broadcast_shapes(3, (2, 1))),
    ]


test_same_as_pytorch = scenario.test()
