"""Forward mode: tangents of ops, views and writes, compared with PyTorch's."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
import tinytensor.autograd.forward_ad as fw
from tinytensor.autograd import Function, grad, op
from tinytensor.utils.checkpoint import checkpoint

F = tt.nn.functional
FUNCTIONS = {
    "arithmetic": lambda T, x, y: x * y + x.exp() / y - 2,
    "softmax": lambda T, x, y: (x @ y.T).softmax(-1),
    "log_softmax and gather": lambda T, x, y: x.log_softmax(1).gather(1, T.tensor([[0], [2], [1]])),
    "one argument twice": lambda T, x, y: x * x,
    "an argument of an argument": lambda T, x, y: (lambda u: u * x + u)(x * y),
    "several outputs": lambda T, x, y: (*x.sort(0), *T.var_mean(x, 0), *x.max(1)),
    "views": lambda T, x, y: (x.T[1:], x.reshape(-1)[::2], *x.unbind(0), x.expand(2, 3, 4)),
    "a reshape that copies": lambda T, x, y: x.T.reshape(-1),
    "joined": lambda T, x, y: (T.stack([x, y]), T.cat([x, x * y], 1)),
    "no derivative": lambda T, x, y: (T.round(x), x > 0, x.argmax(1)),
    "dtype": lambda T, x, y: (x.float(), x.double(), x.half().float()),
    "where": lambda T, x, y: T.where(x > 0.5, x, y),
    "reductions": lambda T, x, y: (x.sum(), x.mean(1), x.prod(1), x.norm(), x.logsumexp(0)),
    "scans": lambda T, x, y: (x.cumsum(0), x.cumprod(1)),
    "einsum": lambda T, x, y: T.einsum("ij,kj->ik", x, y),
    "determinant": lambda T, x, y: T.linalg.det(x @ y.T),
    "singular values": lambda T, x, y: T.linalg.svd(x @ y.T)[1],
    "eigenvalues": lambda T, x, y: T.linalg.eigh(x @ x.T)[0],
    "LU": lambda T, x, y: T.linalg.lu_factor(x @ x.T)[0],
    "layer norm": lambda T, x, y: T.nn.functional.layer_norm(x, (4,)),
    "attention": lambda T, x, y: T.nn.functional.scaled_dot_product_attention(*[x[None]] * 3),
    "convolution": lambda T, x, y: T.nn.functional.conv1d(x[None], y[:, :3].reshape(1, 3, 3)),
    "complex": lambda T, x, y: (T.fft.fft(x).abs(), T.polar(x, y).real, T.polar(x, y) * 1j),
    "in place": lambda T, x, y: (x.clone().mul_(y), x.clone().t_(), y.clone().unsqueeze_(0)),
    "filled": lambda T, x, y: (x.clone().zero_(), x.clone().fill_(2.0), x.clone().fill_(y[0, 0])),
    "new memory": lambda T, x, y: _written(T.ones(3, 4, dtype=x.dtype), x),
    "detached": lambda T, x, y: (x.detach() * 2, x.data, x * y.detach(), x.clone().detach_() * 2),
}  # fmt: skip


DEPRECATED = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # PyTorch's own


def _written(new: Any, x: Any) -> tuple:
    view = new.T
    new[0] = x[1]
    view[1:] += x.T[1:]
    return new, view


def values(seed: int, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.uniform(0.1, 0.9, (3, 4)).astype(dtype), rng.normal(size=(3, 4)).astype(dtype)


def tangents(library: Any, forward: Any, function: Any, dtype: str) -> list:
    with forward.dual_level():
        pairs = [map(library.tensor, values(seed, dtype)) for seed in (0, 1)]
        out = function(library, *(forward.make_dual(x, t) for x, t in pairs))
        found = [
            forward.unpack_dual(y).tangent for y in (out if isinstance(out, tuple) else (out,))
        ]
        return [None if t is None else t.detach().numpy() for t in found]


def test_outside_a_level_ops_are_the_usual_ones() -> None:
    usual = [*op._wrappers]  # not empty if another test made a 16-bit tensor
    with fw.dual_level():
        assert op._wrappers == [*usual, fw.apply]
    assert op._wrappers == usual
    apply = tt.autograd.Op.apply.__func__  # type: ignore[attr-defined]
    assert (apply is op._plain) == (not usual)


@DEPRECATED
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_tangents_are_those_of_pytorch(name: str, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    import torch.autograd.forward_ad as theirs

    expected = tangents(torch, theirs, FUNCTIONS[name], dtype)
    found = tangents(tt, fw, FUNCTIONS[name], dtype)
    assert len(found) == len(expected)
    for mine, other in zip(found, expected):
        assert (mine is None) == (other is None)
        if other is not None:
            assert mine.dtype == other.dtype
            tolerance = 2e-3 if name in ("dtype", "LU") else 1e-4 if dtype == "float32" else 1e-9
            np.testing.assert_allclose(mine, other, rtol=tolerance, atol=tolerance)


@DEPRECATED
@pytest.mark.parametrize("tracked", ["x", "t", "both"])
def test_a_tangent_can_be_differentiated(tracked: str) -> None:
    torch = pytest.importorskip("torch")
    import torch.autograd.forward_ad as theirs

    found = []
    for library, forward in ((tt, fw), (torch, theirs)):
        x, t = map(library.tensor, values(0, "float64"))
        for leaf, name in ((x, "x"), (t, "t")):
            leaf.requires_grad_(tracked in (name, "both"))
        with forward.dual_level():
            y = (forward.make_dual(x, t) ** 3).sin().sum(0)
            primal, tangent = forward.unpack_dual(y)
            leaves = [v for v in (x, t) if v.requires_grad]
            assert primal.requires_grad == x.requires_grad and tangent.requires_grad
            found.append([g.numpy() for g in library.autograd.grad(tangent.sum(), leaves)])
    np.testing.assert_allclose(found[0][0], found[1][0])
    np.testing.assert_allclose(found[0][-1], found[1][-1])


def test_no_grad_keeps_tangents_and_records_nothing() -> None:
    x = tt.ones(2, requires_grad=True)
    with fw.dual_level():
        dual = fw.make_dual(x, tt.ones(2))
        with tt.no_grad():
            y = dual * 3
        tangent = fw.unpack_dual(y).tangent
        assert not y.requires_grad and not tangent.requires_grad
        np.testing.assert_array_equal(tangent.numpy(), [3, 3])
        (dual * dual).sum().backward()  # backward goes on as ever
        np.testing.assert_array_equal(x.grad.numpy(), [2, 2])


def test_dropout_uses_the_same_mask() -> None:
    with fw.dual_level():
        x = tt.rand(100) + 1
        y = F.dropout(fw.make_dual(x, x.clone()), 0.5)
        np.testing.assert_allclose(fw.unpack_dual(y).tangent.numpy(), y.numpy())


def test_a_checkpoint_passes_tangents_on() -> None:
    x = tt.rand(3, dtype=tt.float64, requires_grad=True)
    with fw.dual_level():
        dual = fw.make_dual(x, tt.ones(3, dtype=tt.float64))
        y = checkpoint(lambda v: v.sin() * 2, dual, use_reentrant=False)
        np.testing.assert_allclose(
            fw.unpack_dual(y).tangent.detach().numpy(), 2 * np.cos(x.detach().numpy())
        )


def test_bfloat16_in_a_level() -> None:
    with fw.dual_level():
        x = tt.ones(3).bfloat16()
        y = fw.make_dual(x, tt.ones(3).bfloat16()) * 3
        assert fw.unpack_dual(y).tangent.dtype == tt.bfloat16
    with fw.dual_level():
        y = fw.make_dual(tt.ones(3), tt.ones(3)).exp()
        assert fw.unpack_dual(y).tangent is not None
    assert fw.unpack_dual(tt.ones(1) + 1).tangent is None


ORDERS = """
import tinytensor as tt
from tinytensor.autograd import forward_ad as fw

