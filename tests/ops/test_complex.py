"""Complex tensors: dtypes, promotion, printing, views of the parts, refusals, gradients.

Values and gradients of single ops are in rows_complex.py. A NumPy ComplexWarning, which would mean
a lost imaginary part, is an error here.
"""

from __future__ import annotations

import copy
import io
import itertools
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from nn import functional as F
from tinytensor.autograd import gradcheck, gradgradcheck

pytestmark = pytest.mark.filterwarnings("error::numpy.exceptions.ComplexWarning")

torch = pytest.importorskip("torch")

Z = [1 + 2j, -0.5 + 0.25j, 3 - 1j]


def both(function: Callable, *arrays: Any) -> tuple:
    """function(library, *tensors) and the gradients of its real sum, in both libraries."""
    results = []
    for library in (tt, torch):
        inputs = [library.tensor(np.asarray(a), requires_grad=True) for a in arrays]
        y = function(library, *inputs)
        loss = (y * y.conj()).real.sum() if y.is_complex() else (y * y).sum()
        grads = library.autograd.grad(loss, inputs)
        results.append([x.detach().resolve_conj().numpy() for x in (y, *grads)])
    return tuple(results)


def check(function: Callable, *arrays: Any, rtol: float = 1e-10) -> None:
    ours, theirs = both(function, *arrays)
    for a, b in zip(ours, theirs, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)


def random(*shape: int, seed: int = 0, dtype: Any = np.complex128) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)


# ------------------------------------------------------------------------------------------
# Dtypes and creation
# ------------------------------------------------------------------------------------------

NAMES = ["bool", "uint8", "int32", "int64", "float32", "float64", "complex64", "complex128"]


@pytest.mark.parametrize("shapes", [((2,), (2,)), ((2,), ()), ((), (2,)), ((), ())])
def test_promotion_of_two_tensors(shapes: tuple) -> None:
    for a, b in itertools.product(NAMES, NAMES):
        results = []
        for library in (tt, torch):
            x = library.ones(shapes[0], dtype=getattr(library, a))
            y = library.ones(shapes[1], dtype=getattr(library, b))
            results.append((str((x + y).dtype), str(library.result_type(x, y))))
        assert [r.split(".")[1] for r in results[0]] == [r.split(".")[1] for r in results[1]]


@pytest.mark.parametrize("number", [True, 2, 0.5, 1j])
def test_promotion_with_a_number(number: Any) -> None:
    for name, function in itertools.product(NAMES, ("add", "mul", "div", "pow")):
        results = []
        for library in (tt, torch):
            x = library.ones(2, dtype=getattr(library, name))
            y = getattr(library, function)(x, number)
            results.append((str(y.dtype).split(".")[1], y.tolist()))
        assert results[0] == results[1], (name, function)


def test_dtype_objects() -> None:
    assert tt.cfloat is tt.complex64 and tt.cdouble is tt.complex128
    assert tt.complex64.is_complex and not tt.complex64.is_floating_point
    assert tt.complex64.itemsize == 8 and tt.complex64.is_signed
    assert tt.complex128.to_real() == tt.float64 and tt.float32.to_complex() == tt.complex64
    assert tt.promote_types(tt.float64, tt.complex64) == tt.complex128
    assert tt.can_cast(tt.float64, tt.complex64) and not tt.can_cast(tt.complex64, tt.float64)
    assert tt.finfo(tt.complex64).eps == tt.finfo(tt.float32).eps
    assert pickle.loads(pickle.dumps(tt.complex64)) is tt.complex64


