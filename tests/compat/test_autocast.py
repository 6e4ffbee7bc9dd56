"""autocast and GradScaler on a CPU: PyTorch's dtypes, its values to 16 bits, its gradients."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nn
import tinytensor as tt

torch = pytest.importorskip("torch")

SHAPES = {"x": (2, 3, 4), "y": (2, 4, 3), "m": (3, 4), "n": (4, 5), "v": (4,), "c": (3,),
          "s": (3, 3), "w": (5, 4), "o": (5,), "k": (2, 3, 2), "h": (3, 5), "g": (1, 2, 2, 2),
          "i": (1, 3, 4, 4), "p": (1, 2, 4, 4, 4), "q": (3, 2, 2)}  # fmt: skip
LABELS = np.array([1, 2, 0])
# name → function of (library, F, the tensors above); the comments say where autocast casts to
CASES: dict[str, Callable] = {
    # 16 bits
    "linear": lambda t, F, a: F.linear(a.x, a.w, a.o),
    "matmul": lambda t, F, a: a.x @ a.y,
    "matmul of vectors": lambda t, F, a: t.matmul(a.v, a.v),
    "mm": lambda t, F, a: t.mm(a.m, a.n),
    "bmm": lambda t, F, a: t.bmm(a.x, a.y),
    "addmm": lambda t, F, a: t.addmm(a.h, a.m, a.n),
    "baddbmm": lambda t, F, a: t.baddbmm(a.s, a.x, a.y),
    "addbmm": lambda t, F, a: t.addbmm(a.s, a.x, a.y),
    "einsum": lambda t, F, a: t.einsum("abc,acd->abd", a.x, a.y),
    "tensordot": lambda t, F, a: t.tensordot(a.m, a.n, 1),
    "inner": lambda t, F, a: t.inner(a.m, a.w),
    "multi_dot": lambda t, F, a: t.linalg.multi_dot([a.m, a.n, a.w]),
    "matrix_power": lambda t, F, a: t.linalg.matrix_power(a.s, 3),
    "vecdot": lambda t, F, a: t.linalg.vecdot(a.m, a.m),
    "conv1d": lambda t, F, a: F.conv1d(a.x, a.k),
    "conv_transpose1d": lambda t, F, a: F.conv_transpose1d(a.x, a.q),
    "attention": lambda t, F, a: F.scaled_dot_product_attention(a.x, a.x, a.x),
    "attention, mask": lambda t, F, a: F.scaled_dot_product_attention(a.x, a.x, a.x, attn_mask=a.s),
    "prelu": lambda t, F, a: F.prelu(a.x, a.c),
    # float32
    "cross_entropy": lambda t, F, a: F.cross_entropy(a.s, t.tensor(LABELS)),
    "cross_entropy, weight": lambda t, F, a: F.cross_entropy(a.s, t.tensor(LABELS), a.c),
    "nll_loss": lambda t, F, a: F.nll_loss(a.s.log_softmax(-1), t.tensor(LABELS)),
    "mse_loss": lambda t, F, a: F.mse_loss(a.m, a.m * 2),
    "l1_loss": lambda t, F, a: F.l1_loss(a.m, a.m * 2),
    "smooth_l1_loss": lambda t, F, a: F.smooth_l1_loss(a.m, a.m * 2),
    "huber_loss": lambda t, F, a: F.huber_loss(a.m, a.m * 2),
    "kl_div": lambda t, F, a: F.kl_div(a.m, a.m.softmax(-1), reduction="batchmean"),
    "bce with logits": lambda t, F, a: F.binary_cross_entropy_with_logits(a.m, a.m.sigmoid()),
    "bce": lambda t, F, a: F.binary_cross_entropy(a.m.sigmoid(), a.m.sigmoid()),
    "poisson_nll_loss": lambda t, F, a: F.poisson_nll_loss(a.m, a.m),
    "soft_margin_loss": lambda t, F, a: F.soft_margin_loss(a.m, t.ones_like(a.m)),
    "hinge_embedding_loss": lambda t, F, a: F.hinge_embedding_loss(a.m, t.ones_like(a.m)),
    "margin_ranking_loss": lambda t, F, a: F.margin_ranking_loss(a.m, a.m * 2, t.ones_like(a.m)),
    "triplet_margin_loss": lambda t, F, a: F.triplet_margin_loss(a.m, a.m * 2, a.m * 3),
    "multi_margin_loss": lambda t, F, a: F.multi_margin_loss(a.s, t.tensor(LABELS)),
    "cdist": lambda t, F, a: t.cdist(a.m, a.w),
    "prod": lambda t, F, a: a.m.prod(1),
    "trace": lambda t, F, a: a.s.trace(),
    "quantile": lambda t, F, a: a.m.quantile(0.3),
    "nanquantile": lambda t, F, a: a.m.nanquantile(0.3),
    "inv": lambda t, F, a: t.linalg.inv(a.s),
    "solve": lambda t, F, a: t.linalg.solve(a.s, a.m),
    "det": lambda t, F, a: t.det(a.s),
    "svdvals": lambda t, F, a: t.linalg.svdvals(a.m),
    "reflect": lambda t, F, a: F.pad(a.x, (1, 1), mode="reflect"),
    "replicate": lambda t, F, a: F.pad(a.x, (1, 1), mode="replicate"),
    "avg_pool3d": lambda t, F, a: F.avg_pool3d(a.p, 2),
    "max_pool3d": lambda t, F, a: F.max_pool3d(a.p, 2),
    "adaptive_avg_pool3d": lambda t, F, a: F.adaptive_avg_pool3d(a.p, 1),
    "grid_sample": lambda t, F, a: F.grid_sample(a.i, a.g, align_corners=False),
    # as they are
    "dot": lambda t, F, a: t.dot(a.v, a.v),
    "mv": lambda t, F, a: t.mv(a.m, a.v),
    "addmv": lambda t, F, a: t.addmv(a.c, a.m, a.v),
    "tensordot of all": lambda t, F, a: t.tensordot(a.x, a.x, 3),
    "bilinear": lambda t, F, a: F.bilinear(a.m, a.m, a.x.new_ones(2, 4, 4)),
    "outer": lambda t, F, a: t.outer(a.v, a.c),
    "layer_norm": lambda t, F, a: F.layer_norm(a.x, (4,), a.v, a.v),
    "group_norm": lambda t, F, a: F.group_norm(a.x, 3, a.c, a.c),
    "batch_norm": lambda t, F, a: F.batch_norm(a.x, None, None, a.c, a.c, training=True),
    "rms_norm": lambda t, F, a: F.rms_norm(a.x, (4,), a.v),
    "softmax": lambda t, F, a: a.x.softmax(-1),
    "log_softmax": lambda t, F, a: a.x.log_softmax(-1),
    "add": lambda t, F, a: a.m + a.v,
    "cat": lambda t, F, a: t.cat([a.m, a.w]),
    "gelu": lambda t, F, a: F.gelu(a.m),
    "constant pad": lambda t, F, a: F.pad(a.m, (1, 1)),
    "norm": lambda t, F, a: t.linalg.norm(a.m),
    "avg_pool2d": lambda t, F, a: F.avg_pool2d(a.i, 2),
    "cosine_similarity": lambda t, F, a: F.cosine_similarity(a.m, a.m),
}


class Tensors:
    """The same random tensors in either library; `halves`: which of them are bfloat16."""

    def __init__(self, library: Any, halves: str = ""):
        rng = np.random.default_rng(7)
        self.leaves = {}
        for name, shape in SHAPES.items():
            leaf = library.tensor(rng.uniform(0.2, 1, shape).astype(np.float32) + _eye(shape))
            leaf.requires_grad_()
            self.leaves[name] = leaf
            setattr(self, name, leaf.bfloat16() if halves == "all" or name in halves else leaf)


def _eye(shape: tuple) -> Any:
    return np.eye(3, dtype=np.float32) if shape == (3, 3) else np.float32(0)


def _run(library: Any, functional: Any, case: Callable, halves: str, dtype: str) -> Any:
    """(dtype, values, gradients), or the type of the error."""
    tensors = Tensors(library, halves)
    with library.autocast("cpu", dtype=getattr(library, dtype)):
        try:
            out = case(library, functional, tensors)
        except (RuntimeError, ValueError, TypeError, NotImplementedError):
            return "refused"
    weights = library.tensor(np.cos(np.arange(out.numel(), dtype=np.float32)))
    (out.float().reshape(-1) * weights).sum().backward()
    gradients = {
        name: (str(leaf.grad.dtype).split(".")[-1], leaf.grad.numpy())
        for name, leaf in tensors.leaves.items()
        if leaf.grad is not None
    }
    return str(out.dtype).split(".")[-1], out.detach().float().numpy(), gradients


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("halves", ["", "all", "xmnvsc"])
@pytest.mark.parametrize("name", CASES)
def test_dtypes_values_and_gradients(name: str, halves: str) -> None:
    if halves and name in ("matrix_power", "vecdot"):
        pytest.skip("linalg takes no bfloat16")
    expected = _run(torch, torch.nn.functional, CASES[name], halves, "bfloat16")
    found = _run(tt, nn.functional, CASES[name], halves, "bfloat16")
    assert (found == "refused") == (expected == "refused"), (found, expected)
    if expected == "refused":
        return
    assert found[0] == expected[0]
    np.testing.assert_allclose(found[1], expected[1], rtol=2e-2, atol=2e-2)
    assert found[2].keys() == expected[2].keys()
    for leaf, (dtype, gradient) in expected[2].items():
        assert found[2][leaf][0] == dtype == "float32"
        scale = max(1.0, float(np.abs(gradient).max()))
        np.testing.assert_allclose(found[2][leaf][1] / scale, gradient / scale, atol=5e-2)


@pytest.mark.parametrize("name", ["linear", "matmul", "cross_entropy", "softmax"])
def test_float16(name: str) -> None:
    expected = _run(torch, torch.nn.functional, CASES[name], "", "float16")
    found = _run(tt, nn.functional, CASES[name], "", "float16")
    assert found[0] == expected[0]
    np.testing.assert_allclose(found[1], expected[1], rtol=2e-3, atol=2e-3)


LAYERS: dict[str, Callable] = {
    "Linear": lambda nn: nn.Linear(4, 5),
    "MLP": lambda nn: nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.LayerNorm(5), nn.Linear(5, 2)),
    "Conv1d": lambda nn: nn.Sequential(nn.Conv1d(3, 4, 2), nn.BatchNorm1d(4), nn.ReLU()),
    "LSTM": lambda nn: nn.LSTM(4, 5),
    "GRU": lambda nn: nn.GRU(4, 5),
    "RNN": lambda nn: nn.RNN(4, 5),
    "Transformer": lambda nn: nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True),
}


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("name", LAYERS)
def test_layers(name: str, half: bool) -> None:
    theirs, ours = LAYERS[name](torch.nn), LAYERS[name](nn)
    ours.load_state_dict(theirs.state_dict())
    values = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32)
    results = []
    for library, layer in ((torch, theirs), (tt, ours)):
        x = library.tensor(values)
        with library.autocast("cpu"):
            out = layer(x.bfloat16() if half else x)
        out = out[0] if isinstance(out, tuple) else out
        (out.float() ** 2).mean().backward()
        gradients = [parameter.grad for parameter in layer.parameters()]
        assert all(g.dtype == library.float32 for g in gradients)
        results.append((str(out.dtype).split(".")[-1], out, gradients))
    (expected, out, theirs_grads), (found, own, grads) = results
    assert found == expected
    np.testing.assert_allclose(own.detach().float().numpy(), out.detach().float().numpy(),
                               rtol=3e-2, atol=5e-2)  # fmt: skip
    for g, e in zip(grads, theirs_grads, strict=True):
        np.testing.assert_allclose(g.numpy(), e.numpy(), rtol=5e-2, atol=5e-2)


def test_nesting_threads_and_float64() -> None:
    a = tt.ones(2, 2)
    with tt.autocast("cpu"):
        assert (a @ a).dtype == tt.bfloat16
        assert (a.double() @ a.double()).dtype == tt.float64
        assert (a.long() @ a.long()).dtype == tt.int64
        with tt.autocast("cpu", enabled=False):
            assert (a @ a).dtype == tt.float32
            assert not tt.is_autocast_enabled("cpu")
        with tt.autocast("cpu", dtype=tt.float16):
            assert (a @ a).dtype == tt.float16
        assert (a @ a).dtype == tt.bfloat16 == tt.get_autocast_dtype("cpu")
        seen = []
        thread = threading.Thread(target=lambda: seen.append((a @ a).dtype))
        thread.start()
        thread.join()
        assert seen == [tt.float32]
        with pytest.raises(KeyError), tt.autocast("cpu", enabled=False):
            raise KeyError
        assert tt.is_autocast_cpu_enabled()
    assert (a @ a).dtype == tt.float32 and not tt.is_autocast_enabled("cpu")

    @tt.autocast("cpu")
    def double(x: Any) -> Any:
        return x @ x

    assert double(a).dtype == tt.bfloat16 and double.__name__ == "double"


def test_a_parameter_is_cast_once() -> None:
    """Its gradients are then summed in bfloat16, as in PyTorch; an optimiser's step ends it."""
    results = []
    for library in (torch, tt):
        w = library.ones(1, 1).requires_grad_()
        x = library.tensor([[1.0]]), library.tensor([[2.0**-9]])
        with library.autocast("cpu"):
            y = (x[0] @ w).float() + (x[1] @ w).float()
        y.backward()
        results.append(w.grad.item())
    assert results[0] == results[1] == 1.0
    w = tt.ones(1, 1).requires_grad_()
    with tt.autocast("cpu"):
        first = (tt.ones(1, 1) @ w).item()
        with tt.no_grad():
            w.mul_(2)
        assert (first, (tt.ones(1, 1) @ w).item()) == (1, 2)
    assert not tt.ops.autocast_setting.setting.cache


