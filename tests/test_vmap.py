"""vmap, functional_call, stack_module_state and linearize, compared with PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import func, nn
from tinytensor.utils.tree import flatten

from .both import assert_same_in_both

rng = np.random.default_rng(0)
X, W, V = rng.normal(size=(4, 3)), rng.normal(size=(3, 2)), rng.normal(size=3)

# t is the library, v its vmap, m makes a float64 tensor.
CASES: dict[str, Any] = {
    "pointwise": lambda t, v, m: v(lambda x: t.sin(x) * x)(m(X)),
    "two arguments": lambda t, v, m: v(lambda x, y: x * y.sum())(m(X), m(X[::-1].copy())),
    "in_dims": lambda t, v, m: v(lambda x, w: x @ w, in_dims=(0, None))(m(X), m(W)),
    "in_dims 1": lambda t, v, m: v(t.dot, (1, 1))(m(X), m(X)),
    "in_dims -1": lambda t, v, m: v(lambda x: x.cumsum(0), in_dims=-1)(m(X)),
    "in_dims nested": lambda t, v, m: v(
        lambda p, x: (x * p["a"]) @ p["b"], in_dims=({"a": None, "b": 1}, 0)
    )({"a": m(V), "b": m(rng_matrix(3, 4))}, m(X)),
    "in_dims of a branch": lambda t, v, m: v(lambda p, x: (p[0] * x, p[1][0] + x), (None, 0))(
        [m(V), [m(V)]], m(X)
    ),
    "out_dims": lambda t, v, m: v(lambda x: (x, x * 2), out_dims=(1, 0))(m(X)),
    "out_dims -1": lambda t, v, m: v(lambda x: t.outer(x, x), out_dims=-1)(m(X)),
    "out_dims one tuple": lambda t, v, m: v(lambda x: x, out_dims=(1,))(m(X)),
    "dict out": lambda t, v, m: v(lambda x: {"a": x.sum(), "b": [x.max()]})(m(X)),
    "keywords": lambda t, v, m: v(lambda x, y: x + y, in_dims=(0,))(m(X), y=m(X)),
    "nested": lambda t, v, m: v(v(lambda x, y: x * y, (0, None)), (None, 0))(m(X), m(V)),
    "all pairs": lambda t, v, m: v(lambda a: v(lambda b: (a - b).norm())(m(X)))(m(X)),
    "matmul": lambda t, v, m: v(t.mv)(m(rng_matrix(4, 2, 3)), m(X)),
    "constant": lambda t, v, m: v(lambda x: m(V))(m(X)),
    "indexing": lambda t, v, m: v(lambda x, i: x[:2] + i)(m(X), t.arange(4)),
    "where": lambda t, v, m: v(lambda x: t.where(x > 0, x, -x))(m(X)),
    "softmax": lambda t, v, m: v(lambda x: x.softmax(-1))(m(X)),
    "chunks": lambda t, v, m: v(lambda x: x * 2, chunk_size=3)(m(X)),
    "sort": lambda t, v, m: tuple(v(lambda x: x.sort())(m(X))),
    "one sample": lambda t, v, m: v(lambda x: x * 2)(m(X[:1])),
    "0-d samples": lambda t, v, m: v(lambda x: x * x)(m(V)),
    "empty batch": lambda t, v, m: v(lambda x: (x * 2, x.sum()))(m(X[:0])),
    "empty batch, out_dims": lambda t, v, m: v(lambda x: x * 2, out_dims=1)(m(X[:0])),
    "vmap of grad": lambda t, v, m: v(t.func.grad(lambda x: (x**3).sum()))(m(X)),
    "vmap of jacrev": lambda t, v, m: v(t.func.jacrev(lambda x: t.sin(x) * x.sum()))(m(X)),
    "vmap of hessian": lambda t, v, m: v(t.func.hessian(lambda x: (x**3).sum()))(m(X)),
    "vmap of vjp": lambda t, v, m: v(lambda g: t.func.vjp(t.sin, m(V))[1](g))(m(X)),
    "vmap of jvp": lambda t, v, m: v(lambda g: t.func.jvp(t.sin, (m(V),), (g,)))(m(X)),
    "grad of vmap": lambda t, v, m: t.func.grad(lambda x: v(lambda y: (y**3).sum())(x).sum())(m(X)),
    "linearize": lambda t, v, m: t.func.linearize(lambda x: x.sin() * x, m(V))[1](m(X[0])),
    "linearize value": lambda t, v, m: t.func.linearize(lambda x, y: (x * y, [y]), m(V), m(V))[0],
    "linearize two": lambda t, v, m: t.func.linearize(lambda x, y: (x * y, [y]), m(V), m(V))[1](
        m(X[0]), m(X[1])
    ),
    "vmap of linearize": lambda t, v, m: v(t.func.linearize(lambda x: x.exp(), m(V))[1])(m(X)),
}


def rng_matrix(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).normal(size=shape)


@pytest.mark.filterwarnings("ignore")  # PyTorch's own
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_case(name: str, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    results = []
    for library in (tt, torch):
        make = lambda a, t=library: t.tensor(np.array(a), dtype=getattr(t, dtype))  # noqa: E731
        results.append(flatten(CASES[name](library, library.func.vmap, make))[0])
    ours, theirs = results
    assert len(ours) == len(theirs) > 0
    tolerance = 1e-5 if dtype == "float32" else 1e-12
    for a, b in zip(ours, theirs):
        assert tuple(a.shape) == tuple(b.shape)
        assert str(a.dtype).split(".")[1] == str(b.dtype).split(".")[1]
        np.testing.assert_allclose(
            a.detach().numpy(), b.detach().numpy(), rtol=tolerance, atol=tolerance
        )


# ------------------------------------------------------------------------------------------
# PyTorch's tutorials
# ------------------------------------------------------------------------------------------


def small_net(torch: Any, make: Any) -> Any:
    nn = torch.nn
    model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.BatchNorm1d(8), nn.Linear(8, 3))
    model.eval()
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(make.normal(*p.shape))
    return model


def per_sample_gradients(torch: Any, F: Any, make: Any) -> list:
    model = small_net(torch, make)
    params = {k: v.detach() for k, v in model.named_parameters()}
    buffers = {k: v.detach() for k, v in model.named_buffers()}
    data, targets = make.normal(6, 5), make.integers(3, 6)

    def loss(params: Any, buffers: Any, sample: Any, target: Any) -> Any:
        call = torch.func.functional_call
        predictions = call(model, (params, buffers), (sample.unsqueeze(0),))
        return F.cross_entropy(predictions, target.unsqueeze(0))

    each = torch.func.vmap(torch.func.grad(loss), in_dims=(None, None, 0, 0))
    found = each(params, buffers, data, targets)
    return [found[k] for k in sorted(found)]


def ensemble(torch: Any, F: Any, make: Any) -> list:
    models = [small_net(torch, make) for _ in range(3)]
    params, buffers = torch.func.stack_module_state(models)
    base = models[0]

    def call(params: Any, buffers: Any, x: Any) -> Any:
        return torch.func.functional_call(base, (params, buffers), (x,))

    x, batches = make.normal(4, 5), make.normal(3, 4, 5)
    y = torch.vmap(call, in_dims=(0, 0, None))(params, buffers, x)
    y.sum().backward()
    apart = torch.func.vmap(call)(params, buffers, batches)
    return [y.detach(), apart.detach(), [params[k].grad for k in sorted(params)], sorted(buffers)]


def tied_weights(torch: Any, F: Any, make: Any) -> list:
    class Tied(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = torch.nn.Linear(3, 3, bias=False)
            self.b = torch.nn.Linear(3, 3, bias=False)
            self.b.weight = self.a.weight

        def forward(self, x: Any, scale: float = 1.0) -> Any:
            return self.b(self.a(x)) * scale

    model, x, new = Tied(), make.normal(2, 3), make.leaf(3, 3)
    with torch.no_grad():
        model.a.weight.copy_(make.normal(3, 3))
    call = torch.func.functional_call
    both = call(model, {"a.weight": new}, x, {"scale": 2.0})
    one = call(model, {"a.weight": new}, (x,), tie_weights=False)
    (both.sum() + one.sum()).backward()
    return [both.detach(), one.detach(), new.grad, model(x).detach(), model.a.weight.grad is None]


def buffers_written_by_forward(torch: Any, F: Any, make: Any) -> list:
    class Counts(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros(1))

        def forward(self, x: Any) -> Any:
            self.count = self.count + 1
            return x + self.count

    model, state = Counts(), {"count": torch.ones(1) * 5}
    y = torch.func.functional_call(model, state, (make.normal(2),))
    return [y, state["count"], model.count]


@pytest.mark.parametrize(
    "program",
    [per_sample_gradients, ensemble, tied_weights, buffers_written_by_forward],
    ids=lambda p: p.__name__,
)
def test_program(program: Any) -> None:
    assert_same_in_both(program)


# ------------------------------------------------------------------------------------------
# Random numbers
# ------------------------------------------------------------------------------------------


def test_randomness() -> None:
    x = tt.zeros(4, 3)
    noisy = lambda x: x + tt.randn(3)  # noqa: E731
    with pytest.raises(RuntimeError, match="randomness='error' forbids"):
        func.vmap(noisy)(x)
    tt.manual_seed(0)
    different = func.vmap(noisy, randomness="different")(x)
    tt.manual_seed(0)
    same = func.vmap(noisy, randomness="same")(x)
    assert len({tuple(row) for row in different.tolist()}) == 4
    assert len({tuple(row) for row in same.tolist()}) == 1
    assert different[0].tolist() == same[0].tolist()
    after = tt.randn(3)
    assert after.tolist() == different[1].tolist()  # one sample was drawn


# ------------------------------------------------------------------------------------------
# Errors
# ------------------------------------------------------------------------------------------

ONE = tt.ones(3, 2)
ERRORS: list[tuple] = [
    (lambda: func.vmap(tt.sin, randomness="some"), RuntimeError, "got randomness 'some'"),
    (lambda: func.vmap(tt.sin, chunk_size=0), ValueError, "chunk_size 0"),
    (lambda: func.vmap(tt.sin, in_dims=None)(ONE), ValueError, "in_dims of type NoneType"),
    (lambda: func.vmap(tt.sin, in_dims=(None,))(ONE), ValueError, "no tensor to map over"),
    (lambda: func.vmap(tt.sin, in_dims=(0, 0))(ONE), ValueError, r"in_dims=\(0, 0\)"),
    (lambda: func.vmap(tt.sin, in_dims=2)(ONE), ValueError, r"in_dim 2 for input 0, of shape"),
    (lambda: func.vmap(tt.sin)(tt.ones(())), ValueError, "in_dim 0 for input 0"),
    (lambda: func.vmap(tt.add)(ONE, 2), ValueError, "input of type int, expected None"),
    (lambda: func.vmap(tt.add)(ONE, tt.ones(2, 2)), ValueError, r"different sizes, \[3, 2\]"),
    (lambda: func.vmap(lambda x: 1)(ONE), ValueError, "func returned a int, expected tensors"),
    (lambda: func.vmap(tt.sin, out_dims=(0, 1))(ONE), ValueError, r"out_dims=\(0, 1\)"),
    (lambda: func.jacrev(tt.sin, chunk_size=0), ValueError, "jacrev: got chunk_size 0"),
    (lambda: func.linearize(tt.sin, ONE)[1](tt.ones(2)), RuntimeError, "linearize: got vectors"),
    (lambda: func.stack_module_state([]), RuntimeError, "got no models"),
    (lambda: func.stack_module_state([nn.ReLU(), nn.Tanh()]), RuntimeError, "one class"),
    (
        lambda: func.stack_module_state([nn.Linear(1, 1), nn.Linear(1, 1).eval()]),
        RuntimeError,
        "same training mode",
    ),
    (
        lambda: func.functional_call(nn.Linear(1, 1), {"weight": ONE}, ONE, strict=True),
        RuntimeError,
        r"missing: \['bias'\]",
    ),
    (
        lambda: func.functional_call(nn.Linear(1, 1), ({"bias": ONE}, {"bias": ONE}), ONE),
        ValueError,
        r"\['bias'\] are in several dicts",
    ),
    (lambda: func.functional_call(nn.Linear(1, 1), 3, ONE), ValueError, "parameters as int"),
]


@pytest.mark.parametrize("call, error, match", ERRORS, ids=[match for *_, match in ERRORS])
def test_errors(call: Any, error: type, match: str) -> None:
    with pytest.raises(error, match=match):
        call()


def test_a_module_is_restored_after_an_error() -> None:
    layer = nn.Linear(2, 2)
    before = dict(layer.named_parameters())
    with pytest.raises(RuntimeError):
        func.functional_call(layer, {"weight": tt.ones(5, 5)}, tt.ones(1, 2))
    assert all(p is before[name] for name, p in layer.named_parameters())


def test_different_values_for_tied_weights() -> None:
    model = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False))
    model[1].weight = model[0].weight
    values = {"0.weight": tt.ones(2, 2), "1.weight": tt.zeros(2, 2)}
    with pytest.raises(ValueError, match="one parameter"):
        func.functional_call(model, values, tt.ones(1, 2))