def is_dual(dtype):
    dual = fw.make_dual(tt.ones(3, dtype=dtype), tt.ones(3, dtype=dtype))
    return fw.unpack_dual(dual * 3).tangent is not None

first, second, inside = {order}
tt.ones(1).to(first)
with fw.dual_level():
    if inside:
        tt.ones(1).to(second)
    assert is_dual(tt.float32) and is_dual(first) and is_dual(second)
with fw.dual_level():
    assert is_dual(tt.float32) and is_dual(first) and is_dual(second)
"""


@pytest.mark.parametrize("first", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("inside", [True, False])
def test_levels_and_the_first_tensor_of_a_16_bit_dtype(first: str, inside: bool) -> None:
    """Both wrap `Op.apply`; neither may take the other's wrapper away."""
    second = "float16" if first == "bfloat16" else "bfloat16"
    program = ORDERS.format(order=f"tt.{first}, tt.{second}, {inside}")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_level_keeps_nothing_alive_and_forgets() -> None:
    gc.disable()
    try:
        with fw.dual_level() as level:
            assert level == 0
            x, tangent = tt.ones(2), tt.ones(2)
            dual = fw.make_dual(x, tangent)
            assert fw.unpack_dual(dual).tangent is tangent
            assert "tangent=tensor([1., 1.])" in repr(dual)
            assert fw.unpack_dual(x).tangent is None
            alive = weakref.ref(tangent)
            del tangent
            assert alive() is not None
            other = dual
            del dual, other
            assert alive() is None
            last = fw.make_dual(x, tt.ones(2))
        assert fw.unpack_dual(last).tangent is None and "tangent" not in repr(last)
    finally:
        gc.enable()