def test_creation() -> None:
    assert tt.tensor(1 + 2j).dtype == tt.complex64 and tt.tensor([1, 2j]).dtype == tt.complex64
    assert tt.tensor([1.5, 2j], dtype=tt.complex128).tolist() == [1.5, 2j]
    assert tt.full((2,), 1j).tolist() == [1j, 1j]
    assert tt.zeros(2, dtype=tt.cfloat).dtype == tt.complex64
    assert tt.eye(2, dtype=tt.cdouble)[0, 0].item() == 1 + 0j
    assert tt.linspace(0, 1, 3, dtype=tt.complex64).tolist() == [0, 0.5, 1]
    tt.manual_seed(0)
    x = tt.randn(20000, dtype=tt.complex64)
    assert x.dtype == tt.complex64
    assert abs(x.abs().square().mean().item() - 1) < 0.05  # the two parts share the variance
    assert abs(x.real.var().item() - 0.5) < 0.02 and abs((x * x).mean().item()) < 0.05
    u = tt.empty(1000, dtype=tt.complex128).uniform_(2, 3)
    for part in (u.real, u.imag, tt.rand(9, dtype=tt.complex64).real + 2):
        assert ((part >= 2) & (part < 3)).all()
    before = tt.get_default_dtype()
    try:
        tt.set_default_dtype(tt.float64)
        assert tt.tensor(1j).dtype == tt.complex128 == (tt.ones(2) * 1j).dtype
    finally:
        tt.set_default_dtype(before)


def test_python_numbers() -> None:
    x = tt.tensor(1 + 2j)
    assert x.item() == 1 + 2j == complex(x) and bool(x) and f"{x:.1f}" == "1.0+2.0j"
    assert float(tt.tensor(2 + 0j)) == 2.0 and int(tt.tensor(2 + 0j)) == 2
    with pytest.raises(RuntimeError, match=r"float: got \(1\+2j\), expected a real number"):
        float(x)
    assert x.tolist() == 1 + 2j and x.type() == "torch.ComplexFloatTensor"


@pytest.mark.parametrize(
    "values",
    [
        Z,
        [1 + 2j, 3 - 1j],
        [1e6 + 1j, 1e-5j],
        [[0j, 1 + 1j], [-2j, 10 - 0.5j]],
        1.5 - 2j,
        [complex(np.nan, 1), complex(1, np.inf)],
        list(np.arange(20) * (1 - 0.5j)),
        np.arange(2000) * 1j,
    ],
)
def test_printed_as_by_pytorch(values: Any) -> None:
    for dtype in (np.complex64, np.complex128):
        array = np.asarray(values, dtype)
        expected = repr(torch.tensor(array)).replace("torch.", "tinytensor.")
        assert repr(tt.tensor(array)) == expected
        assert "j" in tt.tensor(array)._repr_html_()


def test_saved_copied_and_exchanged() -> None:
    x = tt.tensor(Z, requires_grad=True)
    file = io.BytesIO()
    tt.save({"x": x}, file)
    file.seek(0)
    loaded = tt.load(file)["x"]
    for y in (loaded, pickle.loads(pickle.dumps(x)), copy.deepcopy(x), x.clone(), tt.asarray(x)):
        assert y.dtype == tt.complex64 and y.tolist() == x.tolist()
    assert tt.from_numpy(np.array(Z)).dtype == tt.complex128
    assert tt.from_dlpack(torch.tensor(Z)).tolist() == torch.tensor(Z).tolist()
    from_torch = io.BytesIO()
    torch.save({"w": torch.tensor(Z)}, from_torch)
    from_torch.seek(0)
    assert tt.load(from_torch)["w"].tolist() == torch.tensor(Z).tolist()


def test_conversions() -> None:
    x = tt.tensor([1.5, -2.0], requires_grad=True)
    y = x.to(tt.complex64)
    assert y.dtype == tt.complex64 and x.cdouble().dtype == tt.complex128
    (y * 1j).imag.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [1, 1]
    z = tt.tensor(Z, requires_grad=True)
    with pytest.warns(UserWarning, match="discards the imaginary part"):
        z.float().sum().backward()
    assert z.grad is not None and z.grad.tolist() == [1, 1, 1]
    assert tt.tensor([0j, 1j]).bool().tolist() == [False, True]


# ------------------------------------------------------------------------------------------
# Views of the parts, and writes
# ------------------------------------------------------------------------------------------


