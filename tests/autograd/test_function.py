"""autograd.Function: ops written by users, as PyTorch has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.autograd import Function, grad
from tinytensor.autograd.function import once_differentiable
from tinytensor.autograd.gradcheck import gradcheck, gradgradcheck
from tinytensor.errors import GradientError


def leaf(values: Any) -> tt.Tensor:
    return tt.tensor(values, dtype=tt.float64, requires_grad=True)


class MyExp(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (y,) = ctx.saved_tensors
        return g * y


class Power(Function):
    """The form with setup_context; n is not a tensor."""

    @staticmethod
    def forward(x: Any, n: int = 3) -> Any:
        return x**n

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
        x, ctx.n = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * ctx.n * x ** (ctx.n - 1), None


class SinCos(Function):
    """Two outputs, each the other's derivative."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        s, c = x.sin(), x.cos()
        ctx.save_for_backward(s, c)
        return s, c

    @staticmethod
    def backward(ctx: Any, gs: Any, gc: Any) -> Any:
        s, c = ctx.saved_tensors
        return gs * c - gc * s


def test_values_and_gradients() -> None:
    x = leaf([0.0, 1.0])
    y = MyExp.apply(x)
    assert y.grad_fn.name() == "MyExpBackward" and "MyExp" in repr(y)
    assert y.requires_grad and not y.is_leaf
    ((accumulate, _),) = y.grad_fn.next_functions
    assert accumulate.variable is x
    y.sum().backward()
    np.testing.assert_allclose(x.grad.array, np.exp([0.0, 1.0]))


@pytest.mark.parametrize(
    "function", [MyExp.apply, Power.apply, lambda x: Power.apply(x, 4), SinCos.apply],
    ids=["saved output", "saved input", "argument", "two saved outputs"],
)  # fmt: skip
def test_first_and_second_derivatives(function: Any) -> None:
    x = leaf([[0.3, -1.2], [0.7, 2.0]])
    gradcheck(function, x)
    gradgradcheck(function, x)


def test_an_output_that_the_rule_and_the_result_use() -> None:
    """d cos² x = −sin 2x, where one cos is an output, and the other what the rule of sin saved."""
    x = leaf([0.3, -1.2])
    s, c = SinCos.apply(x)
    (slope,) = grad(s.sum(), x, create_graph=True)
    (dx,) = grad((slope * c).sum(), x)
    np.testing.assert_allclose(dx.numpy(), -np.sin(2 * x.detach().numpy()))


def test_third_derivative() -> None:
    x = leaf(0.5)
    y = Power.apply(x, 5)
    for expected in (5 * 0.5**4, 20 * 0.5**3, 60 * 0.5**2):
        (y,) = grad(y, x, create_graph=True)
        assert y.item() == pytest.approx(expected)


def test_defaults_and_keywords_of_the_separate_form() -> None:
    assert Power.apply(leaf(2.0)).item() == 8.0
    assert Power.apply(leaf(2.0), n=2).item() == 4.0
    with pytest.raises(TypeError, match="MyExp: apply takes no keyword arguments, got x"):
        MyExp.apply(x=leaf(1.0))


def test_on_top_of_results_and_views() -> None:
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    Power.apply((x * 2)[0], 2).sum().backward()
    assert x.grad.tolist() == [[8.0, 16.0], [0.0, 0.0]]


def test_forward_runs_without_recording() -> None:
    class Look(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, other: str) -> Any:
            seen.update(grad=tt.is_grad_enabled(), x=x, other=other, needs=ctx.needs_input_grad)
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            seen.update(back=tt.is_grad_enabled(), kind=type(g), back_needs=ctx.needs_input_grad)
            return g * 2, None

    seen: dict = {}
    x = leaf([1.0])
    y = Look.apply(x, "text")
    y.sum().backward()
    assert seen == {"grad": False, "x": x, "other": "text", "needs": (True, False), "back": False,
                    "kind": tt.Tensor, "back_needs": (True, False)}  # fmt: skip
    assert tt.is_grad_enabled()


def test_needs_input_grad_tells_inputs_apart() -> None:
    class Product(Function):
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            a, b = ctx.saved_tensors
            asked.append(ctx.needs_input_grad)
            return tuple(
                g * other if needed else None for needed, other in zip(ctx.needs_input_grad, (b, a))
            )

    asked: list = []
    a, b = leaf([2.0]), tt.tensor([3.0], dtype=tt.float64)
    Product.apply(a, b).sum().backward()
    assert asked == [(True, False)] and a.grad.tolist() == [3.0] and b.grad is None


