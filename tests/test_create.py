"""New tensors: dtypes, shapes and values as PyTorch makes them; memory shared where promised."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinytensor as tt

# Each call runs with either library; values, shape and dtype must agree.
CALLS: dict[str, Callable[[Any], Any]] = {
    "tensor of ints": lambda t: t.tensor([1, 2, 3]),
    "tensor of floats": lambda t: t.tensor([[1.5, 2], [3, 4]]),
    "tensor of bools": lambda t: t.tensor([True, False]),
    "bools and ints": lambda t: t.tensor([True, 2]),
    "number": lambda t: t.tensor(3.5),
    "empty list": lambda t: t.tensor([]),
    "empty rows": lambda t: t.tensor([[], []]),
    "numpy float64": lambda t: t.tensor(np.arange(3.0)),
    "numpy int16": lambda t: t.tensor(np.arange(3, dtype=np.int16)),
    "numpy scalars": lambda t: t.tensor([np.float64(1), np.float32(2)]),
    "list of tensors": lambda t: t.tensor([t.tensor(1), t.tensor(2.5)]),
    "list of arrays": lambda t: t.tensor([[1, 2], [3, 4.5]]),
    "range": lambda t: t.tensor(range(4)),
    "dtype given": lambda t: t.tensor([1.7, 2.2], dtype=t.int32),
    "to bool": lambda t: t.tensor([0, 2, 0], dtype=t.bool),
    "as_tensor": lambda t: t.as_tensor([1, 2]),
    "as_tensor dtype": lambda t: t.as_tensor(np.ones(2), dtype=t.float32),
    "zeros": lambda t: t.zeros(2, 3),
    "zeros of tuple": lambda t: t.zeros((2, 3), dtype=t.int64),
    "zeros size=": lambda t: t.zeros(size=(2,)),
    "zeros 0-d": lambda t: t.zeros(()),
    "ones": lambda t: t.ones([2, 1], dtype=t.float64),
    "full": lambda t: t.full((2, 2), 7),
    "full float": lambda t: t.full((2,), 0.5),
    "full bool": lambda t: t.full((2,), True),
    "full dtype": lambda t: t.full((2,), 3, dtype=t.float16),
    "eye": lambda t: t.eye(3),
    "eye n m": lambda t: t.eye(2, 4, dtype=t.int64),
    "arange end": lambda t: t.arange(5),
    "arange": lambda t: t.arange(2, 10, 3),
    "arange down": lambda t: t.arange(5, 0, -2),
    "arange float": lambda t: t.arange(1, 2, 0.25),
    "arange float end": lambda t: t.arange(3.0),
    "arange dtype": lambda t: t.arange(3, dtype=t.float32),
    "arange empty": lambda t: t.arange(0),
    "linspace": lambda t: t.linspace(-1, 1, 5),
    "linspace one": lambda t: t.linspace(3, 9, 1),
    "linspace none": lambda t: t.linspace(0, 1, 0),
    "logspace": lambda t: t.logspace(0, 3, 4),
    "zeros_like": lambda t: t.zeros_like(t.ones(2, 3, dtype=t.int16)),
    "ones_like dtype": lambda t: t.ones_like(t.zeros(2), dtype=t.float64),
    "full_like": lambda t: t.full_like(t.zeros(2, 2), 4),
    "scalar_tensor": lambda t: t.scalar_tensor(3),
    "Tensor of list": lambda t: t.Tensor([1, 2]),
    "Tensor()": lambda t: t.Tensor(),
    "one_hot": lambda t: t.nn.functional.one_hot(t.tensor([0, 2, 1])),
    "one_hot classes": lambda t: t.nn.functional.one_hot(t.tensor([[0], [2]]), 4),
}


@pytest.mark.parametrize("name", CALLS)
def test_same_as_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = CALLS[name](tt), CALLS[name](torch)
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert str(ours.dtype).split(".")[1] == str(theirs.dtype).split(".")[1]
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6)
    assert ours.requires_grad is False


def test_golden_values_without_pytorch() -> None:
    assert tt.arange(1, 2, 0.25).tolist() == [1.0, 1.25, 1.5, 1.75]
    assert tt.linspace(-1, 1, 5).tolist() == [-1.0, -0.5, 0.0, 0.5, 1.0]
    assert tt.eye(2, 3).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert tt.tensor([1, 2.5]).dtype == tt.float32
    assert tt.tensor([1, 2]).dtype == tt.int64


def test_memory_is_shared_only_where_promised() -> None:
    array = np.zeros(3, dtype=np.float32)
    shared, also_shared, copied = tt.from_numpy(array), tt.as_tensor(array), tt.tensor(array)
    array[0] = 5
    assert (shared[0].item(), also_shared[0].item(), copied[0].item()) == (5, 5, 0)
    shared.numpy()[1] = 7
    assert array[1] == 7
    assert np.shares_memory(np.asarray(shared), array)
    assert np.shares_memory(np.from_dlpack(shared), array)
    assert np.shares_memory(tt.from_dlpack(array).numpy(), array)


def test_numpy_refuses_what_would_lose_the_graph() -> None:
    x = tt.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"requires grad; use tensor.detach\(\)"):
        x.numpy()
    assert x.numpy(force=True).tolist() == [1, 1]


def test_default_dtype() -> None:
    try:
        tt.set_default_dtype(tt.float64)
        assert tt.tensor([1.0]).dtype == tt.float64
        assert tt.zeros(1).dtype == tt.float64
        assert tt.rand(1).dtype == tt.float64
    finally:
        tt.set_default_dtype(tt.float32)
    with pytest.raises(TypeError, match="set_default_dtype.*floating point"):
        tt.set_default_dtype(tt.int64)


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_finfo(name: str) -> None:
    ours, reference = tt.finfo(getattr(tt, name)), np.finfo(name)
    assert (ours.eps, ours.max, ours.min) == (reference.eps, reference.max, reference.min)
    assert ours.bits == reference.bits
    assert tt.iinfo(tt.int8).max == 127
    with pytest.raises(TypeError, match="finfo: got int64"):
        tt.finfo(tt.int64)


ERRORS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: tt.tensor([[1, 2], [3]]), ValueError, "tensor: .*same length"),
    (lambda: tt.tensor("abc"), TypeError, "tensor: got str"),
    (lambda: tt.tensor(None), RuntimeError, "tensor: could not infer dtype of NoneType"),
    (lambda: tt.tensor([None]), RuntimeError, "tensor: could not infer dtype of NoneType"),
    (lambda: tt.tensor([1j]), RuntimeError, "tensor: could not infer dtype of complex"),
    (lambda: tt.tensor(np.zeros(2, complex)), TypeError, "got complex128, expected one of bool"),
    (lambda: tt.tensor([1], dtype="quux"), TypeError, "dtype: got 'quux', expected one of"),
    (lambda: tt.tensor([1, 2], requires_grad=True), RuntimeError, "int64, only floating point"),
    (lambda: tt.zeros(-1), RuntimeError, r"zeros: got size \(-1,\), expected no negative"),
    (lambda: tt.zeros(1.5), TypeError, r"zeros: got size \(1.5,\), expected integers"),
    (lambda: tt.arange(0, 5, 0), RuntimeError, "arange: step is 0"),
    (lambda: tt.arange(0, 5, -1), RuntimeError, "arange: .*wrong way"),
    (lambda: tt.linspace(0, 1, -2), RuntimeError, "linspace: steps=-2"),
    (lambda: tt.from_numpy([1, 2]), TypeError, "from_numpy: got list, expected a numpy.ndarray"),
    (lambda: tt.ones(2).item(), RuntimeError, r"item: got a tensor of shape \(2,\)"),
    (lambda: bool(tt.ones(2)), RuntimeError, r"bool: .*\(2,\) is ambiguous"),
    (lambda: len(tt.tensor(1)), TypeError, "len: got a 0-d tensor"),
    (lambda: iter(tt.tensor(1)), TypeError, "iter: got a 0-d tensor"),
    (lambda: tt.device("tpu"), RuntimeError, "device: got 'tpu', expected 'cpu', 'cuda' or"),
]


@pytest.mark.parametrize(("call", "error", "text"), ERRORS, ids=[e[2][:40] for e in ERRORS])
def test_errors(call: Callable[[], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text) as caught:
        call()
    assert "\n" not in str(caught.value)
