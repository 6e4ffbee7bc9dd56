"""The checker itself: it passes right rules, and catches each kind of wrong one."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.autograd import Op
from tinytensor.autograd.gradcheck import gradcheck, gradgradcheck
from tinytensor.errors import GradcheckError


def leaf(*shape: int, seed: int = 0) -> tt.Tensor:
    values = np.random.default_rng(seed).uniform(0.5, 1.5, shape)
    return tt.tensor(values, requires_grad=True)


class WrongSign(Op):
    """y = −x, with the rule of x"""

    def forward(self, x: Any) -> Any:
        return -x

    def backward(self, g: Any) -> Any:
        return g


class Transposed(Op):
    """y = xᵀ, with g not transposed back"""

    def forward(self, x: Any) -> Any:
        return x.T.copy()

    def backward(self, g: Any) -> Any:
        return g


class MissingTerm(Op):
    """y = x², with half of the rule"""

    saves = ("x",)

    def forward(self, x: Any) -> Any:
        return x * x

    def backward(self, g: Any) -> Any:
        (x,) = self.saved
        return g * x


class Forgotten(Op):
    """y = a·b, without the gradient of b"""

    saves = ("b",)

    def forward(self, a: Any, b: Any) -> Any:
        return a * b

    def backward(self, g: Any) -> Any:
        (b,) = self.saved
        return g * b, None


class OneElement(Op):
    """y = 2·x, wrong in a single element"""

    def forward(self, x: Any) -> Any:
        return x * 2

    def backward(self, g: Any) -> Any:
        weight = np.full(g.shape, 2.0)
        weight[1, 0] = 2.1
        return g * weight


class SavedAsAttribute(Op):
    """y = x³: right at first order, but x is hidden from the second"""

    def forward(self, x: Any) -> Any:
        self.slope = 3 * x * x
        return x**3

    def backward(self, g: Any) -> Any:
        return g * self.slope


class SecondOutput(Op):
    """y = (x, 2·x), with the second forgotten"""

    def forward(self, x: Any) -> Any:
        return x * 1, x * 2

    def backward(self, g: Any, h: Any) -> Any:
        return g


# op, shapes of its inputs, what the message must say
WRONG = [
    (WrongSign, [(2,)], [r"output 0\[0\] / d input 0\[0\]", "is 1 by backward", "-1 by finite"]),
    (Transposed, [(2, 2)], [r"output 0\[0, 1\] / d input 0\[0, 1\]", "is 1 by", "0 by finite"]),
    (MissingTerm, [(1,)], [r"input 0\[0\]", "by backward", "by finite differences"]),
    (Forgotten, [(2,), (2,)], [r"d input 1\[0\]", "is 0 by backward"]),
    (
        OneElement,
        [(2, 2)],
        [r"output 0\[1, 0\] / d input 0\[1, 0\]", r"2\.1 by", "1 of 16 entries"],
    ),
    (SecondOutput, [(1,)], [r"output 1\[0\]", "is 0 by backward", "2 by finite"]),
]


@pytest.mark.parametrize(("op", "shapes", "patterns"), WRONG, ids=[w[0].__name__ for w in WRONG])
def test_wrong_rules_are_caught(op: Any, shapes: list, patterns: list[str]) -> None:
    inputs = [leaf(*shape, seed=i) for i, shape in enumerate(shapes)]
    with pytest.raises(GradcheckError) as info:
        gradcheck(op.apply, inputs)
    for pattern in patterns:
        assert re.search(pattern, str(info.value)), f"{pattern!r} is not in {info.value}"
    assert gradcheck(op.apply, inputs, raise_exception=False) is False


def test_the_message_names_function_and_op() -> None:
    def my_function(x: Any) -> Any:
        return WrongSign.apply(x)

    with pytest.raises(GradcheckError, match="^my_function: "):
        gradcheck(my_function, leaf(2))
    with pytest.raises(GradcheckError, match=r"^<lambda> \(wrong_sign\): "):
        gradcheck(lambda x: WrongSign.apply(x), leaf(2))


def test_both_values_are_shown() -> None:
    x = tt.tensor([3.0], dtype=tt.float64, requires_grad=True)
    with pytest.raises(GradcheckError) as info:
        gradcheck(MissingTerm.apply, x)
    by_backward, by_difference = re.findall(r"([\d.]+) by", str(info.value))
    assert float(by_backward) == pytest.approx(3.0) and float(by_difference) == pytest.approx(6.0)


def test_a_rule_wrong_only_at_second_order() -> None:
    x = leaf(2)
    assert gradcheck(SavedAsAttribute.apply, x)
    with pytest.raises(GradcheckError, match=r"gradient of apply.*input 0\[0\].*is 0 by backward"):
        gradgradcheck(SavedAsAttribute.apply, x)
    assert gradgradcheck(SavedAsAttribute.apply, x, raise_exception=False) is False


def test_a_second_derivative_missing_for_one_input() -> None:
    class Mul(Op):
        """y = a·b; a reaches backward behind the engine's back"""

        saves = ("b",)

        def forward(self, a: Any, b: Any) -> Any:
            self.a = a
            return a * b

        def backward(self, g: Any) -> Any:
            (b,) = self.saved
            return g * b, g * self.a

    a, b = leaf(2), leaf(2, seed=1)
    assert gradcheck(Mul.apply, (a, b))
    with pytest.raises(GradcheckError, match=r"output 1\[0\] / d input 0\[0\] is 0 by backward, 1"):
        gradgradcheck(Mul.apply, (a, b), grad_outputs=tt.ones(2, dtype=tt.float64))


