"""no_grad and its kin: as context, as decorator, on generators, nested, after errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.autograd import (
    detect_anomaly,
    is_anomaly_enabled,
    is_inference_mode_enabled,
    scope,
    set_detect_anomaly,
)

on = tt.is_grad_enabled


def x() -> tt.Tensor:
    return tt.ones(2, requires_grad=True)


@pytest.fixture(autouse=True)
def modes_are_left_as_found() -> Iterator[None]:
    yield
    assert on() and not is_inference_mode_enabled() and not is_anomaly_enabled()


def test_no_grad_records_nothing() -> None:
    a = x()
    with tt.no_grad():
        b = a * 2
        assert not on() and not b.requires_grad and b.is_leaf
        assert a.requires_grad
        assert tt.ones(2, requires_grad=True).requires_grad  # leaves are as one says
    assert (a * 2).requires_grad


def test_enable_grad_inside_no_grad() -> None:
    a = x()
    with tt.no_grad():
        with tt.enable_grad():
            assert (a * 2).requires_grad
            with tt.no_grad():
                assert not (a * 2).requires_grad
            assert on()
        assert not on()


def test_backward_under_no_grad() -> None:
    a = x()
    y = (a * a).sum()
    with tt.no_grad():
        y.backward()
    assert a.grad.tolist() == [2.0, 2.0]


SETTINGS = {
    "no_grad": (lambda: tt.no_grad(), False),
    "enable_grad": (lambda: tt.enable_grad(), True),
    "set_grad_enabled(False)": (lambda: tt.set_grad_enabled(False), False),
    "set_grad_enabled(True)": (lambda: tt.set_grad_enabled(True), True),
    "inference_mode": (lambda: tt.inference_mode(), False),
    "inference_mode(False)": (lambda: tt.inference_mode(False), True),
}
each_setting = pytest.mark.parametrize(("make", "inside"), SETTINGS.values(), ids=SETTINGS)


@each_setting
def test_as_context(make: Any, inside: bool) -> None:
    for outside in (True, False):
        with tt.set_grad_enabled(outside):
            with make():
                assert on() is inside
            assert on() is outside


@each_setting
def test_restored_after_an_exception(make: Any, inside: bool) -> None:
    for outside in (True, False):
        with tt.set_grad_enabled(outside):
            with pytest.raises(ZeroDivisionError), make():
                raise ZeroDivisionError
            assert on() is outside


@each_setting
def test_as_decorator(make: Any, inside: bool) -> None:
    @make()
    def function(a: int, *, b: int = 2) -> tuple:
        """Its text."""
        return on(), a, b

    for outside in (True, False):
        with tt.set_grad_enabled(outside):
            assert function(1, b=3) == (inside, 1, 3)
            assert on() is outside
    assert function.__name__ == "function" and function.__doc__ == "Its text."


@each_setting
def test_decorated_functions_may_recurse_and_fail(make: Any, inside: bool) -> None:
    @make()
    def function(n: int) -> int:
        assert on() is inside
        return 1 // n if n <= 0 else function(n - 1)

    with pytest.raises(ZeroDivisionError):
        function(3)
    assert on()


@pytest.mark.parametrize("setting", [tt.no_grad, tt.enable_grad, tt.inference_mode])
def test_decorator_without_parentheses(setting: Any) -> None:
    @setting
    def function(a: int) -> tuple:
        return a, on()

    assert function(5) == (5, setting is tt.enable_grad)
    assert function.__name__ == "function"


def test_methods_can_be_decorated() -> None:
    class Model:
        @tt.no_grad()
        def predict(self, a: Any) -> Any:
            return a * 2

    assert not Model().predict(x()).requires_grad


@each_setting
def test_generators_run_in_the_mode_and_their_callers_do_not(make: Any, inside: bool) -> None:
    @make()
    def numbers() -> Iterator[Any]:
        seen = []
        for i in range(3):
            seen.append(on())
            sent = yield i
            seen.append((sent, on()))
        return seen

    outside = not inside
    with tt.set_grad_enabled(outside):
        steps = numbers()
        assert next(steps) == 0 and on() is outside
        assert steps.send("a") == 1 and on() is outside
        assert next(steps) == 2 and on() is outside
        with pytest.raises(StopIteration) as stop:
            steps.send("b")
    assert stop.value.value == [
        inside, ("a", inside), inside, (None, inside), inside, ("b", inside)
    ]  # fmt: skip


def test_generators_can_be_closed_and_thrown_into() -> None:
    log: list = []

    @tt.no_grad()
    def numbers() -> Iterator[int]:
        try:
            for i in range(5):
                try:
                    yield i
                except KeyError:
                    log.append(("caught", on()))
        finally:
            log.append(("closed", on()))

    steps = numbers()
    next(steps)
    assert steps.throw(KeyError("k")) == 1  # type: ignore[attr-defined]
    steps.close()  # type: ignore[attr-defined]
    assert log == [("caught", False), ("closed", False)] and on()
    steps = numbers()
    next(steps)
    with pytest.raises(ValueError):
        steps.throw(ValueError("not handled"))  # type: ignore[attr-defined]
    assert on()


def test_one_object_may_be_nested_in_itself() -> None:
    setting = tt.no_grad()
    with setting:
        with tt.enable_grad(), setting:
            assert not on()
        assert not on()
    assert on()


def test_set_grad_enabled_as_a_function() -> None:
    tt.set_grad_enabled(False)
    assert not on()
    tt.set_grad_enabled(True)
    assert on()


def test_set_grad_enabled_as_decorator_changes_nothing_at_once() -> None:
    @tt.set_grad_enabled(False)
    def function() -> bool:
        return on()

    assert on() and not function() and on()


def test_inference_mode() -> None:
    with tt.inference_mode():
        assert is_inference_mode_enabled() and not (x() * 2).requires_grad
        with tt.inference_mode(False):
            assert not is_inference_mode_enabled() and (x() * 2).requires_grad
        assert is_inference_mode_enabled()


def test_anomaly_switches() -> None:
    with detect_anomaly():
        assert is_anomaly_enabled()
        with detect_anomaly(check_nan=False):
            assert not is_anomaly_enabled()
    set_detect_anomaly(True)  # at once, as in PyTorch
    assert is_anomaly_enabled()
    set_detect_anomaly(False)
    with set_detect_anomaly(True):
        assert is_anomaly_enabled()
    assert not is_anomaly_enabled()


def test_scopes_nest_and_are_restored() -> None:
    with scope("model"):
        with pytest.raises(ZeroDivisionError), scope("layer"):
            a = x() * 2
            raise ZeroDivisionError
        b = x() * 2
    c = x() * 2
    assert [t.grad_fn.scope for t in (a, b, c)] == ["model.layer", "model", ""]


def test_many_blocks_leave_nothing_behind() -> None:
    from tinytensor.autograd.mode import state

    settings = [tt.no_grad() for _ in range(100)]
    for setting in settings:
        with setting:
            pass
    assert state.stacks == {}


# ------------------------------------------------------------------------------------------
# Inference tensors
# ------------------------------------------------------------------------------------------


def made(library: Any) -> dict[str, Any]:
    """What inference mode makes of constructors, ops, views and writes."""
    normal = library.ones(2, 3)
    with library.inference_mode():
        new = library.ones(2, 3)
        found = {
            "new": new,
            "tracked": library.ones(2, 3, requires_grad=True),
            "from data": library.tensor([1.0]),
            "op": normal * 2,
            "op of a new one": new * 2,
            "several outputs": normal.sort()[0],
            "view of a new one": new.view(-1),
            "view of a normal one": normal.view(-1),
            "written": normal.add_(1),
            "detached": new.detach(),
        }
        with library.inference_mode(False):
            found["in a block that is off"] = library.ones(2)
    return {
        **found,
        "later op": new * 2,
        "later view": new.view(-1),
        "view of a view": found["view of a new one"][:2],
        "later clone": new.clone(),
        "normal": normal,
    }


def test_which_tensors_are_inference_tensors() -> None:
    torch = pytest.importorskip("torch")
    mine, theirs = made(tt), made(torch)
    for name, tensor in theirs.items():
        assert mine[name].is_inference() == tensor.is_inference(), name
        assert tt.is_inference(mine[name]) == tensor.is_inference(), name
        if tensor.is_inference():
            assert not mine[name]._is_view()
            with pytest.raises(RuntimeError, match="_version"):
                _ = mine[name]._version


class Kept(tt.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        ctx.save_for_backward(b)
        return a * b

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g, None


def test_what_inference_tensors_refuse() -> None:
    s = x()
    with tt.inference_mode():
        c, tracked = tt.ones_like(s), tt.ones_like(s).requires_grad_()
        used = tt.ones_like(s)
        used.add_(1).mul_(2)  # fine here
    for call in (
        lambda: c * s,
        lambda: s.clone().mul_(c),
        lambda: Kept.apply(s, c),
        lambda: c.view(-1)[0] * s,
        lambda: used * s,
    ):
        with pytest.raises(RuntimeError, match="cannot be saved for backward"):
            call()
    for write in (
        lambda: c.add_(2),
        lambda: c.zero_(),
        lambda: c.view(-1).mul_(2),
        lambda: c.unsqueeze_(0),
        lambda: tt.mul(s.detach(), 2, out=c),
        lambda: c.requires_grad_(),
    ):
        with pytest.raises(RuntimeError, match=r"outside of inference_mode\(\)"):
            write()
    (c + s).sum().backward()  # add saves nothing
    (tracked + 1).sum().backward()
    np.testing.assert_array_equal(tracked.grad.numpy(), np.ones_like(tracked.detach().numpy()))
    (c.clone() * s).sum().backward()
    with tt.inference_mode():
        c.add_(1)


def test_a_write_in_inference_mode_counts() -> None:
    a = x().clone()
    y = (a * a).sum()
    with tt.inference_mode():
        a.add_(2)
    with pytest.raises(RuntimeError, match="changed in place"):
        y.backward()
