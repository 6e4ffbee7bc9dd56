"""New tensors: dtypes, shapes and values as PyTorch makes them; memory shared where promised."""

from __future__ import annotations

import array
import math
from collections import UserList, deque
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
    "deque": lambda t: t.tensor(deque([1, 2, 3])),
    "deque of lists": lambda t: t.tensor(deque([[1.0], [2]])),
    "list of deques": lambda t: t.tensor([deque([1, 2]), deque([3, 4])]),
    "empty deque": lambda t: t.tensor([deque()]),
    "ranges": lambda t: t.tensor([range(3), range(3)]),
    "nested tuples": lambda t: t.tensor(([t.tensor(1.0), 2], (3, np.float64(4)))),
    "deque of tensors": lambda t: t.tensor(deque([t.tensor(1), t.tensor(2)]), dtype=t.float64),
    "user list": lambda t: t.tensor(UserList([1.5, 2])),
    "array module": lambda t: t.tensor(array.array("f", [1, 2])),
    "bytearray": lambda t: t.tensor(bytearray(b"ab")),
    "as_tensor of deque": lambda t: t.as_tensor(deque([1, 2])),
    "Tensor of deque": lambda t: t.Tensor(deque([1, 2])),
    "sizes": lambda t: t.tensor([t.Size([1, 2]), (3, 4)]),
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
    "arange only end": lambda t: t.arange(end=3),
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
    "negative uint8": lambda t: t.tensor([-1, 3], dtype=t.uint8),
    "negative uint8 fill": lambda t: t.full((2,), -1, dtype=t.uint8),
    "large int as float": lambda t: t.tensor([1.0, 2**70]),
    "overflow to inf": lambda t: t.tensor([1e39, -1e39]),
    "overflow of powers": lambda t: t.logspace(30, 50, 3),
    "nan as int": lambda t: t.as_tensor(np.array([np.nan]), dtype=t.int64),
    "tracked tensors in a list": lambda t: t.tensor([t.ones((), requires_grad=True), 2]),
    "int8 tensors in a list": lambda t: t.tensor([t.tensor(1, dtype=t.int8), 2]),
    "arrays in a list": lambda t: t.tensor([np.array([1, 2]), np.array([3.0, 4.0])]),
    "as_tensor of a numpy scalar": lambda t: t.as_tensor(np.float32(3)),
    "full of a numpy scalar": lambda t: t.full((2,), np.float64(3)),
    "full of a small numpy int": lambda t: t.full((2,), np.int8(3)),
    "full of a tensor": lambda t: t.full((2,), t.tensor(3.5)),
    "full_like cut off": lambda t: t.full_like(t.ones(2, dtype=t.int64), 3.7),
    "arange end=": lambda t: t.arange(end=4),
    "arange start= end=": lambda t: t.arange(1, end=9, step=3),
    "arange of tensors": lambda t: t.arange(t.tensor(3.0), t.tensor(5)),
    "arange int of floats": lambda t: t.arange(0, 5.5, dtype=t.int64),
    "arange int of float step": lambda t: t.arange(0.5, 5.5, 1.5, dtype=t.int64),
    "arange int32 of float step": lambda t: t.arange(-2.5, 4, 0.2, dtype=t.int32),
    "arange wraps": lambda t: t.arange(-3, 3, dtype=t.uint8),
    "arange large": lambda t: t.arange(2**53, 2**53 + 3),
    "arange tenths": lambda t: t.arange(0, 1, 0.1),
    "arange tenths down": lambda t: t.arange(1, 0, -0.1, dtype=t.float64),
    "linspace int": lambda t: t.linspace(-4.8, 5.7, 4, dtype=t.int64),
    "linspace int down": lambda t: t.linspace(5.9, -5.9, 7, dtype=t.int32),
    "linspace of tensors": lambda t: t.linspace(t.tensor(0.0), t.tensor(1), 3),
    "linspace half": lambda t: t.linspace(0, 1, 5, dtype=t.float16),
    "logspace int": lambda t: t.logspace(1.2, 2.7, 3, dtype=t.int64),
    "logspace base": lambda t: t.logspace(0, 3, 5, base=0.5),
    "zeros with a layout": lambda t: t.zeros(2, layout=t.strided, pin_memory=False, out=None),
    "asarray copy": lambda t: t.asarray(np.ones(2), copy=True),
    "one_hot": lambda t: t.nn.functional.one_hot(t.tensor([0, 2, 1])),
    "one_hot classes": lambda t: t.nn.functional.one_hot(t.tensor([[0], [2]]), 4),
}


# PyTorch warns where it takes numbers out of tracked tensors, and of slow conversions.
@pytest.mark.filterwarnings("ignore:Converting a tensor with requires_grad")
@pytest.mark.filterwarnings("ignore:Creating a tensor from a list of numpy")
@pytest.mark.parametrize("name", CALLS)
def test_same_as_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = CALLS[name](tt), CALLS[name](torch)
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert str(ours.dtype).split(".")[1] == str(theirs.dtype).split(".")[1]
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6)
    assert ours.requires_grad is False


def test_lengths_of_ranges_as_pytorch() -> None:
    """The length is what rounding decides; over many float arguments and all dtypes."""
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    names = ["uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]
    for _ in range(1500):
        start, end = (round(float(v), int(rng.integers(0, 4))) for v in rng.uniform(-9, 9, 2))
        step = float(rng.choice([0.1, 0.2, 0.3, 0.7, 1, 1.5, 2])) * (1 if end >= start else -1)
        name = str(rng.choice(names))
        if name == "int64" and abs(step) < 1:
            continue  # cut off to a step of 0, which is refused
        ours = tt.arange(start, end, step, dtype=getattr(tt, name))
        theirs = torch.arange(start, end, step, dtype=getattr(torch, name))
        assert tuple(ours.shape) == tuple(theirs.shape), (start, end, step, name)
        if name not in ("float16", "float32"):  # PyTorch rounds within its vector registers
            np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-13, atol=1e-13)


