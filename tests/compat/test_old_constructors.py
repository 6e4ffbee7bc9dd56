"""FloatTensor, LongTensor …, typename and set_default_tensor_type, compared with PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinytensor as tt

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of this test")

# Tensors whose values are given
VALUES: dict[str, Callable[[Any], Any]] = {
    "list": lambda L: L.FloatTensor([[1, 2], [3, 4]]),
    "tuple": lambda L: L.FloatTensor((2, 3)),
    "range": lambda L: L.LongTensor(range(3)),
    "floats to integers": lambda L: L.LongTensor([1.5, -1.5]),
    "array": lambda L: L.FloatTensor(np.arange(3.0)),
    "tensor": lambda L: L.FloatTensor(L.ones(2)),
    "0-d tensors": lambda L: L.FloatTensor([L.tensor(1.0), L.tensor(2.0)]),
    "empty list": lambda L: L.DoubleTensor([]),
    "nothing": lambda L: L.ByteTensor(),
    "no elements": lambda L: L.FloatTensor(2, 0),
}
# Tensors of a given shape: PyTorch's values are uninitialised
SHAPES: dict[str, Callable[[Any], Any]] = {
    "size": lambda L: L.FloatTensor(L.zeros(2, 3).size()),
    "part of a size": lambda L: L.FloatTensor(L.zeros(2, 3).size()[1:]),
    "empty size": lambda L: L.FloatTensor(L.tensor(1.0).size()),
    "size of integers": lambda L: L.LongTensor(L.zeros(2, 3).size()),
    "unpacked size": lambda L: L.FloatTensor(*L.zeros(2, 3).size()),
    "ints": lambda L: L.BoolTensor(2, 3),
    "NumPy's int": lambda L: L.FloatTensor(np.int64(2)),
    "0-d tensor as a size": lambda L: L.FloatTensor(2, L.tensor(3)),
}
REFUSED: dict[str, Callable[[Any], Any]] = {
    "float": lambda L: L.FloatTensor(5.0),
    "bool": lambda L: L.FloatTensor(True),
    "None": lambda L: L.FloatTensor(None),
    "str": lambda L: L.FloatTensor("ab"),
    "set": lambda L: L.LongTensor({1, 2}),
    "NumPy's float": lambda L: L.FloatTensor(np.float64(2)),
    "tensor of another dtype": lambda L: L.FloatTensor(L.ones(2, dtype=L.int64)),
    "negative size": lambda L: L.FloatTensor(-1),
    "default of integers": lambda L: L.set_default_tensor_type(L.IntTensor),
    "default on a GPU": lambda L: L.set_default_tensor_type("torch.cuda.FloatTensor"),
}


@pytest.mark.parametrize("make", VALUES.values(), ids=VALUES.keys())
def test_values(make: Callable) -> None:
    ours, theirs = make(tt), make(torch)
    assert str(ours.dtype).split(".")[1] == str(theirs.dtype).split(".")[1]
    np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


@pytest.mark.parametrize("make", SHAPES.values(), ids=SHAPES.keys())
def test_shapes(make: Callable) -> None:
    ours, theirs = make(tt), make(torch)
    assert ours.shape == tuple(theirs.shape) and ours.type() == theirs.type()
    assert not ours.any()  # ours are zeros


@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED.keys())
def test_refused(call: Callable) -> None:
    with pytest.raises(Exception) as theirs:
        call(torch)
    with pytest.raises((TypeError, ValueError, RuntimeError)) as ours:
        call(tt)
    assert isinstance(ours.value, theirs.type) and "got" in str(ours.value)


def test_a_tensor_is_shared() -> None:
    x = tt.ones(2)
    tt.FloatTensor(x).zero_()
    assert x.tolist() == [0.0, 0.0]


def test_noise_of_a_tensors_size() -> None:
    """The reparameterisation of old autoencoders: one number for each element of std."""
    std = tt.ones(4, 3)
    assert tt.FloatTensor(std.size()).normal_().mul(std).shape == (4, 3)


@pytest.mark.parametrize("value", [3, int, len, np.ones(2), "ab"], ids=str)
def test_typename(value: Any) -> None:
    assert tt.typename(value) == torch.typename(value)


def test_typename_of_tensors() -> None:
    for dtype in ("float32", "float64", "int64", "bool", "uint8"):
        ours, theirs = (L.ones(2, dtype=getattr(L, dtype)) for L in (tt, torch))
        assert tt.typename(ours) == torch.typename(theirs)
    assert tt.typename(tt.FloatTensor) == torch.typename(torch.FloatTensor)
    assert tt.typename(tt.nn.Linear(1, 1)).endswith("linear.Linear")


@pytest.mark.parametrize("kind", ["DoubleTensor", "FloatTensor", "HalfTensor"])
@pytest.mark.parametrize("as_text", [True, False])
def test_set_default_tensor_type(kind: str, as_text: bool) -> None:
    before = tt.get_default_dtype()
    try:
        tt.set_default_tensor_type(f"torch.{kind}" if as_text else getattr(tt, kind))
        assert tt.ones(2).dtype is tt.tensor(1.5).dtype is getattr(tt, kind).dtype
    finally:
        tt.set_default_dtype(before)


def test_types_on_a_gpu() -> None:
    x = tt.ones(2)
    assert isinstance(x, tt.FloatTensor) and not isinstance(x, tt.cuda.FloatTensor)
    if not tt.cuda.is_available():
        with pytest.raises(RuntimeError):
            tt.cuda.FloatTensor(2)
    with pytest.raises(AttributeError, match="FloatTensors"):
        tt.cuda.FloatTensors  # noqa: B018


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("options", [{}, {"dim": 0}, {"p": 1.0, "dim": -1}])
def test_normalize_writes_into_out(dtype: str, options: dict) -> None:
    data = np.random.default_rng(0).standard_normal((3, 4)).astype(dtype)
    for alias in (True, False):
        ours, theirs = tt.tensor(data), torch.tensor(data)
        out, expected = (x if alias else x * 0 for x in (ours, theirs))
        assert tt.nn.functional.normalize(ours, **options, out=out) is out
        torch.nn.functional.normalize(theirs, **options, out=expected)
        np.testing.assert_allclose(out.numpy(), expected.numpy(), rtol=1e-6)
    with pytest.raises(RuntimeError, match="normalize"):
        tt.nn.functional.normalize(tt.ones(2, 2, requires_grad=True), out=tt.zeros(2, 2))


def test_several_gpus() -> None:
    from tinytensor.nn.parallel._functions import Broadcast, ReduceAddCoalesced

    for function in (Broadcast, ReduceAddCoalesced):
        with pytest.raises(RuntimeError, match=f"{function.__name__}: got a call"):
            function.apply(0, tt.ones(2))


def test_path_of_parameter_vectors() -> None:
    from tinytensor.nn.utils.convert_parameters import parameters_to_vector

    assert parameters_to_vector(tt.nn.Linear(2, 3).parameters()).shape == (9,)
