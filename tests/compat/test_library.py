"""torch.library: ops of one's own; torch.export, which says that it does not exist."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tinytensor.export
import tinytensor.library

import tinytensor as tt


def make(lib: Any, name: str) -> Any:
    """x·factor + 1 as an op of that library, with a gradient."""

    def scale(x: Any, factor: float = 2.0) -> Any:
        return x.detach() * factor + 1

    scale.__annotations__ = {"x": lib.Tensor, "factor": float, "return": lib.Tensor}
    op = lib.library.custom_op(name, scale, mutates_args=())

    def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
        ctx.factor = inputs[1]
        ctx.save_for_backward(inputs[0])

    def backward(ctx: Any, g: Any) -> Any:
        assert ctx.saved_tensors[0].shape == g.shape
        return g * ctx.factor, None

    op.register_autograd(backward, setup_context=setup_context)
    op.register_fake(lambda x, factor=2.0: lib.empty_like(x))
    return op


def test_as_pytorch() -> None:
    torch = pytest.importorskip("torch")
    for lib, results in ((tt, []), (torch, [])):
        op = make(lib, "names6test::scale")
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        y = op(x, factor=3.0)
        y.sum().backward()
        results += [y.detach().numpy(), x.grad.numpy(), op(x).detach().numpy()]
        results.append(lib.ops.names6test.scale(x, 5.0).detach().numpy())
        if lib is tt:
            mine = results
    assert all(np.array_equal(a, b) for a, b in zip(mine, results, strict=True))


def test_second_derivative() -> None:
    @tt.library.custom_op("names6test::cube", mutates_args=())
    def cube(x: tt.Tensor) -> tt.Tensor:
        return x**3

    cube.register_autograd(
        lambda ctx, g: 3 * g * ctx.saved_tensors[0] ** 2,
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )
    x = tt.tensor([2.0], dtype=tt.float64, requires_grad=True)
    assert tt.autograd.gradcheck(cube, (x,)) and tt.autograd.gradgradcheck(cube, (x,))


def test_without_a_gradient() -> None:
    @tt.library.custom_op("names6test::plain", mutates_args=())
    def plain(x: tt.Tensor) -> tt.Tensor:
        return x * 2

    assert plain(tt.ones(2)).tolist() == [2, 2]
    y = plain(tt.ones(2, requires_grad=True))
    with pytest.raises(RuntimeError, match="names6test::plain has no gradient"):
        y.sum().backward()
    assert "names6test::plain" in repr(plain) and plain.__name__ == "plain"


def test_kernels_names_and_libraries() -> None:
    library = tt.library.Library("names6other", "DEF")
    assert library.define("add_one(Tensor x) -> Tensor") == "add_one"
    library.impl("add_one", lambda x: x + 1, "CPU")
    assert tt.ops.names6other.add_one(tt.ones(1)).tolist() == [2]
    tt.library.register_kernel("names6other::add_one", "cpu", lambda x: x + 10)
    assert tt.ops.names6other.add_one(tt.ones(1)).tolist() == [11]
    tt.library.register_autograd("names6other::add_one", lambda ctx, g: g)
    x = tt.ones(1, requires_grad=True)
    tt.ops.names6other.add_one(x).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [1]
    tt.library.define("names6other::later", "(Tensor x) -> Tensor")

    @tt.library.impl("names6other::later", "default")
    def later(x: tt.Tensor) -> tt.Tensor:
        return -x

    tt.library.register_fake("names6other::later")(lambda x: x)
    assert tt.library.opcheck("names6other::later", (tt.ones(1),)) == {"test_schema": "SUCCESS"}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tt.library.custom_op("noname", lambda x: x, mutates_args=()), "namespace::name"),
        (lambda: tt.library.custom_op("shape::x", lambda x: x, mutates_args=()), "taken"),
        (lambda: tt.library.register_fake("no::op", lambda x: x), "the name of one"),
        (lambda: tt.library.impl("no::op", "cpu", lambda x: x), "call library.define"),
    ],
)
def test_refused(call: Any, message: str) -> None:
    with pytest.raises((ValueError, RuntimeError), match=message):
        call()


@pytest.mark.parametrize("name", ["export", "save", "load", "export_for_training"])
def test_export_says_so(name: str) -> None:
    args = (None,) if name == "load" else (None, ())
    with pytest.raises(NotImplementedError, match=rf"^export.{name}: "):
        getattr(tt.export, name)(*args)
    assert tt.export.Dim("batch", min=1).__name__ == "batch"