def test_parts_are_views() -> None:
    x = tt.tensor(Z)
    x.real[0] = 7
    x.imag.mul_(2)
    tt.view_as_real(x)[2, 0] = -1
    assert x.tolist() == [7 + 4j, -0.5 + 0.5j, -1 - 2j]
    x.imag = tt.zeros(3)
    x.real = 2.0
    assert x.tolist() == [2, 2, 2]
    pairs = tt.arange(6.0).reshape(3, 2)
    tt.view_as_complex(pairs).mul_(1j)
    assert pairs.tolist() == [[-1, 0], [-3, 2], [-5, 4]]
    assert tt.view_as_real(x)._base is x and x.real.stride() == (2,)


@pytest.mark.parametrize(
    "write",
    [
        lambda lib, x, v: x.real.mul_(v),
        lambda lib, x, v: x.imag.copy_(v * v),
        lambda lib, x, v: lib.view_as_real(x)[:, 0].add_(v),
        lambda lib, x, v: lib.view_as_real(x).mul_(v[:, None]),
        lambda lib, x, v: x.mul_(v * 2j),
        lambda lib, x, v: x[1:].copy_(v[1:]),
        lambda lib, x, v: x.__setitem__(0, v[0]),
        lambda lib, x, v: x.add_(v, alpha=1 + 1j),
    ],
)
def test_gradients_through_writes(write: Callable) -> None:
    def function(library: Any, z: Any, v: Any) -> Any:
        x = z * (1 + 1j)
        write(library, x, v)
        return x * z

    check(function, np.array(Z), np.array([0.5, -1.5, 2.0]))