def test_what_is_refused_or_switched_off() -> None:
    for library in (torch, tt):
        with pytest.warns(UserWarning, match="Disabling autocast"):
            off = library.autocast("cpu", dtype=library.float32)
        with off:
            assert (library.ones(2, 2) @ library.ones(2, 2)).dtype == library.float32
        with pytest.raises(RuntimeError):
            library.autocast("gpu")
        with pytest.raises(ValueError, match="device_type"):
            library.autocast(3)
        a, half = library.ones(2, 2), library.ones(2, 2).bfloat16()
        with pytest.raises(RuntimeError):
            a @ half  # without autocast


def _scaled_steps(library: Any, values: list[float]) -> list[Any]:
    """The weight, scale and state after each step; inf in a gradient skips it."""
    w = library.ones(2).requires_grad_()
    optimizer = library.optim.SGD([w], lr=0.125)
    scaler = library.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
    seen: list[Any] = [scaler.state_dict()]
    for value in values:
        optimizer.zero_grad()
        scaler.scale((w * value).sum()).backward()
        seen.append(w.grad.tolist())
        if value > 1:
            scaler.unscale_(optimizer)
            seen.append(w.grad.tolist())
        scaler.step(optimizer)
        scaler.update()
        seen += [w.tolist(), scaler.get_scale(), scaler.state_dict()]
    other = library.amp.GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    scaler.update(8.0)
    return [*seen, other.state_dict(), scaler.get_scale(), scaler.is_enabled()]