@pytest.mark.parametrize(
    "function",
    [lambda x: x.tanh(), lambda x: (x * x).sum(), lambda x: x.softmax(-1), lambda x: x @ x,
     lambda x: (x * 2, x.sum(), x.argmax())],
)  # fmt: skip
def test_right_rules_pass(function: Any) -> None:
    assert gradcheck(function, leaf(2, 2)) and gradgradcheck(function, leaf(2, 2))


def test_the_function_may_take_derivatives_itself() -> None:
    def gradient(x: Any) -> Any:
        return tt.autograd.grad((x * x * x).sum(), x, create_graph=True)[0]

    assert gradcheck(gradient, leaf(3)) and gradgradcheck(gradient, leaf(3))


def test_constants_and_other_arguments_are_left_alone() -> None:
    calls = []

    def function(x: Any, text: str, y: Any) -> Any:
        calls.append(text)
        return x * y

    y = tt.tensor([2.0, 3.0], dtype=tt.float64)
    assert gradcheck(function, (leaf(2), "text", y))
    assert y.tolist() == [2.0, 3.0] and set(calls) == {"text"}


def test_inputs_are_as_before() -> None:
    x = leaf(2, 2)
    before = x.detach().clone()
    gradcheck(lambda v: v.tanh(), x)
    assert x.tolist() == before.tolist() and x.grad is None and x._version == 0


def test_unused_inputs_and_constant_outputs_have_zero_jacobians() -> None:
    assert gradcheck(lambda x, y: x * 2, (leaf(2), leaf(3)))
    assert gradcheck(lambda x: (x * 2, tt.ones(2, dtype=tt.float64)), leaf(2))
    assert gradgradcheck(lambda x: (x * x, tt.ones(2, dtype=tt.float64)), leaf(2))
    assert gradgradcheck(lambda x, y: x * x, (leaf(2), leaf(3)))


def test_complex_outputs_of_real_inputs() -> None:
    assert gradcheck(lambda x: x * (1 + 2j), leaf(2, 3))
    assert gradcheck(lambda x: tt.complex(x, x * x), leaf(3))
    assert gradgradcheck(lambda x: tt.complex(x, x * x), leaf(3))


def test_rules_that_change_from_call_to_call() -> None:
    class Random(Op):
        calls = 0

        def forward(self, x: Any) -> Any:
            return x * 1

        def backward(self, g: Any) -> Any:
            Random.calls += 1
            return g * (1 + 1e-8 * (Random.calls % 2))

    with pytest.raises(GradcheckError, match="not reproducible"):
        gradcheck(Random.apply, leaf(1))
    assert gradcheck(Random.apply, leaf(1), nondet_tol=1e-6)


def test_tolerances() -> None:
    class Slightly(Op):
        def forward(self, x: Any) -> Any:
            return x * 1

        def backward(self, g: Any) -> Any:
            return g * 1.01

    assert gradcheck(Slightly.apply, leaf(1), raise_exception=False) is False
    assert gradcheck(Slightly.apply, leaf(1), rtol=0.1)
    assert gradcheck(Slightly.apply, leaf(1), atol=0.1)


