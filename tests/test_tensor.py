"""Tensor as an object: made, asked, converted, copied, pickled, subclassed, as PyTorch's is."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinytensor as tt

NAMES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]


def plain(value: Any) -> Any:
    """A result as something that can be compared between the libraries."""
    if hasattr(value, "detach"):
        dtype = str(value.dtype).split(".")[1]
        return dtype, tuple(value.shape), value.requires_grad, value.detach().tolist()
    if isinstance(value, np.ndarray):
        return value.dtype.name, value.shape, value.tolist()
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    return str(value).split(".")[-1] if "float32" in str(value) else value


def outcome(call: Callable[[Any], Any], lib: Any) -> Any:
    """What a call gives, or the type of its error."""
    try:
        return plain(call(lib))
    except (TypeError, ValueError, IndexError, RuntimeError, OverflowError) as error:
        return type(error)


def with_attribute(tensor: Any, value: Any) -> Any:
    tensor.note = value
    return tensor


def after(tensor: Any, *steps: Callable[[Any], Any]) -> Any:
    """The tensor after steps such as `lambda x: x.add_(1)`."""
    for step in steps:
        step(tensor)
    return tensor


def assigned(tensor: Any, name: str, value: Any) -> Any:
    setattr(tensor, name, value)
    return tensor


def backward(tensor: Any) -> Any:
    (tensor * 3).sum().backward()
    return tensor


# Each call runs with either library, and gives the same: value, dtype, shape, flag, or error type.
CALLS: dict[str, Callable[[Any], Any]] = {
    # Tensor(…)
    "sizes": lambda t: t.Tensor(2, 3).shape,
    "one size": lambda t: t.Tensor(np.int64(3)).shape,
    "of a shape": lambda t: t.Tensor(t.Size([2, 3])).shape,
    "of a list": lambda t: t.Tensor([1, 2]),
    "of bools": lambda t: t.Tensor([True, False]),
    "of a range": lambda t: t.Tensor(range(3)),
    "of nothing": lambda t: t.Tensor(),
    "of an int array": lambda t: t.Tensor(np.array([1, 2])),
    "of a float64 tensor": lambda t: t.Tensor(t.tensor([1.0], dtype=t.float64)),
    "of an int tensor": lambda t: t.Tensor(t.tensor([1, 2])),
    "of a tracked tensor": lambda t: t.Tensor(t.ones(2, requires_grad=True)),
    "of a float": lambda t: t.Tensor(3.5),
    "of None": lambda t: t.Tensor(None),
    "of text": lambda t: t.Tensor("a"),
    "of two lists": lambda t: t.Tensor([1], [2]),
    "of size and float": lambda t: t.Tensor(2, 3.0),
    "of a negative size": lambda t: t.Tensor(-1),
    # What it is
    "size of a dim": lambda t: (t.ones(2, 3).size(-1), t.ones(2, 3).size(dim=0)),
    "size out of range": lambda t: t.ones(2, 3).size(2),
    "stride": lambda t: (t.ones(2, 3).t().stride(), t.ones(2, 3).stride(0)),
    "stride of empty": lambda t: (t.ones(0).stride(), t.ones(2, 0, 3).stride()),
    "stride of expanded": lambda t: t.ones(1).expand(3).stride(),
    "offset": lambda t: t.ones(3, 4)[1:, 2:].storage_offset(),
    "signed": lambda t: [t.ones(1, dtype=getattr(t, n)).is_signed() for n in NAMES],
    "flags": lambda t: (t.ones(1).is_sparse, t.ones(1).is_cpu, t.ones(1).get_device()),
    "is_nonzero": lambda t: (t.ones(1).is_nonzero(), t.is_nonzero(t.zeros(1))),
    "is_nonzero of two": lambda t: t.ones(2).is_nonzero(),
    # Size
    "tuple + Size": lambda t: type((1,) + t.ones(2).shape).__name__,
    "Size * 2": lambda t: (type(t.Size([2]) * 2).__name__, 2 * t.Size([2, 3])),
    "Size of tensors": lambda t: t.Size([t.tensor(2), 3]),
    "Size of floats": lambda t: t.Size([2.5]),
    "Size + list": lambda t: t.Size([2]) + [1],
    # requires_grad, grad and data
    "flag of a non-leaf": lambda t: assigned(
        t.ones(2, requires_grad=True) * 2, "requires_grad", True
    ),
    "requires_grad_ of a non-leaf": lambda t: (t.ones(2, requires_grad=True) * 2).requires_grad_(),
    "flag of ints": lambda t: assigned(t.ones(2, dtype=t.int64), "requires_grad", True),
    "flag is 1": lambda t: assigned(t.ones(2), "requires_grad", 1),
    "requires_grad_('a')": lambda t: t.ones(2).requires_grad_("a"),
    "grad is itself": lambda t: (x := t.ones(2)) is assigned(x, "grad", x),
    "grad of another shape": lambda t: assigned(t.ones(2), "grad", t.ones(3)),
    "grad of another dtype": lambda t: assigned(t.ones(2), "grad", t.ones(2, dtype=t.float64)),
    "grad is a number": lambda t: assigned(t.ones(2), "grad", 3.0),
    "data of another shape": lambda t: assigned(t.ones(2, requires_grad=True), "data", t.zeros(3)),
    "data of another dtype": lambda t: assigned(
        t.ones(2, requires_grad=True), "data", t.zeros(2, dtype=t.float64)
    ),
    "data is ints": lambda t: assigned(
        t.ones(2, requires_grad=True), "data", t.zeros(2, dtype=t.int64)
    ),
    "data is a list": lambda t: assigned(t.ones(2), "data", [1, 2]),
    "data is shared": lambda t: (
        y := t.zeros(2),
        x := assigned(t.ones(2), "data", y),
        y.add_(5),
        x._version,
    )[1],
    "a write to data is not seen": lambda t: after(t.ones(2), lambda x: x.data.mul_(2))._version,
    "a write to detach is seen": lambda t: after(t.ones(2), lambda x: x.detach().mul_(2))._version,
    "detach_ of a view": lambda t: t.ones(2)[1:].detach_(),
    "retain_grad untracked": lambda t: t.ones(2).retain_grad(),
    "hook untracked": lambda t: t.ones(2).register_hook(print),
    # To Python
    "int of two": lambda t: int(t.ones(2)),
    "float of two": lambda t: float(t.ones(2)),
    "item of two": lambda t: t.ones(2).item(),
    "bool of none": lambda t: bool(t.zeros(0)),
    "format 0-d": lambda t: f"{t.tensor(2.5)} {t.tensor(3)} {t.tensor(2.345):.1f} {t.tensor(5):x}",
    "format tracked": lambda t: f"{t.tensor(2.5, requires_grad=True):>6}",
    "format 1-d": lambda t: f"{t.tensor([2.5])}",
    "format 1-d with spec": lambda t: f"{t.tensor([2.5]):.1f}",
    "list index": lambda t: [4, 5, 6][t.tensor(1)],
    "list float index": lambda t: [4, 5, 6][t.tensor(1.0)],
    "range": lambda t: list(range(t.tensor(3))),
    "np.zeros": lambda t: np.zeros(t.tensor(3)),
    "in": lambda t: (2 in t.arange(3), t.tensor(7) in t.arange(3)),
    "None in": lambda t: None in t.ones(2),
    "text in": lambda t: "a" in t.ones(2),
    "== None": lambda t: (t.ones(2) == None, t.ones(2) != "a"),  # noqa: E711
    "< None": lambda t: t.ones(2) < None,
    "unpack": lambda t: [*t.ones(2, 2, requires_grad=True)],
    "reversed": lambda t: list(reversed(t.arange(3))),
    "list.index": lambda t: [y := t.zeros(2), t.zeros(2)].index(y),
    "dict key": lambda t: ((x := t.ones(2)) in {x: 1}, t.ones(2) in {x: 1}),
    # To NumPy
    "np.exp": lambda t: np.exp(t.zeros(2)),
    "np.sum": lambda t: np.sum(t.ones(2, dtype=t.int64)),
    "np.concatenate": lambda t: np.concatenate([t.ones(2), np.ones(1)]),
    "np.asarray tracked": lambda t: np.asarray(t.ones(2, requires_grad=True)),
    "np.array with dtype": lambda t: np.array(t.ones(2), dtype=np.int16),
    "np scalar * tracked": lambda t: np.float64(2) * t.ones(2, requires_grad=True),
    "dtype that cannot be without copy": lambda t: np.array(t.ones(2), dtype="f8", copy=False),
    # Copies
    "deepcopy": lambda t: (
        x := backward(t.ones(2, requires_grad=True)),
        y := copy.deepcopy(x),
        y.grad,
        y.grad is x.grad,
    ),
    "deepcopy of a non-leaf": lambda t: copy.deepcopy(t.ones(2, requires_grad=True) * 2),
    "deepcopy keeps strides": lambda t: copy.deepcopy(t.ones(2, 3).t()).stride(),
    "deepcopy of attributes": lambda t: (
        x := with_attribute(t.ones(2), [1]),
        y := copy.deepcopy(x),
        y.note,
        y.note is x.note,
    ),
    "deepcopy of one tensor twice": lambda t: (
        x := t.ones(2),
        z := copy.deepcopy([x, x]),
        z[0] is z[1],
    ),
    "copy shares": lambda t: (x := t.ones(2), copy.copy(x).add_(1)),
    "copy of attributes": lambda t: copy.copy(with_attribute(t.ones(2), [1])).note,
    "copy of a non-leaf": lambda t: copy.copy(t.ones(2, requires_grad=True) * 2).is_leaf,
    "pickle": lambda t: pickle.loads(pickle.dumps(backward(t.ones(2, requires_grad=True)))),
    "pickle of a non-leaf": lambda t: pickle.loads(pickle.dumps(t.ones(1, requires_grad=True) * 2)),
    "pickle of attributes": lambda t: (
        pickle.loads(pickle.dumps(with_attribute(t.ones(2), "a"))).note
    ),
    "pickle keeps strides": lambda t: pickle.loads(pickle.dumps(t.ones(2, 3).t())).stride(),
    "pickle one tensor twice": lambda t: (
        x := t.ones(2),
        z := pickle.loads(pickle.dumps([x, x])),
        z[0] is z[1],
    ),
    # New ones of its kind
    "new_tensor": lambda t: t.zeros(1, dtype=t.int64).new_tensor([1.5, 2]),
    "new_tensor of tensors": lambda t: t.zeros(1).new_tensor([t.tensor(1), 2]),
    "new_zeros negative": lambda t: t.zeros(1).new_zeros(-1),
    "new_full": lambda t: t.zeros(1, dtype=t.int64).new_full((2,), 3.7),
    "clone row-major": lambda t: t.ones(2, 3).t().clone(memory_format=t.contiguous_format).stride(),
    "zeros_like with a format": lambda t: t.zeros_like(
        t.ones(2), memory_format=t.preserve_format, layout=t.strided
    ),
}


@pytest.mark.filterwarnings("ignore:__array:DeprecationWarning")  # PyTorch's own __array__
@pytest.mark.parametrize("name", CALLS)
def test_same_as_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = outcome(CALLS[name], tt), outcome(CALLS[name], torch)
    if isinstance(theirs, type):
        assert isinstance(ours, type) and issubclass(ours, theirs), (ours, theirs)
    else:
        assert ours == theirs


@pytest.mark.parametrize("name", NAMES)
def test_every_dtype_travels(name: str) -> None:
    """To Python, NumPy, DLPack, pickle and back."""
    x = tt.ones(2, 2, dtype=getattr(tt, name))
    number = x[0, 0].item()
    assert number == 1 and type(number) is {"b": bool, "f": float}.get(x.array.dtype.kind, int)
    assert x.tolist() == [[1, 1], [1, 1]]
    for array in (x.numpy(), np.asarray(x), np.from_dlpack(x)):
        assert array.dtype.name == name and np.shares_memory(array, x.array)
    assert not np.shares_memory(np.array(x), x.array)
    for back in (tt.from_dlpack(x), tt.from_numpy(x.numpy()), tt.as_tensor(x.numpy())):
        assert back.dtype == x.dtype and np.shares_memory(back.array, x.array)
    for again in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x), tt.tensor(x.numpy())):
        assert again.dtype == x.dtype and again.tolist() == x.tolist()
        assert not np.shares_memory(again.array, x.array)


def test_dlpack_with_pytorch() -> None:
    torch = pytest.importorskip("torch")
    ours = tt.arange(3)
    theirs = torch.from_dlpack(ours)
    theirs[0] = 7
    assert ours.tolist() == [7, 1, 2]
    back = tt.from_dlpack(theirs)
    assert np.shares_memory(back.array, ours.array)
    with pytest.raises(TypeError, match="got uint16"):
        tt.from_dlpack(torch.ones(2, dtype=torch.uint16))
    with pytest.raises(BufferError, match="requires grad"):
        np.from_dlpack(tt.ones(2, requires_grad=True))


OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "**": lambda a, b: a**b,
    "<": lambda a, b: a < b,
    "==": lambda a, b: a == b,
    "@": lambda a, b: a @ b,
}


@pytest.mark.parametrize("name", OPERATORS)
def test_an_array_beside_a_tensor_is_a_tensor(name: str) -> None:
    """On either side; PyTorch does so on some sides of some operators only."""
    f = OPERATORS[name]
    a, b = np.array([3.0, 5.0]), np.array([2.0, 4.0])
    for result in (f(a, tt.tensor(b)), f(tt.tensor(a), b)):
        assert isinstance(result, tt.Tensor)
        np.testing.assert_allclose(result.numpy(), f(a, b))
    x = tt.tensor(b, requires_grad=True)
    assert f(a, x).requires_grad is (name not in ("<", "=="))


def test_writing_between_arrays_and_tensors() -> None:
    x, a = tt.ones(2), np.ones(2)
    x += a
    assert x.dtype == tt.float32 and x.tolist() == [2, 2]
    x[:] = a * 3
    a[:] = x
    assert a.tolist() == [3, 3]


def test_numpy_results_without_a_dtype_here_stay_arrays() -> None:
    total = np.cumsum(tt.ones(3, dtype=tt.uint8))
    assert isinstance(total, np.ndarray) and total.dtype == np.uint64


@pytest.mark.parametrize("make", [tt.from_numpy, tt.as_tensor], ids=["from_numpy", "as_tensor"])
def test_read_only_memory_is_not_written(make: Callable) -> None:
    array = np.ones(3)
    array.flags.writeable = False
    x = make(array)
    with pytest.raises(RuntimeError, match="add_: .*read-only"):
        x.add_(1)
    with pytest.raises(RuntimeError, match="read-only"):
        x[0] = 2
    assert array.tolist() == [1, 1, 1] and (x + 1).tolist() == [2, 2, 2]


def test_a_tensor_of_reversed_memory_is_shared_too() -> None:
    array = np.arange(3.0)
    x = tt.from_numpy(array[::-1])
    x[0] = 9
    assert array.tolist() == [0, 1, 9] and x.clone().tolist() == [9, 1, 0]


# ------------------------------------------------------------------------------------------
# Subclasses, identity, memory
# ------------------------------------------------------------------------------------------


class Named(tt.Tensor):
    """A subclass, as users write them; at module level for pickle."""


def test_subclasses_keep_their_type() -> None:
    x = Named([1.0, 2.0])
    assert type(x) is Named and x.tolist() == [1, 2]
    assert type(Named(2, 3)) is Named
    x.requires_grad_()
    x.name = "weight"
    (x * x).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2, 4]
    for again in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert type(again) is Named and again.name == "weight" and again.requires_grad
    assert type(x + 1) is tt.Tensor
    source = tt.ones(2)
    assert np.shares_memory(Named(source).array, source.array)


def test_tensor_of_a_tensor_is_the_same_memory() -> None:
    x = tt.ones(2)
    tt.Tensor(x)[0] = 5
    assert x.tolist() == [5, 1]


def test_default_dtype_holds_for_the_class() -> None:
    try:
        tt.set_default_dtype(tt.float64)
        assert tt.Tensor([1]).dtype == tt.Tensor(2).dtype == tt.float64
    finally:
        tt.set_default_dtype(tt.float32)


def test_weak_references_and_cycles() -> None:
    x = tt.ones(2)
    seen = weakref.ref(x)
    assert seen() is x
    x.me = x
    y = copy.deepcopy(x)
    assert y.me is y
    del x, y
    gc.collect()
    assert seen() is None


def test_a_stale_view_is_looked_at_again_before_its_flag_is_set() -> None:
    base = tt.zeros(3)
    view = base[1:]
    base.mul_(tt.ones(3, requires_grad=True))  # recorded: the view is now the result of an op
    with pytest.raises(RuntimeError, match="result of an op"):
        view.requires_grad_(False)
    with pytest.raises(RuntimeError, match="deepcopy: only leaves"):
        copy.deepcopy(view)


ERRORS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: tt.Tensor(3.5), TypeError, r"Tensor: got \(float\), expected sizes, a list"),
    (lambda: int(tt.ones(2)), ValueError, r"int: got a tensor of shape \(2,\)"),
    (lambda: None in tt.ones(2), RuntimeError, "in: got a NoneType to look for"),
    (lambda: assigned(tt.ones(2), "data", 1), TypeError, "data: got int, expected a Tensor"),
    (lambda: assigned(tt.ones(2), "requires_grad", 1), RuntimeError, "requires_grad: got 1"),
    (lambda: tt.Size("ab"), TypeError, "Size: got 'ab', expected an iterable of integers"),
    (lambda: tt.ones(1).new_tensor(None), RuntimeError, "could not infer dtype of NoneType"),
    (lambda: tt.from_dlpack(3), TypeError, "from_dlpack: got int"),
]


@pytest.mark.parametrize(("call", "error", "text"), ERRORS, ids=[e[2][:30] for e in ERRORS])
def test_errors(call: Callable[[], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()
