"""Random programs of 3 to 12 ops over random shapes give PyTorch's values and gradients.

A program is a list of (op number, choice) pairs. Both libraries run it side by side on the same
numbers; the API is the same, so each op is written once, with the library as an argument.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinytensor as tt

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of this test")
hypothesis = pytest.importorskip("hypothesis")
from hypothesis import HealthCheck, example, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

Program = list[tuple[int, int]]


class Choices:
    """A deterministic supply of decisions out of one number."""

    def __init__(self, number: int):
        self.rng = np.random.default_rng(number)

    def integer(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high))

    def dim(self, x: Any) -> int:
        n = max(x.ndim, 1)
        return self.integer(-n, n)

    def shape_with(self, size: int) -> tuple[int, ...]:
        """A random factorisation of `size`."""
        if size == 0:
            return (0,)
        shape = []
        while size > 1:
            divisors = [d for d in range(2, size + 1) if size % d == 0]
            d = divisors[self.integer(0, len(divisors))]
            shape.append(d)
            size //= d
        return tuple(shape)


def unary(name: str) -> Callable:
    return lambda lib, c, x, y: getattr(lib, name)(x)


def binary(name: str) -> Callable:
    return lambda lib, c, x, y: getattr(lib, name)(x, y)


def reduction(name: str) -> Callable:
    def run(lib: Any, c: Choices, x: Any, y: Any) -> Any:
        if c.integer(0, 3) == 0 or not x.ndim:
            return getattr(lib, name)(x)
        return getattr(lib, name)(x, dim=c.dim(x), keepdim=bool(c.integer(0, 2)))

    return run


def along(name: str, **options: Any) -> Callable:
    return lambda lib, c, x, y: getattr(lib, name)(x, dim=c.dim(x), **options)


def reshape(lib: Any, c: Choices, x: Any, y: Any) -> Any:
    return x.reshape(c.shape_with(x.numel()))


def permute(lib: Any, c: Choices, x: Any, y: Any) -> Any:
    return x.permute(*c.rng.permutation(x.ndim).tolist()) if x.ndim else x


def transpose(lib: Any, c: Choices, x: Any, y: Any) -> Any:
    return x.transpose(c.dim(x), c.dim(x))


def unsqueeze(lib: Any, c: Choices, x: Any, y: Any) -> Any:
    return x.unsqueeze(c.integer(-x.ndim - 1, x.ndim + 1)) if x.ndim < 4 else x.squeeze()


def expand(lib: Any, c: Choices, x: Any, y: Any) -> Any:
    return x.expand(c.integer(1, 4), *x.shape) if x.ndim < 4 else x


def slice_(lib: Any, c: Choices, x: Any, y: Any) -> Any:
    if not x.ndim:
        return x[None]
    n = x.shape[0]
    start = c.integer(-n - 1, n + 1)
    return x[start :: c.integer(1, 3)] if c.integer(0, 2) else x[..., : c.integer(0, n + 1)]


def take(lib: Any, c: Choices, x: Any, y: Any) -> Any:
    if not x.ndim or not x.shape[0]:
        return x
    index = c.rng.integers(-x.shape[0], x.shape[0], c.integer(0, 5))
    return x[lib.tensor(index, dtype=lib.int64)]


def masked(lib: Any, c: Choices, x: Any, y: Any) -> Any:
    return lib.where(x > c.rng.uniform(-1, 1), x, y) if _broadcasts(x, y) else x[x > 0]


def matmul(lib: Any, c: Choices, x: Any, y: Any) -> Any:
    if not x.ndim:
        return x * y
    if x.ndim == 1:
        return x @ x if c.integer(0, 2) else lib.outer(x, x)
    return x @ x.transpose(-2, -1) / max(1, x.shape[-1])


def einsum(lib: Any, c: Choices, x: Any, y: Any) -> Any:
    return lib.einsum("...i,...i->...", x, x.flip(-1)) if x.ndim else lib.einsum(",->", x, x)


def join(lib: Any, c: Choices, x: Any, y: Any) -> Any:
    other = x.flip(0) if x.ndim else x
    if x.ndim and c.integer(0, 2):
        return lib.cat([x, other, x], dim=c.dim(x))
    return lib.stack([x, other], dim=c.integer(0, x.ndim + 1)) if x.ndim < 4 else x


def split(lib: Any, c: Choices, x: Any, y: Any) -> Any:
    if not x.ndim:
        return x
    parts = lib.chunk(x, c.integer(1, 4), dim=c.dim(x))
    return parts[c.integer(0, len(parts))]


def in_place(lib: Any, c: Choices, x: Any, y: Any) -> Any:
    z = x * 1.5
    if not z.ndim or not z.shape[0]:
        return z.add_(1)
    z[c.integer(0, z.shape[0])] = 0.5
    z[0].mul_(2)
    z += x
    return z


def layer_norm(lib: Any, c: Choices, x: Any, y: Any) -> Any:
    if not x.ndim or not x.shape[-1]:
        return x
    function = lib.layer_norm if lib is tt else lib.nn.functional.layer_norm
    return function(x, (x.shape[-1],))


def var(lib: Any, c: Choices, x: Any, y: Any) -> Any:
    return lib.var(x, dim=c.dim(x), correction=0) if x.ndim else x


def gather(lib: Any, c: Choices, x: Any, y: Any) -> Any:
    if not x.ndim or 0 in x.shape:
        return x
    dim = c.dim(x)
    index = lib.tensor(c.rng.integers(0, x.shape[dim], tuple(x.shape)), dtype=lib.int64)
    return lib.gather(x, dim, index)


def pad(lib: Any, c: Choices, x: Any, y: Any) -> Any:
    if not x.ndim:
        return x
    function = lib.pad if lib is tt else lib.nn.functional.pad
    return function(x, (c.integer(0, 3), c.integer(0, 3)), value=0.5)


def power(lib: Any, c: Choices, x: Any, y: Any) -> Any:
    if c.integer(0, 2):
        return 2 ** lib.tanh(x)
    return lib.abs(x) ** [0.5, 2, 3, -1, 1.5][c.integer(0, 5)]


OPS: dict[str, Callable] = {
    **{name: unary(name) for name in (
        "tanh", "sigmoid", "relu", "sin", "cos", "abs", "square", "neg", "exp", "expm1", "erf",
    )},
    "log": lambda lib, c, x, y: lib.log(x * x + 0.5),
    "sqrt": lambda lib, c, x, y: lib.sqrt(x * x + 0.25),
    "rsqrt": lambda lib, c, x, y: lib.rsqrt(x * x + 0.25),
    "clamp": lambda lib, c, x, y: lib.clamp(x, -0.7, 1.1),
    "scale": lambda lib, c, x, y: 0.5 - x * 3 / 4,
    "power": power,
    **{name: binary(name) for name in ("add", "sub", "mul", "maximum", "minimum")},
    "div": lambda lib, c, x, y: x / (y * y + 1),
    **{name: reduction(name) for name in ("sum", "mean")},
    "amax": lambda lib, c, x, y: lib.amax(x, dim=c.dim(x)) if x.numel() else x,
    "max": lambda lib, c, x, y: lib.max(x, dim=c.dim(x)).values if x.numel() else x,
    "logsumexp": lambda lib, c, x, y: lib.logsumexp(x, dim=c.dim(x)),
    "var": var,
    "prod": lambda lib, c, x, y: lib.prod(lib.tanh(x), dim=c.dim(x)),
    **{name: along(name) for name in ("cumsum", "softmax", "log_softmax")},
    "cumprod": lambda lib, c, x, y: lib.cumprod(lib.tanh(x), dim=c.dim(x)),
    "reshape": reshape, "permute": permute, "transpose": transpose, "unsqueeze": unsqueeze,
    "expand": expand, "slice": slice_, "take": take, "masked": masked, "matmul": matmul,
    "einsum": einsum, "join": join, "split": split, "in_place": in_place,
    "layer_norm": layer_norm, "gather": gather, "pad": pad,
    "tril": lambda lib, c, x, y: lib.tril(x, c.integer(-1, 2)) if x.ndim >= 2 else x,
    "flip": lambda lib, c, x, y: x.flip(c.dim(x)) if x.ndim else x,
    "roll": lambda lib, c, x, y: lib.roll(x, c.integer(-3, 4), c.dim(x)) if x.ndim else x,
    "repeat": lambda lib, c, x, y: x.repeat(2, *([1] * (x.ndim - 1))) if 0 < x.ndim < 4 else x,
    "sort": lambda lib, c, x, y: lib.sort(x, dim=c.dim(x)).values if x.ndim else x,
    "topk": lambda lib, c, x, y: lib.topk(x, 1, dim=c.dim(x)).values if 0 not in x.shape else x,
}  # fmt: skip
NAMES = list(OPS)


def _broadcasts(x: Any, y: Any) -> bool:
    pairs = zip(reversed(x.shape), reversed(y.shape))
    return all(a == b or 1 in (a, b) for a, b in pairs)


def run(lib: Any, arrays: list[np.ndarray], program: Program) -> tuple[Any, list]:
    """The program's last value, summed with fixed weights, and the gradients of the inputs."""
    inputs = [lib.tensor(a, requires_grad=True) for a in arrays]
    pool = list(inputs)
    for op, choice in program:
        c = Choices(choice)
        x = pool[c.integer(0, len(pool))]
        partners = [t for t in pool if _broadcasts(x, t) and max(x.ndim, t.ndim) <= 4]
        y = partners[c.integer(0, len(partners))]
        result = OPS[NAMES[op % len(NAMES)]](lib, c, x, y)
        if result.numel() <= 4000:
            pool.append(result)
    out = pool[-1]
    weights = np.cos(np.arange(out.numel(), dtype=np.float64)).reshape(tuple(out.shape))
    loss = (out * lib.tensor(weights)).sum()
    grads = lib.autograd.grad(loss, inputs, allow_unused=True) if loss.requires_grad else []
    return out, [None if g is None else g.detach().numpy() for g in grads]


