"""detect_anomaly, and errors inside rules: each names the op, the module and the line."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.autograd import Op, detect_anomaly, scope, site_of
from tinytensor.errors import AnomalyError


def leaf(values: Any) -> tt.Tensor:
    return tt.tensor(values, dtype=tt.float64, requires_grad=True)


class Poison(Op):
    """y = x;  dx = value, whatever comes in"""

    def forward(self, x: Any, value: float) -> Any:
        self.value = value
        return x * 1

    def backward(self, g: Any) -> Any:
        return g * self.value


class Broken(Op):
    """y = x, with a rule that fails."""

    def forward(self, x: Any, error: Exception) -> Any:
        self.error = error
        return x * 1

    def backward(self, g: Any) -> Any:
        raise self.error


def raised(call: Any, *patterns: str) -> None:
    with pytest.raises(AnomalyError) as info:
        call()
    message = str(info.value)
    assert "\n" not in message
    for pattern in (*patterns, r"test_anomaly\.py:\d+"):
        assert re.search(pattern, message), f"{pattern!r} is not in {message!r}"


@pytest.mark.parametrize("tracked", [True, False])
def test_inf_in_forward(tracked: bool) -> None:
    x = tt.tensor([[1.0, 0.0]], requires_grad=tracked)

    def call() -> None:
        with detect_anomaly(), scope("net"), scope("head"):
            x.log()  # the line to find

    raised(
        call, "log: forward gave inf", r"\(1, 2\)", "in module net.head", "x.log\\(\\)  # the line"
    )


def test_nan_in_forward() -> None:
    x = leaf([-1.0])

    def call() -> None:
        with detect_anomaly():
            x.sqrt()

    raised(call, "sqrt: forward gave NaN", r"\(1,\)", r"x\.sqrt\(\)")


@pytest.mark.parametrize(("value", "name"), [(np.nan, "NaN"), (np.inf, "inf")])
def test_bad_values_in_backward(value: float, name: str) -> None:
    def call() -> None:
        with detect_anomaly():
            with scope("block"):
                y = Poison.apply(leaf([[1.0], [2.0]]), value)
            (y * 2).sum().backward()

    raised(call, f"poison: backward gave {name} in the gradient of input 0", r"\(2, 1\)",
           "in module block", r"Poison\.apply")  # fmt: skip


def test_the_first_bad_op_is_the_one_named() -> None:
    def call() -> None:
        with detect_anomaly():
            x = leaf([1.0])
            y = Poison.apply(x, np.nan)
            ((y * 2).tanh() * 3).sum().backward()

    raised(call, "^poison")
    with detect_anomaly(), pytest.raises(AnomalyError, match="^sub"):
        a = tt.tensor([np.inf])
        (a - a).tanh()  # inf came in, NaN is new


def test_sqrt_at_zero_is_found_in_backward() -> None:
    def call() -> None:
        with detect_anomaly():
            leaf([0.0]).sqrt().sum().backward()

    raised(call, "backward gave inf")


def test_masks_of_minus_infinity_pass() -> None:
    scores = leaf(np.arange(9.0).reshape(3, 3))
    mask = tt.triu(tt.full((3, 3), float("-inf"), dtype=tt.float64), 1)
    with detect_anomaly():
        weights = (scores + mask).softmax(-1)
        (weights * weights).sum().backward()
        filled = leaf(np.ones((2, 2))).masked_fill(tt.eye(2).bool(), float("-inf"))
        filled.softmax(-1).sum().backward()
    assert np.isfinite(scores.grad.array).all()


def test_nothing_is_checked_outside() -> None:
    x = leaf([0.0])
    x.log().sum().backward()
    assert not np.isfinite(x.grad.array).any()


def test_several_outputs() -> None:
    class Halves(Op):
        def forward(self, x: Any) -> Any:
            return x[:1] * 1, x[1:] * 1

        def backward(self, g: Any, h: Any) -> Any:
            return np.concatenate([g, h]) * np.nan

    def call() -> None:
        with detect_anomaly():
            a, _ = Halves.apply(leaf([1.0, 2.0]))
            a.sum().backward()

    raised(call, "halves: backward gave NaN", r"\(1,\), \(1,\)")


# ------------------------------------------------------------------------------------------
# Errors inside rules, with or without detect_anomaly
# ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [ValueError("went wrong"), KeyError("missing"), RuntimeError()])
def test_an_error_in_a_rule_shows_the_forward_line(error: Exception) -> None:
    with scope("encoder"):
        y = Broken.apply(leaf([1.0]), error)  # made here
    with pytest.raises(type(error)) as info:
        (y * 2).sum().backward()
    message = str(info.value)
    for part in ("broken", "in module encoder", "test_anomaly.py", "# made here"):
        assert part in message
    assert str(error.args[0]).split(" (")[0] in message


def test_a_rule_of_the_wrong_shape_shows_the_forward_line() -> None:
    class Cut(Op):
        def forward(self, x: Any) -> Any:
            return x * 1

        def backward(self, g: Any) -> Any:
            return g[1:]

    y = Cut.apply(leaf([1.0, 2.0, 3.0]))  # cut here
    with pytest.raises(RuntimeError, match=r"cut.*\(2,\).*expected \(3,\).*# cut here"):
        y.sum().backward()


def test_site_of_a_node() -> None:
    y = leaf([1.0]).tanh()  # this very line
    site = site_of(y.grad_fn)
    assert site is not None and site.file == __file__ and site.text.endswith("# this very line")
    assert str(site).startswith(f"{__file__}:{site.line}")