def test_untracked_inputs_record_nothing() -> None:
    assert MyExp.apply(tt.ones(2)).grad_fn is None
    with tt.no_grad():
        assert not MyExp.apply(leaf([1.0])).requires_grad
    assert not MyExp.apply(leaf([1.0])).detach().requires_grad


def test_attributes_on_ctx() -> None:
    class Scale(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, by: float) -> Any:
            ctx.by = by
            return x * by

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.by, None

    x = leaf([1.0])
    y = Scale.apply(x, 4.0)
    assert y.grad_fn.by == 4.0
    y.sum().backward()
    assert x.grad.tolist() == [4.0]


# ------------------------------------------------------------------------------------------
# Several outputs
# ------------------------------------------------------------------------------------------


class Several(Function):
    """Outputs: differentiable, integer, differentiable, not a tensor."""

    materialize = True

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.set_materialize_grads(Several.materialize)
        return x * 2, x.argmax(), x * 3, "text"

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        Several.got = grads  # type: ignore[attr-defined]
        return sum(g * k for g, k in ((grads[0], 2), (grads[2], 3)) if g is not None)


@pytest.mark.parametrize("materialize", [True, False])
def test_outputs_without_a_gradient(materialize: bool) -> None:
    Several.materialize = materialize
    x = leaf([1.0, 2.0])
    a, b, c, d = Several.apply(x)
    assert a.requires_grad and c.requires_grad and not b.requires_grad and d == "text"
    assert a.grad_fn is c.grad_fn and a.grad_fn.name() == "SeveralBackward"
    c.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    first, second, third, fourth = Several.got  # type: ignore[attr-defined]
    assert third.tolist() == [1.0, 1.0] and fourth is None
    if materialize:
        assert first.tolist() == [0.0, 0.0] and second.tolist() == 0
    else:
        assert first is None and second is None