def test_grad_scaler() -> None:
    values = [0.5, 2.0, float("inf"), 0.5, float("nan"), 1.0, 1.0, 1.0]
    assert str(_scaled_steps(tt, values)) == str(_scaled_steps(torch, values))


def test_grad_scaler_refuses() -> None:
    for library in (torch, tt):
        w = library.ones(2).requires_grad_()
        optimizer = library.optim.SGD([w], lr=0.1)
        scaler = library.amp.GradScaler("cpu")
        scaler.scale(w.sum()).backward()
        scaler.unscale_(optimizer)
        with pytest.raises(RuntimeError):
            scaler.unscale_(optimizer)
        scaler.step(optimizer)
        with pytest.raises(RuntimeError):
            scaler.step(optimizer)
        with pytest.raises(AssertionError):
            library.amp.GradScaler("cpu", growth_factor=1.0)
        off = library.amp.GradScaler("cpu", enabled=False)
        assert off.scale(3) == 3 and off.get_scale() == 1.0 and off.state_dict() == {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert not library.amp.GradScaler().is_enabled() or library.cuda.is_available()


@pytest.mark.parametrize("cast", [None, "float32", "bfloat16"])
@pytest.mark.parametrize("on", [True, False])
def test_custom_fwd_and_bwd(on: bool, cast: str | None) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((3, 4)).astype("float32"), rng.standard_normal((4, 2))
    found = []
    for lib in (tt, torch):
        seen: list = []

        class Product(lib.autograd.Function):  # type: ignore[name-defined]
            @staticmethod
            @lib.amp.custom_fwd(device_type="cpu", cast_inputs=cast and getattr(lib, cast))
            def forward(ctx: Any, x: Any, y: Any) -> Any:
                ctx.save_for_backward(x, y)
                seen.append((str(x.dtype)[-8:], lib.is_autocast_enabled("cpu")))  # noqa: B023
                return x @ y

            @staticmethod
            @lib.amp.custom_bwd(device_type="cpu")
            def backward(ctx: Any, g: Any) -> Any:
                x, y = ctx.saved_tensors
                seen.append(lib.is_autocast_enabled("cpu"))  # noqa: B023
                return (g.to(y.dtype) @ y.t()).float(), (x.t() @ g.to(x.dtype)).float()

        x, y = lib.tensor(a, requires_grad=True), lib.tensor(b).float().requires_grad_()
        with lib.amp.autocast("cpu", enabled=on):
            z = Product.apply(x, y)
        z.float().sum().backward()
        found.append((seen, str(z.dtype)[-8:], z.float().detach().numpy(), x.grad.numpy()))
    assert found[0][:2] == found[1][:2]
    for mine, other in zip(found[0][2:], found[1][2:]):
        np.testing.assert_allclose(mine, other, atol=2e-2)
    with pytest.raises(ValueError, match="custom_fwd: got device_type=3"):
        tt.amp.custom_fwd(device_type=3)
    assert tt.cuda.amp.custom_bwd(lambda *_: 5) is not None