def test_a_write_into_a_dual_changes_its_tangent_in_place() -> None:
    x, t = tt.ones(3), tt.ones(3)
    with fw.dual_level():
        dual = fw.make_dual(x, t)
        part = dual[1:]
        part *= 2
        np.testing.assert_array_equal(t.numpy(), [1, 2, 2])
        assert fw.unpack_dual(x).tangent is None
        base = tt.zeros(3, 2)
        column = base[:, 0]  # made before its base has a tangent
        base[:2].add_(fw.make_dual(tt.ones(2, 2), tt.ones(2, 2)))
        np.testing.assert_array_equal(fw.unpack_dual(column).tangent.numpy(), [1, 1, 0])


def test_a_tangent_of_another_layout_is_copied() -> None:
    with fw.dual_level():
        x, t = tt.ones(2, 3).T, tt.ones(3, 2)
        copy = fw.unpack_dual(fw.make_dual(x, t)).tangent
        assert copy is not t and copy.stride() == x.stride()
        copy.mul_(2)
        np.testing.assert_array_equal(t.numpy(), np.ones((3, 2)))


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x, d: fw.make_dual(x, tt.ones(3)), RuntimeError),
        (lambda x, d: fw.make_dual(x, tt.ones(2, dtype=tt.int64)), ValueError),
        (lambda x, d: fw.make_dual(x.long(), x), ValueError),
        (lambda x, d: fw.make_dual(x, 1.0), TypeError),
        (lambda x, d: fw.make_dual(d, x), RuntimeError),
        (lambda x, d: fw.make_dual(x, d), RuntimeError),
        (lambda x, d: fw.make_dual(x, x, level=1), RuntimeError),
        (lambda x, d: fw.enter_dual_level(), RuntimeError),
        (lambda x, d: fw.exit_dual_level(level=1), RuntimeError),
        (lambda x, d: tt.add(d, d, out=x), RuntimeError),
        (lambda x, d: tt.add(x, x, out=d), RuntimeError),
    ],
)
def test_what_is_refused(call: Any, error: type[Exception]) -> None:
    x = tt.ones(2)
    with fw.dual_level(), pytest.raises(error):
        call(x, fw.make_dual(x, tt.ones(2)))
    with pytest.raises(RuntimeError, match="no level is open"):
        fw.make_dual(x, x)
    with pytest.raises(RuntimeError, match="exit_dual_level"):
        fw.exit_dual_level()


# ------------------------------------------------------------------------------------------
# Functions
# ------------------------------------------------------------------------------------------