def test_gradients_of_outputs_may_have_gaps_in_memory() -> None:
    """gen_non_contig_grad_outputs: rules get g of the right shape that is not contiguous."""
    seen: set[tuple] = set()

    class Double(tt.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            seen.add((tuple(g.shape), g.is_contiguous()))
            return g * 2

    for shape in ((3,), (2, 3), (2, 1, 3)):
        x = tt.randn(*shape, dtype=tt.float64, requires_grad=True)
        seen.clear()
        assert tt.autograd.gradgradcheck(Double.apply, x, gen_non_contig_grad_outputs=True)
        assert (shape, False) in seen and {s for s, _ in seen} == {shape}


def test_misuse() -> None:
    with pytest.raises(ValueError, match="none of the inputs requires grad"):
        gradcheck(lambda x: x, tt.ones(2))
    with pytest.raises(ValueError, match="none of the inputs requires grad"):
        gradgradcheck(lambda x: x, tt.ones(2))
    with pytest.warns(UserWarning, match="input 0 is float32, expected float64"):
        gradcheck(lambda x: x * 2, tt.ones(2, requires_grad=True), raise_exception=False)


def test_pytorchs_path() -> None:
    assert tt.autograd.gradcheck is gradcheck and tt.autograd.gradgradcheck is gradgradcheck


class LineWrongBy(Op):
    """y = 1e-3·x;  dx = g·(1e-3 + error)"""

    def forward(self, x: Any, error: float) -> Any:
        self.error = error
        return 1e-3 * x

    def backward(self, g: Any) -> Any:
        return g * (1e-3 + self.error)


class SquareWrongBy(Op):
    """y = 1e-3·x²/2;  dx = g·1e-3·x, whose own gradient is wrong by g·error"""

    saves = ("x",)

    def forward(self, x: Any, error: float) -> Any:
        self.error = error
        return 1e-3 * x * x / 2

    def backward(self, g: Any) -> Any:
        (x,) = self.saved
        return g * LineWrongBy.apply(x, self.error)


@pytest.mark.parametrize("error, right", [(5e-6, True), (3e-5, False), (5e-3, False)])
def test_default_atol(error: float, right: bool) -> None:
    """Gradients near 0 may be wrong by 1e-5, as in PyTorch."""
    first, second = (lambda x: LineWrongBy.apply(x, error)), lambda x: SquareWrongBy.apply(x, error)
    assert gradcheck(first, leaf(3), raise_exception=False) == right
    assert gradcheck(second, leaf(3))
    assert gradgradcheck(second, leaf(3), raise_exception=False) == right


def test_default_eps() -> None:
    """Steps of 1e-6 suit a function with a large third derivative; steps of 1e-3 do not."""

    def wave(x: tt.Tensor) -> tt.Tensor:
        return (300 * x).sin()

    for check in (gradcheck, gradgradcheck):
        assert check(wave, leaf(3))
        assert not check(wave, leaf(3), eps=1e-3, raise_exception=False)


class Doubled(tt.autograd.Function):
    """y = 2x, with a wrong rule of one kind or the other."""

    @staticmethod
    def forward(ctx: Any, x: Any, bad: str) -> Any:
        ctx.bad = bad
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * (3 if ctx.bad == "backward" else 2), None

    @staticmethod
    def jvp(ctx: Any, t: Any, _: Any) -> Any:
        return t * (3 if ctx.bad == "forward" else 2)


@pytest.mark.parametrize("dtype", [tt.float64, tt.complex128])
@pytest.mark.parametrize("bad", ["backward", "forward", "neither"])
def test_forward_mode_is_checked_on_request(bad: str, dtype: Any) -> None:
    x = tt.ones(2, dtype=dtype, requires_grad=True)
    for backward, forward in ((True, False), (False, True), (True, True)):
        wrong = (bad == "backward" and backward) or (bad == "forward" and forward)
        options: Any = {"check_backward_ad": backward, "check_forward_ad": forward}
        assert gradcheck(Doubled.apply, (x, bad), raise_exception=False, **options) is not wrong
        if wrong:
            with pytest.raises(GradcheckError, match=f"by {bad}"):
                gradcheck(Doubled.apply, (x, bad), **options)
    with pytest.raises(AssertionError, match="both False"):
        gradcheck(Doubled.apply, (x, bad), check_backward_ad=False)


def test_forward_mode_of_ordinary_functions() -> None:
    x = tt.rand(2, 3, dtype=tt.float64, requires_grad=True)
    y = tt.rand(3, dtype=tt.float64, requires_grad=True)
    assert gradcheck(lambda x, y: (x @ y, (x * y).softmax(1)), (x, y), check_forward_ad=True)


@pytest.mark.parametrize("other", [lambda x: tt.cat([x, x]), lambda x: x.float()])
def test_outputs_that_change_their_form(other: Any) -> None:
    x = tt.ones(1, dtype=tt.float64, requires_grad=True)
    with pytest.raises(AssertionError, match="expected the same"):
        gradcheck(lambda x: other(x) if bool((x >= 1).all()) else x, (x,))