def test_writes_that_are_refused() -> None:
    x = tt.zeros(2)
    for function in (
        lambda: x.fill_(1j),
        lambda: x.__setitem__(0, 1j),
        lambda: x.add_(1j),
        lambda: x.mul_(tt.tensor(1j)),
        lambda: tt.full((2,), 1j, dtype=tt.float32),
    ):
        with pytest.raises(RuntimeError, match="complex"):
            function()
    with pytest.warns(UserWarning, match="discards the imaginary part"):
        x.copy_(tt.tensor([1 + 1j, 2j]))
    assert x.tolist() == [1, 0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_view_as_complex(dtype: Any) -> None:
    pairs = np.random.default_rng(0).standard_normal((3, 4, 2)).astype(dtype)
    rtol = 1e-5 if dtype is np.float32 else 1e-10
    check(lambda lib, x: lib.view_as_complex(x) * (1 + 2j), pairs, rtol=rtol)
    check(lambda lib, x: lib.view_as_complex(x[1:, ::2]) * (1 + 2j), pairs, rtol=rtol)
    check(lambda lib, x: lib.view_as_complex(x.transpose(0, 1)).T, pairs, rtol=rtol)
    assert tt.view_as_complex(tt.zeros(0, 2)).shape == (0,)
    function = tt.view_as_complex
    assert gradcheck(function, tt.tensor(pairs.astype(np.float64), requires_grad=True))
    assert gradgradcheck(function, tt.tensor(pairs.astype(np.float64), requires_grad=True))


REFUSED: list[tuple[Callable, str]] = [
    (lambda: tt.view_as_complex(tt.zeros(3)), r"view_as_complex: got shape \(3,\)"),
    (lambda: tt.view_as_complex(tt.zeros(2, 3).T), "view_as_complex: got strides"),
    (lambda: tt.view_as_complex(tt.zeros(3, 3)[:, :2]), "view_as_complex: got strides"),
    (lambda: tt.view_as_complex(tt.zeros(2, dtype=tt.int64)), "got int64"),
    (lambda: tt.view_as_real(tt.zeros(2)), "view_as_real: got dtype float32"),
    (lambda: tt.zeros(2).imag, "imag: got dtype float32"),
    (lambda: tt.complex(tt.zeros(2), tt.zeros(2).double()), "complex: got dtypes"),
    (lambda: tt.polar(tt.zeros(2).half(), tt.zeros(2).half()), "polar: got dtypes"),
    (lambda: tt.tensor(Z, requires_grad=True).sum().backward(), "only for real scalar outputs"),
    (lambda: tt.tensor([1.0]).add(tt.tensor([1.0]), alpha=1j), "expected a real alpha"),
    (lambda: tt.arange(3, dtype=tt.complex64), "arange: got dtype complex64"),
]


@pytest.mark.parametrize(("call", "text"), REFUSED, ids=[text for _, text in REFUSED])
def test_wrong_arguments(call: Callable, text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        call()


# ------------------------------------------------------------------------------------------
# Gradients
# ------------------------------------------------------------------------------------------

COMPOSED: dict[str, Callable] = {
    "squared size": lambda lib, z: (z * z.conj()).real,
    "real times complex": lambda lib, z: z.real * z,
    "power of its size": lambda lib, z: z ** z.abs(),
    "angle and back": lambda lib, z: lib.polar(z.abs(), z.angle() * 2),
    "rotation": lambda lib, z: z * lib.exp(1j * z.real),
    "stacked": lambda lib, z: lib.stack([z.real, z.imag]).sum(0),
    "parts put together": lambda lib, z: lib.complex(z.imag, z.real) / z,
    "where": lambda lib, z: lib.where(z.real > 0, z, z.conj() * 2),
    "indexed": lambda lib, z: z[[0, 0, 2]] * z.flip(0),
    "numbers on the left": lambda lib, z: (1 - 2j) - (2j / z) + 2 ** (z * 0.3),
    "in place": lambda lib, z: (z * 1).mul_(2j).exp_() + z,
    "sgn": lambda lib, z: lib.sgn(z) * 3,
    "split": lambda lib, z: z.split(1)[2] * z.unbind()[0],
    "adjoint": lambda lib, z: z.reshape(1, 3).mH @ z.reshape(1, 3),
    "H": lambda lib, z: z.reshape(3, 1).H @ z,
    "solve": lambda lib, z: lib.linalg.solve(lib.diag(z) + lib.ones_like(z), z),
    "convolution": lambda lib, z: lib.nn.functional.conv1d(
        z.reshape(1, 1, 3), z[:2].reshape(1, 1, 2)
    ),
}


@pytest.mark.parametrize("name", COMPOSED)
def test_composed_gradients(name: str) -> None:
    check(COMPOSED[name], np.array(Z), rtol=1e-9)
    check(COMPOSED[name], np.array(Z, np.complex64), rtol=2e-5)


@pytest.mark.parametrize("name", [n for n in COMPOSED if n not in ("indexed", "in place")])
def test_composed_derivatives(name: str) -> None:
    z = tt.tensor(np.array(Z), requires_grad=True)

    def function(x: Any) -> Any:
        return COMPOSED[name](tt, x)

    assert gradcheck(function, z)
    assert gradgradcheck(function, z)


def test_gradcheck_finds_a_missing_conjugate() -> None:
    class Wrong(tt.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 2 * g * x

    x = tt.tensor(np.array(Z), requires_grad=True)
    assert gradcheck(lambda x: x * x, x)
    with pytest.raises(tt.GradcheckError, match="by finite differences"):
        gradcheck(Wrong.apply, x)


def test_gradient_is_the_direction_of_ascent() -> None:
    z = tt.tensor(np.array(Z), requires_grad=True)
    for _ in range(200):
        loss = (z - (2 - 1j)).abs().square().sum()
        (g,) = tt.autograd.grad(loss, z)
        z = (z - 0.1 * g).detach().requires_grad_()
    assert tt.allclose(z, tt.full((3,), 2 - 1j, dtype=tt.complex128))


def test_backward_takes_a_complex_gradient() -> None:
    check_grads = []
    for library in (tt, torch):
        z = library.tensor(np.array(Z), requires_grad=True)
        (z * z).backward(library.tensor(np.array([1j, 2.0, 1 + 1j])))
        check_grads.append(z.grad.numpy())
    np.testing.assert_allclose(*check_grads)


def test_real_ops_have_plain_nodes() -> None:
    """The rule for complex numbers is chosen for the node alone, not for its class."""
    z, x = tt.tensor(Z, requires_grad=True), tt.ones(3, requires_grad=True)
    complex_node, real_node = (z * z).grad_fn, (x * x).grad_fn
    assert type(real_node) is tt.ops.arithmetic.Mul and isinstance(complex_node, type(real_node))
    assert complex_node.name() == real_node.name() == "MulBackward"


# ------------------------------------------------------------------------------------------
# Ops that need an order
# ------------------------------------------------------------------------------------------

# fmt: off
UNARY = [
    "max", "min", "amax", "amin", "argmax", "argmin", "sort", "argsort", "msort", "median",
    "nanmedian", "aminmax", "floor", "ceil", "trunc", "round", "frac", "relu", "sign", "erf",
    "erfc", "lgamma", "digamma", "logit", "mode",
]
BINARY = [
    "lt", "le", "gt", "ge", "maximum", "minimum", "fmax", "fmin", "floor_divide", "remainder",
    "fmod", "atan2", "hypot", "xlogy", "logaddexp", "searchsorted", "bitwise_and", "bucketize",
]
# fmt: on
ORDERED: dict[str, Callable] = {
    **{name: getattr(tt, name) for name in UNARY},
    **{name: lambda z, name=name: getattr(tt, name)(z, z) for name in BINARY},
    "clamp": lambda z: z.clamp(0, 1),
    "clamp_min": lambda z: z.clamp_min(0),
    "number": lambda z: tt.ones(3) < 1j,
    "max of a dim": lambda z: z.max(0),
    "topk": lambda z: z.topk(2),
    "kthvalue": lambda z: z.kthvalue(1),
    "cummax": lambda z: z.cummax(0),
    "unique": lambda z: z.unique(),
    "quantile": lambda z: z.quantile(0.5),
    "histc": lambda z: z.histc(),
    "index": lambda z: tt.ones(3)[z],
    "bernoulli": lambda z: tt.bernoulli(z),
    "multinomial": lambda z: tt.multinomial(z, 1),
    "max_pool1d": lambda z: F.max_pool1d(z[None], 2),
    "cross_entropy": lambda z: F.cross_entropy(z[None], tt.tensor([0])),
    "nll_loss": lambda z: F.nll_loss(z[None], tt.tensor([0])),
    "mse_loss": lambda z: F.mse_loss(z, z),
    "smooth_l1_loss": lambda z: F.smooth_l1_loss(z, z),
    "binary_cross_entropy": lambda z: F.binary_cross_entropy(z, z),
    "kl_div": lambda z: F.kl_div(z, z, reduction="sum"),
    "gelu": F.gelu,
    "elu": F.elu,
    "selu": F.selu,
    "relu6": F.relu6,
    "leaky_relu": F.leaky_relu,
    "hardtanh": F.hardtanh,
    "softplus": F.softplus,
    "mish": F.mish,
    "logsigmoid": F.logsigmoid,
    "layer_norm": lambda z: F.layer_norm(z, (3,)),
    "batch_norm": lambda z: F.batch_norm(z[None, :, None], None, None, training=True),
    "attention": lambda z: F.scaled_dot_product_attention(*[z[None, None]] * 3),
    "interpolate": lambda z: F.interpolate(z[None, None], scale_factor=2.0, mode="linear"),
    "%": lambda z: z % 2,
    "//": lambda z: z // 2,
}


@pytest.mark.parametrize("name", ORDERED)
def test_ops_without_a_complex_meaning_refuse(name: str) -> None:
    for requires_grad in (False, True):
        with pytest.raises((RuntimeError, TypeError, IndexError, ValueError)) as raised:
            ORDERED[name](tt.tensor(Z, requires_grad=requires_grad))
        assert ":" in str(raised.value) and "\n" not in str(raised.value)