class Scaled(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, n: int, y: Any) -> Any:
        ctx.save_for_forward(x, y)
        ctx.n = n
        return n * x * y, x.detach() > 0

    @staticmethod
    def backward(ctx: Any, g: Any, _: Any) -> Any:
        return g, None, None

    @staticmethod
    def jvp(ctx: Any, dx: Any, dn: Any, dy: Any) -> Any:
        assert dn is None
        x, y = ctx.saved_tensors
        return ctx.n * (dx * y + x * dy), None


def test_a_function_with_a_jvp() -> None:
    x, y = tt.tensor(2.0), tt.tensor(5.0)
    with fw.dual_level():
        out, flag = Scaled.apply(fw.make_dual(x, tt.tensor(1.0)), 3, y)
        assert fw.unpack_dual(out).tangent.item() == 15
        assert fw.unpack_dual(flag).tangent is None
        out, _ = Scaled.apply(fw.make_dual(x, tt.tensor(1.0)), 3, fw.make_dual(y, tt.tensor(1.0)))
        assert fw.unpack_dual(out).tangent.item() == 21


def function(forward: Any, jvp: Any) -> Any:
    members = {"forward": staticmethod(forward), "jvp": staticmethod(jvp)}
    return type("Written", (Function,), members)


def in_place(ctx: Any, x: Any) -> Any:
    ctx.mark_dirty(x)
    return x.mul_(2)


@pytest.mark.parametrize(
    ("forward", "good", "bad"),
    [
        (in_place, lambda ctx, t: t.mul_(2), lambda ctx, t: t * 2),
        (in_place, lambda ctx, t: t.mul_(2), lambda ctx, t: t),
        (lambda ctx, x: x[:1], lambda ctx, t: t[:1], lambda ctx, t: t[:1].clone()),
        (lambda ctx, x: x, lambda ctx, t: t.view_as(t), lambda ctx, t: t),
        (lambda ctx, x: x * 2, lambda ctx, t: t * 2, lambda ctx, t: (t, t)),
        (lambda ctx, x: x * 2, lambda ctx, t: t * 2, lambda ctx, t: t[:1]),
    ],
)
def test_the_tangents_a_jvp_may_return(forward: Any, good: Any, bad: Any) -> None:
    for jvp in (good, bad):
        x = tt.ones(2)
        with fw.dual_level():
            dual = fw.make_dual(x, tt.ones(2))
            if jvp is bad:
                with pytest.raises(RuntimeError, match="Written: (jvp|forward)"):
                    function(forward, jvp).apply(dual)
            else:
                out = function(forward, jvp).apply(dual)
                assert fw.unpack_dual(out).tangent is not None


def test_a_function_without_a_jvp_is_refused() -> None:
    class Plain(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

    with fw.dual_level(), pytest.raises(NotImplementedError, match="jvp is not implemented"):
        Plain.apply(fw.make_dual(tt.ones(1), tt.ones(1)))


def test_forward_over_reverse() -> None:
    """A Hessian-vector product: the tangent of a gradient."""
    x, v = tt.tensor([1.0, 2.0], dtype=tt.float64), tt.tensor([1.0, -1.0], dtype=tt.float64)
    x.requires_grad_()
    with fw.dual_level():
        dual = fw.make_dual(x, v)
        (g,) = grad((dual**3).sum(), dual, create_graph=True)
        np.testing.assert_allclose(
            fw.unpack_dual(g).tangent.detach().numpy(), 6 * x.detach().numpy() * v.numpy()
        )


def test_forward_mode_in_inference_mode() -> None:
    with tt.inference_mode(), fw.dual_level():
        x = tt.tensor([1.0, 2.0])
        dual = fw.make_dual(x, tt.ones(2))
        y = dual.exp() * dual
        np.testing.assert_allclose(
            fw.unpack_dual(y).tangent.numpy(), np.exp([1, 2]) * np.array([2, 3]), rtol=1e-6
        )
        assert y.is_inference() and not dual._is_view()
        dual += 1
        np.testing.assert_array_equal(x.numpy(), [2, 3])
