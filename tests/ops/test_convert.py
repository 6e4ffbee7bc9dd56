"""clone, to and their kin: what is copied, dtypes, gradients across dtypes, new_* and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.errors import DeviceError

try:
    import torch
except ImportError:
    torch = None  # type: ignore[assignment]

needs_torch = pytest.mark.skipif(torch is None, reason="PyTorch is not installed")

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]
METHODS = {
    "bool": tt.bool,
    "byte": tt.uint8,
    "char": tt.int8,
    "short": tt.int16,
    "int": tt.int32,
    "long": tt.int64,
    "half": tt.float16,
    "float": tt.float32,
    "double": tt.float64,
}


@needs_torch
@pytest.mark.parametrize("source", DTYPES)
@pytest.mark.parametrize("target", DTYPES)
def test_conversion_gives_pytorchs_values(source: str, target: str) -> None:
    values = [0, 1, 3, 100]

    def convert(lib: Any) -> Any:
        return lib.tensor(values, dtype=getattr(lib, source)).to(getattr(lib, target))

    ours, theirs = convert(tt), convert(torch)
    assert ours.dtype.name == target
    np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


@pytest.mark.parametrize("name", METHODS)
def test_methods_named_for_a_dtype(name: str) -> None:
    x = tt.tensor([0.0, 1.75, 3.0])
    y = getattr(x, name)()
    assert y.dtype == METHODS[name]
    assert getattr(y, name)() is y, "nothing to convert"


@pytest.mark.parametrize(
    ("call", "same"),
    [
        (lambda x: x.to(tt.float32), True),
        (lambda x: x.to("cpu"), True),
        (lambda x: x.to(tt.device("cpu"), tt.float32), True),
        (lambda x: x.to(device="cpu", dtype=None), True),
        (lambda x: x.to(x), True),
        (lambda x: x.to(), True),
        (lambda x: x.to("cpu", non_blocking=True), True),
        (lambda x: x.cpu(), True),
        (lambda x: x.type(tt.float32), True),
        (lambda x: x.type_as(x), True),
        (lambda x: x.contiguous(), True),
        (lambda x: x.to(tt.float32, copy=True), False),
        (lambda x: x.to(tt.float32, False, True), False),
        (lambda x: x.to("cpu", copy=True), False),
        (lambda x: x.to(tt.float64), False),
        (lambda x: x.to("cpu", tt.float64), False),
        (lambda x: x.to(np.float64), False),
        (lambda x: x.to(x.double()), False),
        (lambda x: x.clone(), False),
    ],
)
def test_when_the_tensor_itself_is_returned(call: Any, same: bool) -> None:
    x = tt.ones(2, 2)
    y = call(x)
    assert (y is x) is same
    assert np.shares_memory(y.array, x.array) is same
    assert y.tolist() == x.tolist()


def test_gradient_crosses_dtypes() -> None:
    x = tt.ones(3, dtype=tt.float32, requires_grad=True)
    y = x.double() * tt.tensor([1.0, 2.0, 3.0], dtype=tt.float64)
    assert y.dtype == tt.float64
    y.sum().backward()
    assert x.grad.dtype == tt.float32 and x.grad.tolist() == [1, 2, 3]
    assert not x.long().requires_grad and not x.bool().requires_grad


def test_clone_and_memory_order() -> None:
    x = tt.arange(6.0).reshape(2, 3)
    assert x.t().clone().stride() == (1, 3), "the order in memory is kept"
    assert x[:1].expand(4, 3).clone().stride() == (3, 1), "elements get memory of their own"
    assert x.t().contiguous().stride() == (2, 1) and x.t().contiguous().is_contiguous()
    y = x.clone().requires_grad_()
    y.clone().mul_(2).sum().backward()
    assert y.grad.tolist() == [[2, 2, 2], [2, 2, 2]]


def test_type_names() -> None:
    x = tt.ones(2)
    assert x.type() == "torch.FloatTensor" and x.long().type() == "torch.LongTensor"
    assert x.type("torch.DoubleTensor").dtype == tt.float64
    assert x.type(dtype=tt.int32).dtype == tt.int32


@pytest.mark.parametrize("dtype", DTYPES)
def test_new_tensors_have_the_dtype_of_the_old(dtype: str) -> None:
    x = tt.ones(1, dtype=getattr(tt, dtype))
    made = [
        x.new_zeros(2, 3),
        x.new_ones((2, 3)),
        x.new_empty([2, 3]),
        x.new_full((2, 3), 1),
        x.new_tensor([[1, 0, 1]] * 2),
    ]
    for y in made:
        assert y.dtype.name == dtype and y.shape == (2, 3) and not y.requires_grad
    assert made[0].sum() == 0 and made[1].sum() == 6 == made[3].sum() and made[4].sum() == 4


def test_new_tensors_with_options() -> None:
    x = tt.ones(1, dtype=tt.int64)
    assert x.new_zeros(2, dtype=tt.float64, requires_grad=True).requires_grad
    assert x.new_full((2,), 2.5, dtype=tt.float32).tolist() == [2.5, 2.5]
    assert x.new_zeros(()).shape == () and x.new_ones(2, device="cpu").tolist() == [1, 1]
    source = np.ones(2)
    y = tt.ones(1).new_tensor(source)
    assert y.dtype == tt.float32 and not np.shares_memory(y.array, source)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: x.to("float32"), DeviceError, "device: got 'float32', expected 'cpu', 'cuda'"),
        (lambda x: x.to(np.uint16), TypeError, "dtype: got .*uint16.*expected one of"),
        (lambda x: x.type("FloatTensor?"), ValueError, "type: got 'FloatTensor\\?', expected"),
        (lambda x: x.new_zeros(2.5), TypeError, r"zeros: got size \(2.5,\), expected integers"),
    ],
)
def test_errors(call: Any, error: type, text: str) -> None:
    with pytest.raises(error, match=text):
        call(tt.ones(2))