def compare(shapes: list[tuple[int, ...]], program: Program) -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.uniform(-1.5, 1.5, shape) for shape in shapes]
    theirs, their_grads = run(torch, arrays, program)
    ours, our_grads = run(tt, arrays, program)
    names = [NAMES[op % len(NAMES)] for op, _ in program]
    expected = theirs.detach().numpy()
    finite = np.abs(expected[np.isfinite(expected)])
    scale = max(1.0, float(finite.max(initial=0.0)))
    assert tuple(ours.shape) == tuple(theirs.shape), names
    np.testing.assert_allclose(
        ours.detach().numpy(), expected, rtol=1e-7, atol=1e-9 * scale, err_msg=str(names)
    )
    assert len(our_grads) == len(their_grads)
    for mine, reference in zip(our_grads, their_grads):
        if mine is None or reference is None:
            assert not np.any(reference if mine is None else mine), names
            continue
        finite = np.abs(reference[np.isfinite(reference)])
        atol = 1e-8 * max(1.0, float(finite.max(initial=0.0)))
        np.testing.assert_allclose(mine, reference, rtol=1e-6, atol=atol, err_msg=str(names))


SHAPES = st.lists(st.integers(0, 4), max_size=3).map(tuple)
PROGRAMS = st.lists(
    st.tuples(st.integers(0, len(NAMES) - 1), st.integers(0, 2**20)), min_size=3, max_size=12
)


def program(*names: str) -> Program:
    """A program of named ops, for counter-examples that are kept."""
    return [(NAMES.index(name), choice) for choice, name in enumerate(names)]


@pytest.mark.filterwarnings("ignore::UserWarning")  # PyTorch warns of degenerate variances
@settings(
    max_examples=2500, deadline=None, derandomize=True, database=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
@given(shapes=st.lists(SHAPES, min_size=1, max_size=3), program=PROGRAMS)
@example(shapes=[(2, 3)], program=program("in_place", "expand", "masked"))
def test_programs_match_pytorch(shapes: list[tuple[int, ...]], program: Program) -> None:
    compare(shapes, program)