def test_golden_values_without_pytorch() -> None:
    assert tt.arange(1, 2, 0.25).tolist() == [1.0, 1.25, 1.5, 1.75]
    assert tt.linspace(-1, 1, 5).tolist() == [-1.0, -0.5, 0.0, 0.5, 1.0]
    assert tt.eye(2, 3).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert tt.tensor([1, 2.5]).dtype == tt.float32
    assert tt.tensor([1, 2]).dtype == tt.int64


def test_shapes_add_up_from_both_sides() -> None:
    shape = tt.zeros(2, 3).shape
    for longer in (shape + (4,), (4,) + shape, shape + shape[:1]):
        assert isinstance(longer, tt.Size) and longer.numel() in (24, 12)
    with pytest.raises(TypeError):
        [4] + shape


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
    (lambda: tt.tensor([{}]), RuntimeError, "tensor: could not infer dtype of dict"),
    (lambda: tt.tensor(np.zeros(2, "u2")), TypeError, "got uint16, expected one of bool"),
    (lambda: tt.tensor([1], dtype="quux"), TypeError, "dtype: got 'quux', expected one of"),
    (lambda: tt.tensor([1, 2], requires_grad=True), RuntimeError, "int64, only floating point"),
    (lambda: tt.zeros(-1), RuntimeError, r"zeros: got size \(-1,\), expected no negative"),
    (lambda: tt.zeros(1.5), TypeError, r"zeros: got size \(1.5,\), expected integers"),
    (lambda: tt.arange(0, 5, 0), RuntimeError, "arange: step is 0"),
    (lambda: tt.arange(0, 5, -1), RuntimeError, "arange: .*wrong way"),
    (lambda: tt.linspace(0, 1, -2), RuntimeError, "linspace: steps=-2"),
    (lambda: tt.tensor(2**63), ValueError, "tensor: a number is out of range for int64"),
    (lambda: tt.tensor([300], dtype=tt.uint8), RuntimeError, "out of range for uint8"),
    (lambda: tt.tensor([1, 200], dtype=tt.int8), RuntimeError, "out of range for int8"),
    (lambda: tt.full((2,), math.inf, dtype=tt.int64), RuntimeError, "full: inf is out of range"),
    (lambda: tt.full((2,), 1e39), RuntimeError, r"full: 1e\+39 is out of range for float32"),
    (lambda: tt.full(2, 3), TypeError, "full: got size 2, expected a tuple"),
    (lambda: tt.full((2,), None), TypeError, "full: got a value of type NoneType"),
    (lambda: tt.tensor({1, 2}), RuntimeError, "tensor: could not infer dtype of set"),
    (lambda: tt.tensor(i for i in range(3)), RuntimeError, "infer dtype of generator"),
    (lambda: tt.tensor([tt.ones(2), tt.ones(2)]), ValueError, r"shape \(2,\); use stack"),
    (lambda: tt.zeros(), TypeError, "zeros: size is missing"),
    (lambda: tt.zeros(2, size=(2,)), TypeError, "zeros: size is given twice"),
    (lambda: tt.zeros(2, require_grad=True), TypeError, "zeros: .* argument 'require_grad'"),
    (lambda: tt.ones(2, out=2), TypeError, "ones: got out of type int, expected a tensor"),
    (lambda: tt.rand(2, foo=1), TypeError, "rand: got an unexpected keyword argument 'foo'"),
    (lambda: tt.arange(3, step=1, foo=1), TypeError, "arange: got an unexpected .* 'foo'"),
    (lambda: tt.zeros_like([1]), TypeError, "zeros_like: got a list .*expected a tensor"),
    (lambda: tt.arange(math.inf), RuntimeError, "arange: from 0 to inf, expected finite"),
    (lambda: tt.arange(0, 5, 0.5, dtype=tt.int64), ValueError, "arange: step 0.5 is 0 in int64"),
    (lambda: tt.arange("a"), TypeError, "arange: got a str, expected a number"),
    (lambda: tt.asarray([1, 2], copy=False), ValueError, "asarray: a list .*without a copy"),
    (lambda: tt.from_numpy([1, 2]), TypeError, "from_numpy: got list, expected a numpy.ndarray"),
    (lambda: tt.ones(2).item(), RuntimeError, r"item: got a tensor of shape \(2,\)"),
    (lambda: bool(tt.ones(2)), RuntimeError, r"bool: .*\(2,\) is ambiguous"),
    (lambda: len(tt.tensor(1)), TypeError, "len: got a 0-d tensor"),
    (lambda: iter(tt.tensor(1)), TypeError, "iter: got a 0-d tensor"),
    (lambda: tt.device("tpu"), RuntimeError, "device: got 'tpu', expected 'cpu', 'cuda' or"),
    (lambda: tt.device(None), TypeError, "device: got None, expected 'cpu', 'cuda' or"),
    (lambda: tt.device("cuda:0", 1), RuntimeError, "device: got 'cuda:0' and index=1"),
]


@pytest.mark.parametrize(("call", "error", "text"), ERRORS, ids=[e[2][:40] for e in ERRORS])
def test_errors(call: Callable[[], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_devices_compare() -> None:
    assert tt.device("cpu") == tt.device("cpu", 0) == "cpu"
    assert tt.device("cuda:1") != "cuda" and tt.device("cuda") == "cuda:0"
    assert tt.device("cpu") != "foo" and tt.device("cpu") != None  # noqa: E711
    assert len({tt.device("cuda"), tt.device("cuda:0"), tt.device("cuda:1")}) == 2
