"""out=: one mechanism for all functions; the samples of PyTorch are in tests/torch_samples."""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import ops
from tinytensor.out import without_out

# PyTorch's documentation lists out= for these, but they refuse it.
WITHOUT_OUT = {"histogramdd", "std_mean", "var_mean"}


def test_every_function_that_takes_out_in_pytorch_takes_it_here() -> None:
    torch = pytest.importorskip("torch")
    without = set()
    for name in set(dir(torch)) & set(tt.__all__):
        form = (getattr(torch, name).__doc__ or "").strip().partition("\n")[0]
        if " out=None" in form and "out" not in inspect.signature(getattr(tt, name)).parameters:
            without.add(name)
    assert without == WITHOUT_OUT


def test_public_functions_are_those_of_ops() -> None:
    assert [name for name in ops.NAMES if getattr(tt, name) is not getattr(ops, name)] == []


def test_methods_take_no_out_and_save_the_call() -> None:
    assert tt.Tensor.exp is without_out(tt.exp) is not tt.exp
    with pytest.raises(TypeError, match="out"):
        tt.ones(2).exp(out=tt.zeros(2))


def test_result_is_written_and_returned() -> None:
    a, b, c = tt.tensor([1.0, 2.0]), tt.tensor([3.0, 4.0]), tt.zeros(2)
    assert tt.add(a, b, out=c) is c
    assert c.tolist() == [4.0, 6.0]
    assert tt.mul(a, b, out=a) is a and a.tolist() == [3.0, 8.0]  # an input may be out


def test_empty_out_gets_the_shape() -> None:
    c = tt.empty(0)
    tt.matmul(tt.ones(2, 3), tt.ones(3, 4), out=c)
    assert c.shape == (2, 4) and c.tolist() == [[3.0] * 4] * 2


def test_views_are_written_through() -> None:
    x = tt.zeros(2, 3)
    tt.exp(tt.zeros(3), out=x[1])
    assert x.tolist() == [[0.0] * 3, [1.0] * 3]
    with pytest.raises(RuntimeError, match="exp: out is a view"), pytest.warns(UserWarning):
        tt.exp(tt.zeros(4), out=x[1])


def test_several_results() -> None:
    values, indices = tt.zeros(2), tt.zeros(2, dtype=tt.int64)
    found = tt.max(tt.tensor([[1.0, 5.0], [7.0, 2.0]]), 1, out=(values, indices))
    assert found.values is values and indices.tolist() == [1, 0]
    with pytest.raises(TypeError, match="max: got 1 tensors as out, expected 2"):
        tt.max(tt.ones(2, 2), 1, out=(values,))


REFUSED = [
    (lambda: tt.exp(tt.ones(2), out=tt.zeros(2, dtype=tt.int64)), "can't be cast"),
    (lambda: tt.exp(tt.ones(2, requires_grad=True), out=tt.zeros(2)), "requires grad"),
    (lambda: tt.exp(tt.ones(2), out=tt.zeros(2, requires_grad=True)), "requires grad"),
    (lambda: tt.exp(tt.ones(2), out=tt.zeros(1).expand(2)), "share memory"),
    (lambda: tt.mm(tt.ones(2, 2), tt.ones(2, 2), out=tt.ones(2, 2).double()), "expected float32"),
    (lambda: tt.zeros(2, dtype=tt.int64, out=tt.zeros(2)), "expected the same dtype"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_refused(call: object, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        call()  # type: ignore[operator]


def test_overlap_is_refused() -> None:
    x = tt.arange(4.0)
    with pytest.raises(RuntimeError, match="add: out shares memory"):
        tt.add(x[:3], 1, out=x[1:])


def test_without_grad_mode_tracked_inputs_are_fine() -> None:
    x = tt.ones(2, requires_grad=True)
    with tt.no_grad():
        assert tt.exp(x, out=tt.zeros(2)).tolist() == pytest.approx([np.e, np.e])


def test_a_saved_value_notices_the_write() -> None:
    x, y = tt.ones(2, requires_grad=True), tt.ones(2)
    z = (x * y).sum()
    tt.add(y, 1, out=y)
    with pytest.raises(RuntimeError, match="changed|in-place|version"):
        z.backward()


def test_functions_are_found_by_pickle() -> None:
    assert pickle.loads(pickle.dumps(tt.add)) is tt.add
    assert tt.subtract is tt.sub
