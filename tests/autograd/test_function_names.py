"""PyTorch's other forms of a Function, and its switches, compared with PyTorch."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import tinytensor as tt
from tinytensor.autograd import functional

from ..both import assert_same_in_both


def gradients_in_a_list(torch: Any, F: Any, make: Any) -> list:
    kinds = []

    class Two(torch.autograd.Function):
        boxed_grads_call = True

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2, x * 3

        @staticmethod
        def backward(ctx: Any, grads: Any) -> Any:
            kinds.append(type(grads))
            return grads[0] * 2 + grads[1] * 3

    x = make.leaf(3)
    a, b = Two.apply(x)
    (a.sum() + (b * b).sum()).backward()
    return [x.grad, kinds == [list]]


def vjp_for_backward(torch: Any, F: Any, make: Any) -> list:
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def vjp(ctx: Any, g: Any) -> Any:
            return g * 2

    x = make.leaf(3)
    y = Twice.apply(x)
    y.sum().backward()
    return [x.grad, y.grad_fn.name(), type(y.grad_fn).__name__]


def the_same_output_twice(torch: Any, F: Any, make: Any) -> list:
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x * 2
            return y, y

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            return g * 2 + h * 2

    class InPlace(torch.autograd.function.InplaceFunction):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            x.mul_(2)
            ctx.mark_dirty(x)
            return x, x

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            return g * 2 + h * 2

    x = make.leaf(3)
    a, b = Twice.apply(x)
    (a * b).sum().backward()
    c, d = InPlace.apply(x.clone())
    (c * d).sum().backward()
    return [a is b, c is d, x.grad, a._version, c._version, a.output_nr, c.output_nr]


def no_zeros_for_constants(torch: Any, F: Any, make: Any) -> list:
    seen = []

    class One(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y, constant = x.clone(), x.clone()
            ctx.mark_non_differentiable(constant)
            ctx._materialize_non_diff_grads = False
            return y, constant

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            seen.append(h is None)
            return g

    x = make.leaf(3)
    One.apply(x)[0].sum().backward()
    return [seen, x.grad]


def numpy_without_gradients(torch: Any, F: Any, make: Any) -> list:
    with torch.no_grad():
        return [make.leaf(3).numpy().tolist() == make.leaf(3).numpy().tolist()]


def threads_of_the_engine(torch: Any, F: Any, make: Any) -> list:
    ask, switch = (
        torch.autograd.is_multithreading_enabled,
        torch.autograd.set_multithreading_enabled,
    )
    found = [ask()]
    with switch(False):
        found.append(ask())
    found.append(ask())
    switch(False)
    found.append(ask())
    switch(True)
    return [*found, ask()]


PROGRAMS = [
    gradients_in_a_list,
    vjp_for_backward,
    the_same_output_twice,
    no_zeros_for_constants,
    numpy_without_gradients,
    threads_of_the_engine,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_program(program: Any) -> None:
    assert_same_in_both(program)


def function(**members: Any) -> Any:
    members = {n: staticmethod(m) if callable(m) else m for n, m in members.items()}
    return type("Mine", (tt.autograd.Function,), members)


def test_one_rule_is_needed() -> None:
    x = tt.ones(2, requires_grad=True)
    forward, rule = lambda ctx, x: x * 2, lambda ctx, g: g * 2
    with pytest.raises(RuntimeError, match="Mine: defines neither of backward and vjp"):
        function(forward=forward).apply(x).sum().backward()
    with pytest.raises(RuntimeError, match="Mine: defines both of backward and vjp"):
        function(forward=forward, backward=rule, vjp=rule).apply(x).sum().backward()


def test_saved_tensors_read_once_and_by_their_old_name() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * 2

    def twice(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0] * ctx.saved_tensors[0]

    def old(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_variables[0]

    x = tt.ones(2, requires_grad=True)
    once = function(forward=forward, backward=twice, clear_saved_tensors_on_access=True)
    with pytest.raises(RuntimeError, match="can only be accessed once"):
        once.apply(x).sum().backward()
    with pytest.warns(DeprecationWarning, match="use saved_tensors"):
        function(forward=forward, backward=old).apply(x).sum().backward()


def test_a_decorated_class() -> None:
    with pytest.warns(FutureWarning, match="decorating classes is deprecated"):

        @tt.no_grad()
        class Thing:
            def __init__(self) -> None:
                self.grad = tt.is_grad_enabled()

            def method(self) -> bool:
                return tt.is_grad_enabled()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        thing = Thing()
    assert not thing.grad and thing.method()


@pytest.mark.parametrize("name", ["vjp", "jvp", "jacobian"])
def test_strict_refuses_constant_derivatives(name: str) -> None:
    x = tt.ones(2, requires_grad=True)
    arguments = (x,) if name == "jacobian" else (x, tt.ones(2))
    call = getattr(functional, name)
    with pytest.raises(RuntimeError, match=f"{name}: derivative 0 does not depend on the inputs"):
        call(lambda a: a.clone(), *arguments, create_graph=True, strict=True)
    call(lambda a: a * a, *arguments, create_graph=True, strict=True)
    call(lambda a: a.clone(), *arguments, create_graph=True)


def test_strict_and_vectorize() -> None:
    with pytest.raises(RuntimeError, match="not supported together"):
        functional.jacobian(lambda a: a, tt.ones(2), strict=True, vectorize=True)
    with pytest.raises(RuntimeError, match="not supported together"):
        functional.hessian(lambda a: a.sum(), tt.ones(2), strict=True, vectorize=True)


def test_backward_by_hand() -> None:
    class Two(tt.autograd.Function):
        boxed_grads_call = True

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2, x * 3

        @staticmethod
        def backward(ctx: Any, grads: Any) -> Any:
            assert type(grads) is list
            return grads[0] * 2 + grads[1] * 3

    a, _ = Two.apply(tt.ones(2, requires_grad=True))
    assert a.grad_fn.apply(tt.ones(2), 2 * tt.ones(2)).tolist() == [8, 8]
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        Two()


def test_a_function_may_not_write_into_a_view_of_a_leaf() -> None:
    class AddOne(tt.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            return x.add_(1)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    x = tt.ones(2, requires_grad=True)
    for argument in (x, x[:1]):
        with pytest.raises(RuntimeError, match="AddOne: a (view of a )?leaf"):
            AddOne.apply(argument)
