"""Errors are part of the interface: one line with the op, what was got and what was expected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.errors import DeviceError, GradientError, ShapeError

A, B = tt.ones(2, 3), tt.ones(4, 5)
I = tt.tensor([0, 5])  # noqa: E741


def leaf(*shape: int) -> Any:
    return tt.ones(*shape, requires_grad=True)


def backward_twice() -> None:
    y = (leaf(3).exp() * 2).sum()
    y.backward()
    y.backward()


def saved_value_changed() -> None:
    x = leaf(3)
    y = x.exp()
    y.add_(1)
    y.sum().backward()


def saved_input_changed() -> None:
    x = leaf(2, 3) * 1
    y = x * x
    x[0] = 0
    y.sum().backward()


def view_of_leaf_written() -> None:
    leaf(3)[0].fill_(2)


# what is called · the error · words that must be in it
SHAPES: list[tuple[Callable[[], Any], type[Exception], list[str]]] = [
    (lambda: A + B, ShapeError, ["add", "(2, 3)", "(4, 5)"]),
    (lambda: A * tt.ones(4), ShapeError, ["mul", "(2, 3)", "(4,)"]),
    (lambda: A @ B, ShapeError, ["matmul", "(2, 3)", "(4, 5)"]),
    (lambda: tt.mm(A, tt.ones(3)), RuntimeError, ["mm", "(3,)"]),
    (lambda: tt.bmm(A, A), RuntimeError, ["bmm", "(2, 3)"]),
    (lambda: A.reshape(4, 2), ShapeError, ["reshape", "(2, 3)", "(4, 2)"]),
    (lambda: A.t().view(6), RuntimeError, ["view", "(3, 2)", "(6,)"]),
    (lambda: A.expand(4, 3), ShapeError, ["expand", "(2, 3)", "(4, 3)"]),
    (lambda: tt.cat([A, B]), ShapeError, ["cat", "(2, 3)", "(4, 5)"]),
    (lambda: tt.stack([A, B]), ShapeError, ["stack", "(2, 3)", "(4, 5)"]),
    (lambda: A.split([1, 3]), RuntimeError, ["split", "(1, 3)", "(2, 3)"]),
    (lambda: tt.linear(A, B), ShapeError, ["linear", "(2, 3)", "(4, 5)"]),
    (lambda: tt.layer_norm(A, (4,)), ShapeError, ["layer_norm", "(4,)", "(2, 3)"]),
    (lambda: tt.layer_norm(A, (3,), tt.ones(7)), ShapeError, ["weight", "(7,)", "(3,)"]),
    (lambda: tt.cross_entropy(A, tt.tensor([0])), RuntimeError, ["entropy", "(2, 3)", "(1,)"]),
    (lambda: tt.einsum("ij,jk->ik", A, B), RuntimeError, ["einsum", "j", "3", "4"]),
    (lambda: tt.scaled_dot_product_attention(A, B, B), ShapeError,
     ["scaled_dot_product_attention", "(2, 3)", "(4, 5)"]),
    (lambda: A[tt.ones(4, dtype=tt.bool)], IndexError, ["getitem", "(4,)", "(2,)"]),
    (lambda: tt.dot(A, A), RuntimeError, ["dot", "(2, 3)"]),
    (lambda: A.t().view(-1, 7), RuntimeError, ["view", "(3, 2)"]),
    (lambda: tt.ones(2, 3, 4).t(), RuntimeError, ["t:", "3"]),
]  # fmt: skip

DIMS: list[tuple[Callable[[], Any], type[Exception], list[str]]] = [
    (lambda: A.sum(dim=2), IndexError, ["sum", "2", "-2", "1"]),
    (lambda: A.softmax(dim=5), IndexError, ["softmax", "5"]),
    (lambda: A.transpose(0, 3), IndexError, ["transpose", "3"]),
    (lambda: A.permute(0, 0), RuntimeError, ["permute", "0"]),
    (lambda: A.unsqueeze(4), IndexError, ["unsqueeze", "4"]),
    (lambda: A.sum(dim=0, axis=1), TypeError, ["sum", "dim", "axis"]),
    (lambda: tt.cat([A, A], dim=2), IndexError, ["cat", "2"]),
    (lambda: A[5], IndexError, ["getitem", "5", "2"]),
    (lambda: A[0, 0, 0], IndexError, ["getitem", "3", "2"]),
    (lambda: A[I], IndexError, ["getitem", "5"]),
    (lambda: A.gather(2, I), IndexError, ["gather", "2"]),
    (lambda: tt.index_select(A, 0, I), IndexError, ["index_select", "5", "2"]),
    (lambda: tt.embedding(I, A), IndexError, ["embedding", "5", "2"]),
    (lambda: tt.topk(A, 9), RuntimeError, ["topk", "9", "3"]),
    (lambda: A[::-1], ValueError, ["getitem", "-1"]),
]

DTYPES: list[tuple[Callable[[], Any], type[Exception], list[str]]] = [
    (lambda: tt.tensor([1, 2]).mean(), RuntimeError, ["mean", "int64"]),
    (lambda: A @ B.double().t()[:3], RuntimeError, ["matmul", "float32", "float64"]),
    (lambda: A[tt.tensor([0.5])], IndexError, ["getitem", "float32"]),
    (lambda: tt.tensor([1, 2]).add_(0.5), RuntimeError, ["add_", "float32", "int64"]),
    (lambda: tt.tensor([1]).requires_grad_(), RuntimeError, ["requires_grad_", "int64"]),
    (lambda: -tt.tensor([True]), RuntimeError, ["neg", "bool"]),
    (lambda: A & A, (TypeError, RuntimeError), ["and", "float32"]),
    (lambda: tt.exp([1.0]), TypeError, ["exp", "list", "expected a tensor"]),
    (lambda: tt.sum(1.5), TypeError, ["sum", "float", "expected a tensor"]),
    (lambda: A + "a", TypeError, ["Tensor", "str"]),
    (lambda: tt.tensor(1.0).to("quux"), (TypeError, RuntimeError), ["quux"]),
]  # type: ignore[list-item]

AUTOGRAD: list[tuple[Callable[[], Any], type[Exception], list[str]]] = [
    (backward_twice, GradientError, ["second time", "retain_graph=True", "test_errors.py"]),
    (lambda: leaf(3).exp().backward(), GradientError, ["scalar", "(3,)", "gradient="]),
    (lambda: A.sum().backward(), GradientError, ["does not require grad"]),
    (lambda: leaf(3).exp().backward(tt.ones(2)), GradientError, ["backward", "[2]", "[3]"]),
    (lambda: tt.autograd.grad(leaf(2).sum(), leaf(2)), GradientError, ["input 0", "allow_unused"]),
    (saved_value_changed, GradientError, ["exp", "(3,)", "version 1, expected 0"]),
    (saved_input_changed, GradientError, ["mul", "(2, 3)", "version 1, expected 0"]),
    (lambda: leaf(3).add_(1), RuntimeError, ["add_", "leaf", "(3,)", "no_grad"]),
    (lambda: leaf(3).__setitem__(0, 1.0), RuntimeError, ["setitem", "leaf", "(3,)"]),
    (view_of_leaf_written, RuntimeError, ["fill_", "view of a leaf", "(3,)"]),
    (lambda: A.expand(2, 2, 3).add_(1), RuntimeError, ["add_", "(2, 2, 3)", "clone()"]),
    (lambda: tt.ones(3).mul_(tt.ones(2, 3)), ShapeError, ["mul_", "(2, 3)", "(3,)"]),
    (lambda: leaf(2).numpy(), RuntimeError, ["numpy", "detach()"]),
]

DEVICES: list[tuple[Callable[[], Any], type[Exception], list[str]]] = [
    (lambda: tt.device("tpu"), DeviceError, ["device", "'tpu'", "'cuda'"]),
]
if not tt.cuda.is_available():
    DEVICES += [
        (lambda: tt.ones(2, device="cuda"), DeviceError, ["cuda", "CuPy"]),
        (lambda: A.cuda(), DeviceError, ["cuda", "CuPy"]),
    ]

TABLE = SHAPES + DIMS + DTYPES + AUTOGRAD + DEVICES


@pytest.mark.parametrize(("call", "error", "words"), TABLE, ids=[str(e[2]) for e in TABLE])
def test_error_says_what_is_wrong(call: Callable, error: Any, words: list[str]) -> None:
    with pytest.raises(error) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message
    missing = [word for word in words if word not in message]
    assert not missing, f"{missing} not in: {message}"


def test_bad_input_loses_nothing() -> None:
    """A refused in-place call leaves the tensor, its gradient and its version as they were."""
    x = tt.ones(3, requires_grad=True)
    x.sum().backward()
    for call in (lambda: x.add_(1), lambda: x.__setitem__(0, 5.0), lambda: x.mul_(tt.ones(2, 3))):
        with pytest.raises(RuntimeError):
            call()
    assert x.tolist() == [1, 1, 1] and x.grad.tolist() == [1, 1, 1] and x._version == 0
    y = tt.tensor([1, 2, 3])
    with pytest.raises(RuntimeError):
        y.div_(2)
    assert y.tolist() == [1, 2, 3] and y._version == 0
    np.testing.assert_array_equal(A.numpy(), np.ones((2, 3), np.float32))
