"""float16 and bfloat16: every op against PyTorch, values and gradients, to one unit of rounding."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nn
import tinytensor as tt

torch = pytest.importorskip("torch")

F, TF = nn.functional, torch.nn.functional
HALVES = ["bfloat16", "float16"]


def draw(*shape: int, seed: int = 0) -> np.ndarray:
    """Normal numbers that bfloat16 and float16 both hold exactly."""
    numbers = np.random.default_rng(seed).standard_normal(shape)
    return (np.round(numbers * 32) / 32).astype(np.float32)


def pair(array: np.ndarray, name: str, grad: bool = True) -> tuple[Any, Any]:
    ours = tt.tensor(array).to(getattr(tt, name)).requires_grad_(grad)
    theirs = torch.tensor(array).to(getattr(torch, name)).requires_grad_(grad)
    return ours, theirs


def assert_close(ours: Any, theirs: Any, ulps: float = 1) -> None:
    """Same dtype, shape, and values within `ulps` units of rounding at the size of the result."""
    assert str(ours.dtype).split(".")[1] == str(theirs.dtype).split(".")[1]
    assert tuple(ours.shape) == tuple(theirs.shape)
    a, b = np.array(ours.detach().double().tolist()), theirs.detach().double().numpy()
    if not ours.dtype.is_floating_point:
        assert (a == b).all()
        return
    eps = tt.finfo(ours.dtype).eps
    # A sum that cancels keeps the rounding of its terms: the unit is that of the larger elements.
    scale = np.maximum(np.abs(b), 0.1 * np.abs(b).max(initial=0))
    assert (np.abs(a - b) <= ulps * eps * scale + 1e-30).all(), np.abs(a - b).max()


A, B, SQUARE, POSITIVE = draw(4, 6), draw(4, 6, seed=1), draw(6, 6, seed=2), abs(draw(4, 6)) + 0.25
OPS: dict[str, tuple[Callable, tuple]] = {
    "add": (lambda t, f, a, b: a + b, (A, B)),
    "add_number": (lambda t, f, a: a + 1.3, (A,)),
    "sub_from_number": (lambda t, f, a: 2 - a, (A,)),
    "mul": (lambda t, f, a, b: a * b, (A, B)),
    "mul_number": (lambda t, f, a: a * 0.7, (A,)),
    "mul_int": (lambda t, f, a: 3 * a, (A,)),
    "div": (lambda t, f, a, b: a / b, (A, POSITIVE)),
    "reciprocal": (lambda t, f, a: 1 / a, (POSITIVE,)),
    "pow": (lambda t, f, a: a**2, (A,)),
    "pow_tensor": (lambda t, f, a, b: a**b, (POSITIVE, B)),
    "sqrt": (lambda t, f, a: a.sqrt(), (POSITIVE,)),
    "rsqrt": (lambda t, f, a: t.rsqrt(a), (POSITIVE,)),
    "exp": (lambda t, f, a: a.exp(), (A,)),
    "log": (lambda t, f, a: a.log(), (POSITIVE,)),
    "tanh": (lambda t, f, a: a.tanh(), (A,)),
    "sigmoid": (lambda t, f, a: a.sigmoid(), (A,)),
    "sin": (lambda t, f, a: a.sin(), (A,)),
    "erf": (lambda t, f, a: t.erf(a), (A,)),
    "abs": (lambda t, f, a: a.abs(), (A,)),
    "neg": (lambda t, f, a: -a, (A,)),
    "clamp": (lambda t, f, a: a.clamp(-0.5, 0.5), (A,)),
    "where": (lambda t, f, a, b: t.where(a > b, a, b), (A, B)),
    "maximum": (lambda t, f, a, b: t.maximum(a, b), (A, B)),
    "masked_fill": (lambda t, f, a: a.masked_fill(a > 0, -1.0), (A,)),
    "lerp": (lambda t, f, a, b: t.lerp(a, b, 0.25), (A, B)),
    "sum": (lambda t, f, a: a.sum(), (A,)),
    "sum_dim": (lambda t, f, a: a.sum(1, keepdim=True), (A,)),
    "sum_long": (lambda t, f, a: a.sum(0), (draw(3000, 2) + 2,)),
    "mean": (lambda t, f, a: a.mean(0), (A,)),
    "prod": (lambda t, f, a: a.prod(1), (POSITIVE,)),
    "var": (lambda t, f, a: a.var(1), (A,)),
    "std": (lambda t, f, a: a.std(), (A,)),
    "norm": (lambda t, f, a: a.norm(), (A,)),
    "max": (lambda t, f, a: a.max(1)[0], (A,)),
    "amin": (lambda t, f, a: a.amin(0), (A,)),
    "cumsum": (lambda t, f, a: a.cumsum(1), (A,)),
    "logsumexp": (lambda t, f, a: a.logsumexp(1), (A,)),
    "softmax": (lambda t, f, a: a.softmax(-1), (A,)),
    "log_softmax": (lambda t, f, a: a.log_softmax(-1), (A,)),
    "sort": (lambda t, f, a: a.sort(1)[0], (A,)),
    "topk": (lambda t, f, a: a.topk(3, 1)[0], (A,)),
    "matmul": (lambda t, f, a, b: a @ b, (A, SQUARE)),
    "bmm": (lambda t, f, a, b: t.bmm(a, b), (draw(2, 3, 4), draw(2, 4, 5, seed=1))),
    "addmm": (lambda t, f, a, b, c: t.addmm(c, a, b), (A, SQUARE, B)),
    "einsum": (lambda t, f, a, b: t.einsum("ij,jk->ik", a, b), (A, SQUARE)),
    "linear": (lambda t, f, a, w, b: f.linear(a, w, b), (A, SQUARE, B[0])),
    "conv1d": (lambda t, f, a, w: f.conv1d(a, w, padding=1), (draw(2, 3, 8), draw(4, 3, 3))),
    "conv2d": (lambda t, f, a, w: f.conv2d(a, w), (draw(2, 3, 6, 6), draw(4, 3, 3, 3))),
    "max_pool2d": (lambda t, f, a: f.max_pool2d(a, 2), (draw(1, 2, 6, 6),)),
    "avg_pool2d": (lambda t, f, a: f.avg_pool2d(a, 2), (draw(1, 2, 6, 6),)),
    "relu": (lambda t, f, a: f.relu(a), (A,)),
    "gelu": (lambda t, f, a: f.gelu(a), (A,)),
    "gelu_tanh": (lambda t, f, a: f.gelu(a, approximate="tanh"), (A,)),
    "silu": (lambda t, f, a: f.silu(a), (A,)),
    "leaky_relu": (lambda t, f, a: f.leaky_relu(a, 0.2), (A,)),
    "elu": (lambda t, f, a: f.elu(a), (A,)),
    "softplus": (lambda t, f, a: f.softplus(a), (A,)),
    "layer_norm": (lambda t, f, a, w, b: f.layer_norm(a, (6,), w, b), (A, POSITIVE[0], B[0])),
    "rms_norm": (lambda t, f, a, w: f.rms_norm(a, (6,), w, 1e-5), (A, POSITIVE[0])),
    "group_norm": (lambda t, f, a: f.group_norm(a, 2), (draw(2, 4, 5),)),
    "batch_norm": (lambda t, f, a: f.batch_norm(a, None, None, training=True), (A,)),
    "attention": (
        lambda t, f, q, k, v: f.scaled_dot_product_attention(q, k, v, is_causal=True),
        (draw(1, 2, 5, 4), draw(1, 2, 5, 4, seed=1), draw(1, 2, 5, 4, seed=2)),
    ),
    "embedding": (lambda t, f, w: f.embedding(t.tensor([1, 3, 1]), w), (A,)),
    "cross_entropy": (lambda t, f, a: f.cross_entropy(a, t.tensor([1, 0, 5, 2])), (A,)),
    "mse": (lambda t, f, a, b: f.mse_loss(a, b), (A, B)),
    "l1": (lambda t, f, a, b: f.l1_loss(a, b), (A, B)),
    "bce": (lambda t, f, a: f.binary_cross_entropy_with_logits(a, t.ones_like(a)), (A,)),
    "cat": (lambda t, f, a, b: t.cat([a, b], 1), (A, B)),
    "stack": (lambda t, f, a, b: t.stack([a, b]), (A, B)),
    "chunk": (lambda t, f, a: a.chunk(2, 1)[1], (A,)),
    "slice": (lambda t, f, a: a[1:, ::2], (A,)),
    "index": (lambda t, f, a: a[t.tensor([0, 2, 0])], (A,)),
    "gather": (lambda t, f, a: a.gather(1, t.tensor([[0, 5]] * 4)), (A,)),
    "scatter_add": (lambda t, f, a: a.scatter_add(1, t.tensor([[0, 1]] * 4), a[:, :2]), (A,)),
    "index_add": (lambda t, f, a, b: a.index_add(0, t.tensor([0, 1, 0, 3]), b), (A, B)),
    "tril": (lambda t, f, a: a.tril(), (SQUARE,)),
    "expand": (lambda t, f, a: a[:1].expand(300, 6) * 1, (A,)),
    "broadcast": (lambda t, f, a, b: a + b, (draw(300, 6), B[0])),
    "reshape": (lambda t, f, a: a.t().reshape(3, 8), (A,)),
    "repeat": (lambda t, f, a: a.repeat(2, 2), (A,)),
    "pad": (lambda t, f, a: f.pad(a, (1, 2)), (A,)),
    "interpolate": (lambda t, f, a: f.interpolate(a, scale_factor=2), (draw(1, 2, 3, 3),)),
    "to_float": (lambda t, f, a: a.float() * 2, (A,)),
    "argmax": (lambda t, f, a: a.argmax(1), (A,)),
    "compare": (lambda t, f, a, b: a <= b, (A, B)),
    "isnan": (lambda t, f, a: t.isnan(a), (A,)),
    "cumprod": (lambda t, f, a: a.cumprod(1), (POSITIVE,)),
    "normalize": (lambda t, f, a: f.normalize(a), (A,)),
    "cosine": (lambda t, f, a, b: f.cosine_similarity(a, b), (A, B)),
    "cdist_like": (lambda t, f, a, b: ((a[:, None] - b) ** 2).sum(-1), (A, B)),
    "glu": (lambda t, f, a: f.glu(a), (A,)),
    "smooth_l1": (lambda t, f, a, b: f.smooth_l1_loss(a, b), (A, B)),
    "kl_div": (lambda t, f, a, b: f.kl_div(a, b, reduction="batchmean"), (A, POSITIVE)),
}
# Composed of several ops here or there, each of which rounds; cancelling sums lose more.
LOOSE = {
    "attention": 4, "normalize": 3, "cosine": 6, "cdist_like": 2, "batch_norm": 2, "group_norm": 2,
    "pow_tensor": 2, "kl_div": 2, "rms_norm": 2, "layer_norm": 6, "bce": 2, "conv2d": 2,
}  # fmt: skip


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", OPS)
def test_ops_as_pytorch(name: str, dtype: str) -> None:
    function, arrays = OPS[name]
    pairs = [pair(a, dtype) for a in arrays]
    ours = function(tt, F, *(a for a, _ in pairs))
    theirs = function(torch, TF, *(b for _, b in pairs))
    ulps = LOOSE.get(name, 1)
    assert_close(ours, theirs, ulps)
    if not theirs.requires_grad:
        assert not ours.requires_grad
        return
    weights = draw(*theirs.shape, seed=9)
    (ours * tt.tensor(weights).to(ours.dtype)).sum().backward()
    (theirs * torch.tensor(weights).to(theirs.dtype)).sum().backward()
    for a, b in pairs:
        assert a.grad.dtype == a.dtype
        assert_close(a.grad, b.grad, 2 * ulps)


# ------------------------------------------------------------------------------------------
# What bfloat16 is
# ------------------------------------------------------------------------------------------

DTYPES = ["bool", "uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64"]


@pytest.mark.parametrize("other", DTYPES)
def test_promotion(other: str) -> None:
    a, b = getattr(tt, other), getattr(torch, other)
    assert (
        str(tt.promote_types(tt.bfloat16, a))[11:]
        == str(torch.promote_types(torch.bfloat16, b))[6:]
    )
    for x, y in ([(2,), (2,)], [(2,), ()], [(), (2,)]):
        found = tt.ones(x, dtype=tt.bfloat16) + tt.ones(y, dtype=a)
        expected = torch.ones(x, dtype=torch.bfloat16) + torch.ones(y, dtype=b)
        assert str(found.dtype)[11:] == str(expected.dtype)[6:]
    assert tt.can_cast(tt.bfloat16, a) == torch.can_cast(torch.bfloat16, b)


def test_rounding_is_to_nearest_even() -> None:
    numbers = np.random.default_rng(0).standard_normal(5000).astype(np.float32) * 1e3
    numbers[:8] = [0.0, -0.0, np.inf, -np.inf, 1.00390625, 1.01171875, 3.4e38, 1e-40]
    ours, theirs = tt.tensor(numbers).bfloat16(), torch.tensor(numbers).bfloat16()
    assert ours.tolist() == theirs.tolist()
    assert tt.tensor([float("nan")]).bfloat16().isnan().item()


def test_finfo_and_names() -> None:
    ours, theirs = tt.finfo(tt.bfloat16), torch.finfo(torch.bfloat16)
    for name in ("eps", "max", "min", "tiny", "smallest_normal", "bits", "dtype"):
        assert getattr(ours, name) == getattr(theirs, name)
    assert repr(ours) == repr(theirs)
    dtype = tt.bfloat16
    assert dtype.is_floating_point and dtype.is_signed and dtype.itemsize == 2
    assert repr(dtype) == "tinytensor.bfloat16" and dtype != tt.float16 and dtype != np.float32
    assert copy.deepcopy(dtype) is dtype and pickle.loads(pickle.dumps(dtype)) is dtype
    x = tt.ones(2, dtype=dtype)
    assert x.dtype is dtype and x.element_size() == 2 and x.nbytes == 4 and x.is_floating_point()
    assert x.type() == "torch.BFloat16Tensor" and tt.is_floating_point(x)


def test_printing_item_tolist_and_numpy() -> None:
    x, y = pair(draw(2, 3), "bfloat16", grad=False)
    assert repr(x).replace("tinytensor", "torch") == repr(y)
    assert repr(x[0, 0].requires_grad_()).replace("tinytensor", "torch") == repr(
        y[0, 0].requires_grad_()
    )
    assert x.tolist() == y.tolist() and x[0, 0].item() == y[0, 0].item()
    assert float(x[0, 0]) == float(y[0, 0]) and bool(x[0, 0]) == bool(y[0, 0])
    with pytest.raises(TypeError, match=r"numpy: got bfloat16.*\.float\(\)"):
        x.numpy()
    assert x.float().numpy().dtype == np.float32


def test_creation() -> None:
    like = {"dtype": tt.bfloat16}
    made = [
        tt.zeros(3, **like), tt.ones(3, **like), tt.empty(3, **like), tt.full((3,), 1.7, **like),
        tt.arange(3, **like), tt.linspace(0, 1, 3, **like), tt.eye(3, **like), tt.rand(3, **like),
        tt.randn(3, **like), tt.tensor([1, 2.7], **like), tt.as_tensor([1.5], **like),
        tt.randint(0, 9, (3,), **like), tt.zeros(3).new_ones(3, **like),
        tt.zeros_like(tt.zeros(3, **like)), tt.randn_like(tt.zeros(3, **like)),
        tt.normal(0.0, 1.0, (3,), **like),
    ]  # fmt: skip
    assert all(x.dtype is tt.bfloat16 for x in made)
    assert tt.full((1,), 1.7, **like).item() == torch.full((1,), 1.7, dtype=torch.bfloat16).item()
    assert tt.full((1,), 1e39, **like).item() == float("inf")
    assert tt.rand(4000, **like).max() < 1
    x = tt.empty(500, **like)
    for fill in (x.normal_, x.uniform_, x.zero_, x.bernoulli_, x.exponential_):
        assert fill() is x and x.dtype is tt.bfloat16 and x.isfinite().all()
    assert nn.init.kaiming_uniform_(tt.empty(8, 8, **like)).dtype is tt.bfloat16
    try:
        tt.set_default_dtype(tt.bfloat16)
        assert tt.tensor(1.5).dtype is tt.bfloat16 and tt.rand(2).dtype is tt.bfloat16
    finally:
        tt.set_default_dtype(tt.float32)


def test_in_place_and_views() -> None:
    x, y = pair(draw(4, 5), "bfloat16", grad=False)
    for t, lib in ((x, tt), (y, torch)):
        t.add_(1.25).mul_(t)
        t[1] = 2.7
        t[:, 2] += 1
        t.view(-1)[3] = lib.tensor(9.1)
        t.copy_(t.flip(0).clone())
        t += lib.ones(5)
    assert x.tolist() == y.tolist() and x.dtype is tt.bfloat16
    with pytest.raises(RuntimeError, match="can't be cast"):
        tt.ones(2, dtype=tt.int64).add_(x[0, :2])


def test_dtypes_do_not_mix_in_products() -> None:
    with pytest.raises(RuntimeError, match="same dtype"):
        tt.ones(2, 2).bfloat16() @ tt.ones(2, 2)


def test_second_derivative_and_leaf_gradients() -> None:
    x, y = pair(draw(5), "bfloat16")
    (g,) = tt.autograd.grad((x**3).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad((y**3).sum(), y, create_graph=True)
    g.sum().backward()
    h.sum().backward()
    assert_close(x.grad, y.grad, 2)
    w = tt.randn(3).requires_grad_()
    (w.to(tt.bfloat16).to(tt.float64) * 2).sum().backward()
    assert w.grad.dtype is tt.float32 and w.grad.tolist() == [2, 2, 2]


@pytest.mark.parametrize("file", ["x.safetensors", "x.pt"])
def test_save_and_load(file: str, tmp_path: Path) -> None:
    x = tt.randn(3, 4).bfloat16()
    state = {"a": x, "b": {"h": x.half(), "f": x.float()}, "s": x[0, 0]}
    tt.save(state, tmp_path / file)
    again = tt.load(tmp_path / file)
    assert again["a"].dtype is tt.bfloat16 and again["a"].tolist() == x.tolist()
    assert again["b"]["h"].dtype is tt.float16 and again["s"].shape == ()
    assert (again["a"] + 1).dtype is tt.bfloat16
    with open(tmp_path / file, "rb") as stream:
        assert tt.load(stream)["a"].tolist() == x.tolist()


def test_pytorch_checkpoints(tmp_path: Path) -> None:
    x = torch.randn(4, 5).bfloat16()
    torch.save({"x": x, "t": x.t(), "dtype": torch.bfloat16}, tmp_path / "x.pt")
    loaded = tt.load(tmp_path / "x.pt")
    assert loaded["x"].dtype is tt.bfloat16 and loaded["dtype"] is tt.bfloat16
    assert loaded["x"].tolist() == x.tolist() and loaded["t"].tolist() == x.t().tolist()
    safetensors = pytest.importorskip("safetensors.torch")
    safetensors.save_file({"x": x}, tmp_path / "x.safetensors")
    assert tt.load(tmp_path / "x.safetensors")["x"].tolist() == x.tolist()


def test_pickle_and_copy() -> None:
    x = tt.randn(3).bfloat16().requires_grad_()
    for again in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert again.dtype is tt.bfloat16 and again.tolist() == x.tolist() and again.requires_grad


# ------------------------------------------------------------------------------------------
# Modules and training
# ------------------------------------------------------------------------------------------


def small(lib: Any) -> Any:
    net = lib.nn
    return net.Sequential(net.Embedding(11, 8), net.LayerNorm(8), net.Linear(8, 16), net.GELU(),
                          net.Linear(16, 11))  # fmt: skip


OPTIMIZERS = {
    "SGD": {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01},
    "Adam": {"lr": 0.01},
    "AdamW": {"lr": 0.01},
    "RMSprop": {"lr": 0.01},
    "Adagrad": {"lr": 0.05},
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_as_pytorch(name: str) -> None:
    """Losses follow PyTorch's: bfloat16 parameters, gradients and optimiser state."""
    torch.manual_seed(0)
    theirs = small(torch)
    ours = small(tt)
    ours.load_state_dict({k: v.numpy() for k, v in theirs.state_dict().items()})
    ours.bfloat16()
    theirs.bfloat16()
    assert all(p.dtype is tt.bfloat16 for p in ours.parameters())
    tokens = np.random.default_rng(0).integers(0, 11, (40,))
    losses: list[list[float]] = [[], []]
    for row, lib, model in zip(losses, (tt, torch), (ours, theirs)):
        optimizer = getattr(lib.optim, name)(model.parameters(), **OPTIMIZERS[name])
        for _ in range(8):
            loss = lib.nn.functional.cross_entropy(
                model(lib.tensor(tokens[:-1])), lib.tensor(tokens[1:])
            )
            optimizer.zero_grad()
            loss.backward()
            lib.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            row.append(loss.item())
        if lib is tt:
            assert all(p.grad.dtype is tt.bfloat16 for p in model.parameters())
            state = [v for s in optimizer.state_dict()["state"].values() for v in s.values()]
            assert all(v.dtype is tt.bfloat16 for v in state if isinstance(v, tt.Tensor) and v.ndim)
    assert losses[0][0] - losses[0][-1] > 0.05
    np.testing.assert_allclose(losses[0], losses[1], atol=0.04)


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize(
    "make",
    [
        lambda n: (n.MultiheadAttention(8, 2, batch_first=True), 3),
        lambda n: (n.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True), 1),
        lambda n: (n.LSTM(8, 8, batch_first=True), 1),
        lambda n: (n.GRU(8, 8, batch_first=True), 1),
        lambda n: (
            n.Sequential(n.Conv1d(5, 5, 3, padding=1, bias=False), n.BatchNorm1d(5), n.ReLU()),
            1,
        ),
    ],
    ids=["attention", "encoder", "lstm", "gru", "conv"],
)
def test_layers_as_pytorch(make: Callable, dtype: str) -> None:
    torch.manual_seed(0)
    (theirs, inputs), (ours, _) = make(torch.nn), make(nn)
    ours.load_state_dict({k: v.numpy() for k, v in theirs.state_dict().items()})
    ours, theirs = ours.to(getattr(tt, dtype)), theirs.to(getattr(torch, dtype))
    x, y = pair(draw(2, 5, 8), dtype)
    out, expected = ours(*[x] * inputs), theirs(*[y] * inputs)
    if isinstance(out, tuple):
        out, expected = out[0], expected[0]
    # Rounded after each op, a recurrent layer here once; in PyTorch after each of its steps.
    assert_close(out, expected, 24 if isinstance(ours, (nn.LSTM, nn.GRU)) else 10)
    weights = draw(*expected.shape, seed=7)  # the sum after a norm has no gradient but noise
    (out * tt.tensor(weights).to(out.dtype)).sum().backward()
    (expected * torch.tensor(weights).to(expected.dtype)).sum().backward()
    for p, q in zip(ours.parameters(), theirs.parameters()):
        assert p.grad.dtype == p.dtype
        scale = q.grad.abs().max().item() + 0.05
        assert (np.abs(np.array(p.grad.tolist()) - q.grad.double().numpy()) < 0.03 * scale).all()


def test_float32_programs_keep_the_plain_path() -> None:
    """Only a 16-bit tensor wraps Op.apply, and importing tinytensor does not load ml_dtypes."""
    import subprocess
    import sys

    code = (
        "import sys, tinytensor as tt; from tinytensor.autograd.op import Op;"
        "plain = Op.apply.__func__; x = tt.ones(2); (x.double() * x).sum();"
        "assert Op.apply.__func__ is plain and 'ml_dtypes' not in sys.modules;"
        "x.half(); assert Op.apply.__func__ is not plain and 'ml_dtypes' not in sys.modules;"
        "assert x.bfloat16().dtype is tt.bfloat16 and 'ml_dtypes' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
