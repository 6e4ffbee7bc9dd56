"""Shape ops beyond the table: what is a view, when view() is refused, arguments and errors."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import tinytensor as tt

try:
    import torch
except ImportError:
    torch = None  # type: ignore[assignment]

needs_torch = pytest.mark.skipif(torch is None, reason="PyTorch is not installed")


def ramp(lib: Any, *shape: int) -> Any:
    return lib.arange(int(np.prod(shape)), dtype=lib.float64).reshape(shape)


# ------------------------------------------------------------------------------------------
# Ways to give sizes and dims
# ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "shape"),
    [
        (lambda x: x.reshape(4, 6), (4, 6)),
        (lambda x: x.reshape((4, 6)), (4, 6)),
        (lambda x: x.reshape([4, -1]), (4, 6)),
        (lambda x: x.reshape(-1), (24,)),
        (lambda x: x.reshape(shape=(4, 6)), (4, 6)),
        (lambda x: x.reshape(np.int64(4), tt.tensor(6)), (4, 6)),
        (lambda x: tt.reshape(x, tt.Size([6, 4])), (6, 4)),
        (lambda x: x.view(x.size(0), -1), (2, 12)),
        (lambda x: x.view(tt.zeros(8, 3).shape), (8, 3)),
        (lambda x: x.permute(2, 0, 1), (4, 2, 3)),
        (lambda x: x.permute([2, 0, 1]), (4, 2, 3)),
        (lambda x: tt.permute(x, dims=(2, 0, 1)), (4, 2, 3)),
        (lambda x: x.expand(5, -1, -1, -1), (5, 2, 3, 4)),
        (lambda x: x.expand(size=(5, 2, 3, 4)), (5, 2, 3, 4)),
        (lambda x: x.expand(x.shape), (2, 3, 4)),
        (lambda x: x.T, (4, 3, 2)),
        (lambda x: x.mT, (2, 4, 3)),
        (lambda x: x[0].H, (4, 3)),
        (lambda x: x.unsqueeze(axis=1), (2, 1, 3, 4)),
        (lambda x: x[:1].squeeze(axis=0), (3, 4)),
    ],
)
def test_ways_to_give_sizes(call: Any, shape: tuple) -> None:
    x = ramp(tt, 2, 3, 4)
    assert tuple(call(x).shape) == shape


def test_functions_run_on_raw_arrays() -> None:
    x = np.arange(6.0).reshape(2, 3)
    for y in (tt.reshape(x, (3, 2)), tt.permute(x, (1, 0)), tt.unsqueeze(x, 0), tt.flatten(x)):
        assert type(y) is np.ndarray
    assert type(tt.diagonal(x)) is np.ndarray and type(tt.narrow(x, 0, 0, 1)) is np.ndarray


# ------------------------------------------------------------------------------------------
# view(): allowed exactly where PyTorch allows it
# ------------------------------------------------------------------------------------------

LAYOUTS = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.transpose(0, 1),
    "last two exchanged": lambda x: x.transpose(1, 2),
    "every second": lambda x: x[:, ::2],
    "range": lambda x: x[:, 1:],
    "first": lambda x: x[:1],
    "last column": lambda x: x[..., :1],
    "expanded": lambda x: x[:1].expand(2, 3, 4),
    "expanded scalar": lambda x: x[0, 0, 0].expand(2, 3, 4),
    "permuted": lambda x: x.permute(2, 0, 1),
    "empty": lambda x: x.transpose(0, 1)[:0],
}
SIZES = [
    shape
    for n in range(1, 4)
    for shape in itertools.product((1, 2, 3, 4, 6, 8, 12, 24), repeat=n)
    if np.prod(shape) in (0, 6, 8, 12, 16, 24)
]


@needs_torch
@pytest.mark.parametrize("layout", LAYOUTS)
def test_view_is_refused_where_pytorch_refuses_it(layout: str) -> None:
    ours, theirs = LAYOUTS[layout](ramp(tt, 2, 3, 4)), LAYOUTS[layout](ramp(torch, 2, 3, 4))
    for shape in [*SIZES, (-1,), (0,), (2, 0), (-1, 3)]:
        try:
            expected = theirs.view(shape)
        except RuntimeError:
            with pytest.raises(RuntimeError, match="view: "):
                ours.view(shape)
        else:
            np.testing.assert_array_equal(ours.view(shape).numpy(), expected.numpy())
            assert not ours.numel() or np.shares_memory(ours.view(shape).array, ours.array)


def test_view_as_another_dtype() -> None:
    x = tt.tensor([[1.0, -2.0], [0.5, 0.0]], requires_grad=True)
    bits = x.view(tt.int32)
    assert bits.tolist() == [[0x3F800000, -0x40000000], [0x3F000000, 0]]
    assert not bits.requires_grad
    assert bits.view(tt.float32).tolist() == x.tolist()
    assert x.view(tt.uint8).shape == (2, 8) and x.view(tt.float64).shape == (2, 1)
    assert x.view(tt.float32) is x
    with pytest.raises(RuntimeError, match=r"view: .*shape \(2, 3\).*multiple of 2"):
        tt.zeros(2, 3).view(tt.float64)
    with pytest.raises(RuntimeError, match=r"view: .*strides \(1, 2\).*contiguous"):
        tt.zeros(2, 2).t().view(tt.float64)


# ------------------------------------------------------------------------------------------
# What shares memory
# ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "shares"),
    [
        (lambda x: x.reshape(-1), True),
        (lambda x: x.t().reshape(-1), False),
        (lambda x: x.flatten(), True),
        (lambda x: x.t().flatten(), False),
        (lambda x: x.ravel(), True),
        (lambda x: x.unsqueeze(0).squeeze(), True),
        (lambda x: x.permute(1, 0), True),
        (lambda x: x.movedim(0, 1), True),
        (lambda x: x.expand(2, 3, 4), True),
        (lambda x: x.narrow(0, 1, 1), True),
        (lambda x: x.select(1, 0), True),
        (lambda x: x.diagonal(), True),
        (lambda x: x.unfold(1, 2, 1), True),
        (lambda x: x.split(2)[0], True),
        (lambda x: x.unbind()[1], True),
        (lambda x: x.contiguous(), True),
        (lambda x: x.t().contiguous(), False),
        (lambda x: x.clone(), False),
        (lambda x: x.flip(0), False),
        (lambda x: x.flip(()), False),
        (lambda x: x.roll(1, 0), False),
        (lambda x: x.repeat(1, 1), False),
        (lambda x: tt.cat([x]), False),
        (lambda x: tt.atleast_3d(x), True),
    ],
)
def test_what_shares_memory(call: Any, shares: bool) -> None:
    x = ramp(tt, 3, 4)
    assert np.shares_memory(call(x).array, x.array) is shares


def test_the_tensor_itself_where_pytorch_returns_it() -> None:
    x = tt.zeros(2, 3)
    assert x.contiguous() is x
    assert x.flatten(1) is x and tt.zeros(3).flatten().shape == (3,)
    assert x.reshape(2, 3) is not x


# ------------------------------------------------------------------------------------------
# Errors: the op, what was got, what was expected
# ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: x.reshape(4, 2), RuntimeError, r"reshape: shape \(2, 3\) .* become \(4, 2\)"),
        (lambda x: x.reshape(4, -1), RuntimeError, r"reshape: shape \(2, 3\) .* \(4, -1\)"),
        (lambda x: x.reshape(-1, -1), RuntimeError, r"reshape: .*\(-1, -1\).* at most one -1"),
        (lambda x: x.reshape(-2, 3), RuntimeError, r"reshape: .*\(-2, 3\).*sizes ≥ 0"),
        (lambda x: x.reshape(2, -1, 0), RuntimeError, r"reshape: .*\(2, -1, 0\)"),
        (lambda x: x.reshape(2, 3.0), TypeError, r"reshape: got \(2, 3.0\), expected ints"),
        (lambda x: x.reshape("6"), TypeError, r"reshape: got .*'6'.*, expected ints"),
        (lambda x: x.view(4, 2), RuntimeError, r"view: shape \(2, 3\) cannot become \(4, 2\)"),
        (lambda x: x.t().view(6), RuntimeError, r"view: .*strides \(1, 3\).*reshape\(\)"),
        (lambda x: x.flatten(1, 0), RuntimeError, r"flatten: start_dim 1 comes after end_dim 0"),
        (lambda x: x.flatten(2), IndexError, r"flatten: dim 2 is out of range .*-2 to 1"),
        (lambda x: x.unflatten(1, (2, 2)), RuntimeError, r"unflatten: .*\(2, 2\)"),
        (lambda x: x.unflatten(1, ()), RuntimeError, "unflatten: "),
        (lambda x: x.squeeze(2), IndexError, r"squeeze: dim 2 is out of range .*-2 to 1"),
        (lambda x: x.squeeze((0, -2)), RuntimeError, r"squeeze: .*more than once"),
        (lambda x: x.unsqueeze(3), IndexError, r"unsqueeze: dim 3 .*-3 to 2"),
        (lambda x: x.permute(0), RuntimeError, r"permute: got 1 dims \(0,\), expected 2"),
        (lambda x: x.permute(0, 0), RuntimeError, r"permute: .*more than once in \(0, 0\)"),
        (lambda x: x.permute(0, 2), IndexError, r"permute: dim 2 is out of range"),
        (lambda x: x.transpose(0, 2), IndexError, r"transpose: dim 2 .*-2 to 1"),
        (lambda x: x.unsqueeze(0).t(), RuntimeError, r"t: got .* 3 dimensions, expected at most 2"),
        (lambda x: x[0].H, RuntimeError, r"H: got .* 1 dimensions, expected 2; use mH"),
        (lambda x: x[0].mT, RuntimeError, r"mT: got .* 1 dimensions, expected at least 2"),
        (lambda x: x.movedim((0, 0), (0, 1)), RuntimeError, r"movedim: .*\(0, 0\)"),
        (lambda x: x.movedim((0, 1), 0), RuntimeError, r"movedim: .*same number"),
        (lambda x: x.expand(3, 3), RuntimeError, r"expand: shape \(2, 3\) .* \(3, 3\)"),
        (lambda x: x.expand(3), RuntimeError, r"expand: got 1 sizes \(3,\), expected at least 2"),
        (lambda x: x.expand(-1, 2, 3), RuntimeError, r"expand: .*\(-1, 2, 3\)"),
        (lambda x: x.expand_as(tt.zeros(2)), RuntimeError, r"expand_as: .*\(2, 3\)"),
        (lambda x: tt.broadcast_to(x, (2, 4)), RuntimeError, r"broadcast_to: .*\(2, 4\)"),
        (lambda x: tt.broadcast_shapes((3,), (4,)), RuntimeError, "broadcast_shapes: .*3 and 4"),
        (lambda x: tt.broadcast_tensors(x, tt.zeros(2)), RuntimeError, "broadcast_tensors: "),
        (lambda x: x.narrow(1, 2, 5), RuntimeError, r"narrow: start 2 and length 5 .*0 to 1"),
        (lambda x: x.narrow(1, 0, -1), RuntimeError, "narrow: .*length -1"),
        (lambda x: x.narrow(1, 4, 0), IndexError, "narrow: start 4 .*-3 to 3"),
        (lambda x: x.sum().narrow(0, 0, 1), RuntimeError, "narrow: got a 0-d tensor"),
        (lambda x: x.select(1, 3), IndexError, r"select: index 3 .*\(2, 3\).*-3 to 2"),
        (lambda x: x.sum().select(0, 0), IndexError, "select: got a 0-d tensor"),
        (lambda x: x.diagonal(0, 1, 1), RuntimeError, "diagonal: dim1 and dim2 are both 1"),
        (lambda x: x[0].diagonal(), IndexError, "diagonal: dim 1 is out of range"),
        (lambda x: x.unfold(1, 4, 1), RuntimeError, r"unfold: got size 4 .*0 to 3"),
        (lambda x: x.unfold(1, 2, 0), RuntimeError, "unfold: .*step 0"),
    ],
)
def test_errors(call: Any, error: type, text: str) -> None:
    with pytest.raises(error, match=text):
        call(tt.zeros(2, 3))
