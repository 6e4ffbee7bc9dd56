"""Join, split and rearrange beyond the table: dtypes, empty tensors, one node, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinytensor as tt

try:
    import torch
except ImportError:
    torch = None  # type: ignore[assignment]

needs_torch = pytest.mark.skipif(torch is None, reason="PyTorch is not installed")

DTYPES = ["bool", "uint8", "int8", "int16", "int64", "float16", "float32", "float64"]


@needs_torch
@pytest.mark.parametrize("a", DTYPES)
@pytest.mark.parametrize("b", DTYPES)
@pytest.mark.parametrize("name", ["cat", "stack", "hstack"])
def test_dtypes_are_promoted(name: str, a: str, b: str) -> None:
    def join(lib: Any) -> Any:
        return getattr(lib, name)([lib.ones(2, dtype=getattr(lib, d)) for d in (a, b)])

    ours, theirs = join(tt), join(torch)
    assert ours.dtype.name == str(theirs.dtype).removeprefix("torch.")
    np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


def test_gradients_of_a_promoted_join_come_back_in_each_dtype() -> None:
    a = tt.ones(2, dtype=tt.float32, requires_grad=True)
    b = tt.ones(1, dtype=tt.float64, requires_grad=True)
    (tt.cat([a, b]) * tt.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert a.grad.dtype == tt.float32 and a.grad.tolist() == [1, 2]
    assert b.grad.dtype == tt.float64 and b.grad.tolist() == [3]


def test_empty_1d_tensors_are_left_out_but_count_for_the_dtype() -> None:
    x = tt.ones(2, 3, dtype=tt.int64)
    y = tt.cat([tt.zeros(0), x, tt.zeros(0)], dim=1)
    assert y.shape == (2, 3) and y.dtype == tt.float32
    assert tt.cat([tt.zeros(0), tt.zeros(0)], dim=1).shape == (0,)
    assert tt.cat([tt.zeros(0, 3), tt.ones(2, 3)]).shape == (2, 3)


def test_split_is_one_node_and_missing_gradients_are_zeros() -> None:
    x = tt.arange(6.0).requires_grad_()
    a, b, c = x.split(2)
    assert a.grad_fn.next_functions[0][0] is c.grad_fn.next_functions[0][0]
    (b * tt.tensor([2.0, 3.0])).sum().backward()
    assert x.grad.tolist() == [0, 0, 2, 3, 0, 0]


def test_iterating_and_unpacking() -> None:
    x = tt.arange(6.0).reshape(3, 2).requires_grad_()
    a, b, c = x
    (a * b * c).sum().backward()
    assert x.grad.tolist() == [[8, 15], [0, 5], [0, 3]]


@pytest.mark.parametrize(
    ("call", "shapes"),
    [
        (lambda x: x.split(2), [(2, 3), (2, 3), (1, 3)]),
        (lambda x: x.split(tt.tensor(4)), [(4, 3), (1, 3)]),
        (lambda x: tt.split(x, split_size_or_sections=[1, 2], dim=1), [(5, 1), (5, 2)]),
        (lambda x: x[:0].split(2), [(0, 3)]),
        (lambda x: x[:0].split(0), [(0, 3)]),
        (lambda x: x[:0].chunk(3), [(0, 3)] * 3),
        (lambda x: x.chunk(4), [(2, 3), (2, 3), (1, 3)]),
        (lambda x: x.chunk(9, axis=1), [(5, 1)] * 3),
        (lambda x: x[:0].unbind(), []),
        (lambda x: x.tensor_split(7), [(1, 3)] * 5 + [(0, 3)] * 2),
        (lambda x: x.tensor_split(tt.tensor([1, 9])), [(1, 3), (4, 3), (0, 3)]),
    ],
)
def test_shapes_of_the_parts(call: Any, shapes: list) -> None:
    parts = call(tt.zeros(5, 3))
    assert type(parts) is tuple and [tuple(p.shape) for p in parts] == shapes


def test_ways_to_give_repeats_and_dims() -> None:
    x = tt.tensor([[1, 2], [3, 4]])
    assert x.repeat(1, 2).tolist() == x.repeat((1, 2)).tolist() == [[1, 2, 1, 2], [3, 4, 3, 4]]
    assert x.tile(2).tolist() == tt.tile(x, (2,)).tolist() == [[1, 2, 1, 2], [3, 4, 3, 4]]
    assert x.flip(0, 1).tolist() == x.flip([0, 1]).tolist() == tt.flip(x, dims=(0, 1)).tolist()
    assert x.repeat_interleave(tt.tensor(2), 0).tolist() == [[1, 2], [1, 2], [3, 4], [3, 4]]
    assert tt.repeat_interleave(tt.tensor([1, 0, 2])).tolist() == [0, 2, 2]
    assert tt.roll(x, shifts=1, dims=0).tolist() == [[3, 4], [1, 2]]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_is_kept(dtype: str) -> None:
    x = tt.ones(2, 2, dtype=getattr(tt, dtype))
    results = [x.repeat(1, 2), x.flip(0), x.roll(1), x.repeat_interleave(2), x.tile(2), x.rot90()]
    results += [*x.split(1), *x.unbind(), x.unfold(0, 2, 1), x.diagonal(), *tt.meshgrid(x[0], x[1])]
    assert {r.dtype.name for r in results} == {dtype}


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: tt.cat([]), ValueError, "cat: got no tensors"),
        (lambda x: tt.stack([]), RuntimeError, "stack: got no tensors"),
        (lambda x: tt.cat(x), TypeError, "cat: got Tensor, expected a tuple or list"),
        (lambda x: tt.cat([x, 1.0]), TypeError, "cat: element 1 is a float"),
        (lambda x: tt.cat([x, x[:, :1]]), RuntimeError, r"cat: tensor 1 has shape \(5, 1\)"),
        (lambda x: tt.cat([x, x[0]]), RuntimeError, r"cat: tensor 1 has shape \(3,\).*\(5, 3\)"),
        (lambda x: tt.cat([x.sum(), x.sum()]), RuntimeError, "cat: tensor 0 is 0-d.*stack"),
        (lambda x: tt.cat([x, x], 2), IndexError, "cat: dim 2 is out of range .*-2 to 1"),
        (lambda x: tt.concat([x, x[0]]), RuntimeError, "concat: tensor 1"),
        (lambda x: tt.cat([x], dim=0, axis=0), TypeError, "cat: got both dim and axis"),
        (lambda x: tt.stack([x, x[0]]), RuntimeError, r"stack: tensor 1 .*\(3,\), .*\(5, 3\)"),
        (lambda x: tt.stack([x, x], 3), IndexError, "stack: dim 3 .*-3 to 2"),
        (lambda x: x.split(0), RuntimeError, r"split: got size 0, expected at least 1"),
        (lambda x: x.split(-1), RuntimeError, "split: got size -1"),
        (lambda x: x.split([2, 2]), RuntimeError, r"split_with_sizes: .*sum to 4, expected 5"),
        (lambda x: x.split([6, -1]), RuntimeError, r"split_with_sizes: "),
        (lambda x: x.split(1, 2), IndexError, "split: dim 2 is out of range"),
        (lambda x: x.sum().split(1), RuntimeError, "split: got a 0-d tensor"),
        (lambda x: x.chunk(0), RuntimeError, "chunk: got 0 chunks, expected at least 1"),
        (lambda x: x.tensor_split(0), RuntimeError, "tensor_split: got 0 sections"),
        (lambda x: x.tensor_split(), TypeError, "tensor_split: got 0 of indices and sections"),
        (lambda x: x.tensor_split(2, sections=2), TypeError, "got 2 of indices and sections"),
        (lambda x: x.tensor_split(tt.tensor(1.5)), RuntimeError, "of dtype float32 and shape"),
        (lambda x: x.hsplit(2), RuntimeError, "hsplit: got 2 sections, expected a divisor of 3"),
        (lambda x: x[0, 0].hsplit(1), RuntimeError, "hsplit: got a tensor of 0 dimensions"),
        (lambda x: x[0].vsplit(1), RuntimeError, "vsplit: got a tensor of 1 dimensions"),
        (lambda x: x.dsplit(1), RuntimeError, "dsplit: got a tensor of 2 dimensions, expected at"),
        (lambda x: x.unbind(2), IndexError, "unbind: dim 2 is out of range"),
        (lambda x: x.sum().unbind(), IndexError, "unbind: got a 0-d tensor"),
        (lambda x: x.repeat(2), RuntimeError, r"repeat: got repeats \(2,\), expected at least 2"),
        (lambda x: x.repeat(2, -1), RuntimeError, r"repeat: got repeats \(2, -1\)"),
        (lambda x: x.repeat_interleave(-1), RuntimeError, "repeat_interleave: got -1 repeats"),
        (
            lambda x: x.repeat_interleave(tt.tensor([1, 2]), 0),
            RuntimeError,
            r"repeat_interleave: repeats has shape \(2,\), expected \(5,\)",
        ),
        (
            lambda x: x.repeat_interleave(tt.tensor([1, 2, -3]), 1),
            RuntimeError,
            "repeat_interleave: .*negative",
        ),
        (
            lambda x: x.repeat_interleave(tt.tensor([1.0, 2.0, 3.0]), 1),
            TypeError,
            "repeat_interleave: repeats has dtype float32, expected integers",
        ),
        (lambda x: x.flip(0, 0), RuntimeError, r"flip: .*more than once in \(0, 0\)"),
        (lambda x: x.flip(2), IndexError, "flip: dim 2 is out of range"),
        (lambda x: x[0].fliplr(), RuntimeError, "fliplr: got 1 dimensions, expected at least 2"),
        (lambda x: x.sum().flipud(), RuntimeError, "flipud: got a 0-d tensor"),
        (lambda x: x.roll((1, 2), 0), RuntimeError, r"roll: got shifts \(1, 2\) for dims \(0,\)"),
        (lambda x: x.roll(1, 2), IndexError, "roll: dim 2 is out of range"),
        (lambda x: x.rot90(1, (0, 0)), RuntimeError, r"rot90: got dims \(0, 0\)"),
        (lambda x: tt.meshgrid(x, x), RuntimeError, "meshgrid: .*expected 0-d or 1-D"),
        (lambda x: tt.meshgrid(x[0], indexing="yx"), RuntimeError, "meshgrid: .*'yx'.*'ij'"),
        (
            lambda x: tt.meshgrid(x[0], x[0].long()),
            RuntimeError,
            r"meshgrid: got dtypes .*float32.*int64.*one for all",
        ),
    ],
)
def test_errors(call: Any, error: type, text: str) -> None:
    with pytest.raises(error, match=text):
        call(tt.zeros(5, 3))