def test_a_tuple_of_one_stays_a_tuple() -> None:
    class One(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return (x * 2,)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return (g * 2,)

    x = leaf([1.0])
    (y,) = One.apply(x)
    y.sum().backward()
    assert x.grad.tolist() == [2.0]


def test_mark_non_differentiable() -> None:
    class Sort(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            shifted = x + 1
            ctx.mark_non_differentiable(shifted)
            return x * 2, shifted

        @staticmethod
        def backward(ctx: Any, g: Any, none: Any) -> Any:
            return g * 2 + none

    x = leaf([1.0])
    y, shifted = Sort.apply(x)
    assert y.requires_grad and not shifted.requires_grad and shifted.is_leaf
    y.sum().backward()
    assert x.grad.tolist() == [2.0]


# ------------------------------------------------------------------------------------------
# Inputs given back, and written to
# ------------------------------------------------------------------------------------------


def test_an_input_returned_as_it_is() -> None:
    class Triple(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 3

    x = leaf([1.0])
    y = Triple.apply(x)
    assert y is not x and x.is_leaf and y.grad_fn.name() == "TripleBackward"
    assert y.data_ptr() == x.data_ptr()
    y.sum().backward()
    assert x.grad.tolist() == [3.0]


class DoubleInPlace(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 2


def test_mark_dirty() -> None:
    x = leaf([1.0])
    h = x * 5
    version = h._version
    y = DoubleInPlace.apply(h)
    assert y is h and h.grad_fn.name() == "DoubleInPlaceBackward" and h._version > version
    (y * 3).sum().backward()
    assert x.grad.tolist() == [30.0] and h.tolist() == [10.0]


def test_mark_dirty_on_a_view_reaches_the_base() -> None:
    x = leaf([1.0, 1.0])
    h = x * 5
    DoubleInPlace.apply(h[:1])
    h.sum().backward()
    assert h.tolist() == [10.0, 5.0] and x.grad.tolist() == [10.0, 5.0]


def test_a_dirty_leaf_is_refused() -> None:
    with pytest.raises(RuntimeError, match="DoubleInPlace: a leaf.*in-place"):
        DoubleInPlace.apply(leaf([1.0]))


def test_a_dirty_tensor_must_be_returned() -> None:
    class Lost(DoubleInPlace):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            x.mul_(2)
            ctx.mark_dirty(x)
            return x + 1

    with pytest.raises(RuntimeError, match="Lost: mark_dirty"):
        Lost.apply(leaf([1.0]) * 1)


# ------------------------------------------------------------------------------------------
# Saved tensors
# ------------------------------------------------------------------------------------------


class SaveAll(Function):
    """Saves an input, an output, something else and None."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y, other = x * 2, x + 1
        ctx.save_for_backward(x, y, None, other)
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, y, nothing, other = ctx.saved_tensors
        assert nothing is None and not other.requires_grad
        SaveAll.seen = (x, y, other)  # type: ignore[attr-defined]
        return g * 2


def test_saved_inputs_are_the_inputs() -> None:
    x = leaf([1.0])
    y = SaveAll.apply(x)
    y.sum().backward()
    saved_x, saved_y, other = SaveAll.seen  # type: ignore[attr-defined]
    assert saved_x is x and saved_y.tolist() == [2.0] and other.tolist() == [2.0]
    assert saved_y.grad_fn is y.grad_fn


def test_saved_tensors_are_freed() -> None:
    y = SaveAll.apply(leaf([1.0])).sum()
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(GradientError, match="SaveAll.*second time.*retain_graph.*test_function"):
        y.backward()


@pytest.mark.parametrize("which", [0, 1])
def test_a_write_to_a_saved_tensor_is_noticed(which: int) -> None:
    x = leaf([1.0])
    h = x * 1
    y = SaveAll.apply(h)
    total = y.sum()
    with tt.no_grad():
        (h, y)[which].add_(1)
    with pytest.raises(
        GradientError, match=rf"SaveAll: saved tensor {which}, of shape \(1,\).*version"
    ):
        total.backward()


def test_only_tensors_can_be_saved() -> None:
    class Wrong(MyExp):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x, 3)
            return x * 2

    with pytest.raises(TypeError, match="Wrong: save_for_backward got int at position 1"):
        Wrong.apply(leaf([1.0]))


# ------------------------------------------------------------------------------------------
# Rules that are wrong
# ------------------------------------------------------------------------------------------


def with_rule(rule: Any) -> Any:
    class Custom(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, n: Any) -> Any:
            return x * n

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return rule(g)

    return Custom


@pytest.mark.parametrize(
    ("rule", "error", "pattern"),
    [
        (lambda g: g, RuntimeError, r"Custom.*number of gradients \(expected 2.*got 1\)"),
        (lambda g: (g, None, g), RuntimeError, r"Custom.*expected 2.*got 3"),
        (lambda g: (g, g), RuntimeError, "Custom.*position 1, expected None"),
        (lambda g: (3.0, None), RuntimeError, "Custom.*returned float at position 0"),
        (lambda g: (g[:1], None), RuntimeError, r"Custom.*shape \(1,\), expected \(2,\)"),
        (lambda g: 1 // 0, ZeroDivisionError, "Custom.*made at.*test_function.py"),
    ],
)
def test_wrong_rules_are_explained(rule: Any, error: type, pattern: str) -> None:
    with pytest.raises(error, match=pattern):
        with_rule(rule).apply(leaf([1.0, 2.0]), 2).sum().backward()


def test_right_rules_of_other_forms() -> None:
    x = leaf([1.0, 2.0])
    with_rule(lambda g: (g * 2, None, None, None)).apply(x, 2).sum().backward()  # extra Nones
    with_rule(lambda g: (None, None)).apply(x, 2).sum().backward()
    with_rule(lambda g: (g.float(), None)).apply(x, 2).sum().backward()  # another dtype
    with_rule(lambda g: (g.expand(3, 2), None)).apply(x, 2).sum().backward()  # as if broadcast
    assert x.grad.dtype == tt.float64 and x.grad.tolist() == [6.0, 6.0]


def test_a_function_without_backward() -> None:
    class Forward(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

    with pytest.raises(NotImplementedError, match="Forward"):
        Forward.apply(leaf([1.0])).sum().backward()


@pytest.mark.filterwarnings("ignore:MyExp. should not be instantiated:DeprecationWarning")
def test_functions_are_not_called() -> None:
    with pytest.raises(RuntimeError, match=r"MyExp: call MyExp\.apply"):
        MyExp()(leaf([1.0]))


# ------------------------------------------------------------------------------------------
# once_differentiable
# ------------------------------------------------------------------------------------------


class Once(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Any) -> Any:
        assert not tt.is_grad_enabled()
        (x,) = ctx.saved_tensors
        return tt.tensor(2 * g.detach().numpy() * x.detach().numpy())


def test_once_differentiable_gives_first_derivatives() -> None:
    x = leaf([3.0])
    Once.apply(x).sum().backward()
    assert x.grad.tolist() == [6.0]
    (g,) = grad(Once.apply(x).sum(), x, create_graph=True)
    assert g.tolist() == [6.0]


def test_once_differentiable_refuses_the_second() -> None:
    x = leaf([3.0])
    (g,) = grad(Once.apply(x).sum(), x, create_graph=True)
    with pytest.raises(GradientError, match="Once.*differentiate twice.*once_differentiable"):
        g.sum().backward()
