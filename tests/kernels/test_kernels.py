"""Every kernel against its NumPy version and against finite differences in float64.

Odd sizes · other memory layouts · NaN and infinity · rows of attention that are masked out whole ·
the same bits, run to run. The tolerance is 1e-5 of the largest number in the array.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.autograd.variable import wrap
from tinytensor.kernels.machinery.route import kernels_for_all_sizes

from ..ops.table import Row
from ..ops.test_table import (
    call,
    check_write_into_results,
    each,
    flatten,
    gradients,
    tensors_of,
    to_numpy,
    weights_for,
)
from .rows import MASKED, ROWS
from .spy import kernel_of, routed_methods, watched_kernels

pytest.importorskip("numba")

TOLERANCE = 1e-5
EPSILON = 1e-5  # the step of finite differences, in float64
FEW = 200  # up to so many elements each one is moved; of larger inputs, some directions
DIFFERENTIABLE = [row for row in ROWS if row.order > 0]


@pytest.fixture(autouse=True)
def kernels_at_any_size() -> Iterator[None]:
    threads = tt.get_num_threads()
    tt.set_kernels("numba")
    with kernels_for_all_sizes():
        yield
    tt.set_kernels("auto")
    tt.set_num_threads(threads)


def results(row: Row, arrays: list, seeds: list | None = None) -> list[np.ndarray]:
    """Outputs and gradients in float32, for given gradients of the outputs."""
    inputs = tensors_of(row, arrays, np.float32)
    outputs = flatten(call(row, inputs))
    dx = gradients(outputs, inputs, weights_for(outputs) if seeds is None else seeds)
    return [to_numpy(value) for value in (*outputs, *dx) if value is not None]


def on_numpy(function: Callable[[], Any]) -> Any:
    tt.set_kernels("numpy")
    try:
        return function()
    finally:
        tt.set_kernels("numba")


def assert_near(found: list, expected: list, row: Row) -> None:
    assert len(found) == len(expected)
    for x, y in zip(found, expected):
        assert x.dtype == y.dtype and x.shape == y.shape, row
        finite = np.abs(y[np.isfinite(y)])
        atol = TOLERANCE * finite.max() if finite.size else 0
        np.testing.assert_allclose(x, y, rtol=TOLERANCE, atol=atol, err_msg=str(row))


def arrays_of(row: Row) -> list[np.ndarray]:
    return [a.astype(np.float32) if a.dtype.kind == "f" else a for a in row.arrays()]


# ------------------------------------------------------------------------------------------
# Values and gradients
# ------------------------------------------------------------------------------------------


@each(ROWS)
def test_agrees_with_numpy(row: Row) -> None:
    with watched_kernels() as counts:
        found = results(row, arrays_of(row))
    assert counts, f"{row}: no kernel ran"
    assert_near(found, on_numpy(lambda: results(row, arrays_of(row))), row)


@each(DIFFERENTIABLE)
def test_inputs_and_gradients_are_only_read(row: Row) -> None:
    """What a kernel is given, also the gradients of its outputs, stays as it is."""
    inputs = tensors_of(row, arrays_of(row), np.float32)
    values = [x.array.tobytes() for x in inputs]
    outputs = [y for y in flatten(call(row, inputs)) if y.requires_grad]
    seeds = [wrap(w.astype(np.float32)) for w in weights_for(outputs)]
    slopes = [g.array.tobytes() for g in seeds]
    needs = [x for x in inputs if x.requires_grad]
    tt.autograd.grad(outputs, needs, seeds, allow_unused=True)
    assert [x.array.tobytes() for x in inputs] == values
    assert [g.array.tobytes() for g in seeds] == slopes


@each(DIFFERENTIABLE)
def test_agrees_with_finite_differences(row: Row) -> None:
    """The derivative of Σ w·y along directions, in float64, where no kernel runs."""
    arrays = arrays_of(row)
    inputs = tensors_of(row, arrays, np.float32)
    outputs = flatten(call(row, inputs))
    weights = weights_for(outputs)
    tracked = [i for i, tensor in enumerate(inputs) if tensor.requires_grad]

    def total(moved: list) -> float:
        made = tensors_of(row, moved, np.float64)
        return sum(
            float((w * to_numpy(y)).sum()) for w, y in zip(weights, flatten(call(row, made)))
        )

    for place, g in zip(tracked, gradients(outputs, inputs, weights)):
        wide = [a.astype(np.float64) if a.dtype.kind == "f" else a for a in arrays]
        slope = to_numpy(g).astype(np.float64)
        for direction in directions(arrays[place].shape):
            ends = []
            for sign in (1, -1):
                moved = list(wide)
                moved[place] = wide[place] + sign * EPSILON * direction
                ends.append(total(moved))
            expected = (ends[0] - ends[1]) / (2 * EPSILON)
            # A direction of many elements gathers the rounding errors of them all.
            scale = np.abs(slope).max() * np.sqrt(np.square(direction).sum()) + abs(expected)
            assert abs((slope * direction).sum() - expected) <= TOLERANCE * scale, row


def directions(shape: tuple) -> Iterator[np.ndarray]:
    """One element after the other, or random directions if there are many."""
    size = int(np.prod(shape))
    rng = np.random.default_rng(0)
    for i in range(size) if size <= FEW else range(8):
        direction = np.zeros(size) if size <= FEW else rng.normal(size=size)
        if size <= FEW:
            direction[i] = 1
        yield direction.reshape(shape)


@each(DIFFERENTIABLE)
def test_a_write_into_the_result_gives_no_wrong_gradient(row: Row) -> None:
    check_write_into_results(row, np.float32, 1e-5, 1e-5)


def test_every_kernel_has_a_row() -> None:
    have = {name for name, method in routed_methods().items() if kernel_of(method) is not None}
    with watched_kernels() as counts:
        for row in ROWS:
            results(row, arrays_of(row))
    have -= {"dropout_forward", "dropout_backward"}  # which is random: tested below
    assert sorted(have - set(counts)) == []


def test_dropout_agrees_with_numpy() -> None:
    x = np.random.default_rng(0).normal(size=(7, 13)).astype(np.float32)

    def run() -> list[np.ndarray]:
        tt.manual_seed(0)
        leaf = tt.tensor(x, requires_grad=True)
        y = tt.dropout(leaf, 0.3)
        (dx,) = tt.autograd.grad(y, leaf, tt.from_numpy(x))
        return [y.detach().numpy(), dx.numpy()]

    with watched_kernels() as counts:
        found = run()
    assert counts.keys() == {"dropout_forward", "dropout_backward"}
    assert_near(found, on_numpy(run), Row("dropout", torch=None, note="random"))


# ------------------------------------------------------------------------------------------
# Memory layouts
# ------------------------------------------------------------------------------------------


def fortran(x: np.ndarray) -> np.ndarray:
    return np.asfortranarray(x)


def every_other(x: np.ndarray) -> np.ndarray:
    """A view of every second element along every dimension."""
    room = np.full([2 * n for n in x.shape], 7, dtype=x.dtype)
    view = room[(slice(None, None, 2),) * x.ndim]
    view[...] = x
    return view


def backwards(x: np.ndarray) -> np.ndarray:
    """Negative strides."""
    turned = (slice(None, None, -1),) * x.ndim
    return x[turned].copy()[turned]


def repeated(x: np.ndarray) -> np.ndarray:
    """The first element of the first dimension again and again: stride 0, and read-only."""
    return np.broadcast_to(x[:1], x.shape)


def read_only(x: np.ndarray) -> np.ndarray:
    x = x.copy()
    x.flags.writeable = False
    return x


LAYOUTS = [fortran, every_other, backwards, repeated, read_only]


@each(ROWS)
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.__name__)
def test_memory_layouts(row: Row, layout: Callable[[np.ndarray], np.ndarray]) -> None:
    """Inputs and the gradient that comes in, laid out otherwise, give what contiguous ones do."""
    arrays = arrays_of(row)
    changed = [layout(a) if a.ndim else a for a in arrays]
    inputs = [wrap(a) for a in changed]
    for tensor, spec in zip(inputs, row.specs()):
        if tensor.array.dtype.kind == "f" and spec.grad:
            tensor.requires_grad_()
    outputs = flatten(call(row, inputs))
    seeds = [w.astype(np.float32) for w in weights_for(outputs)]
    seeds = [layout(w) if w.ndim else w for w in seeds]
    tracked = [x for x in inputs if x.requires_grad]
    dx = tt.autograd.grad(outputs, tracked, [wrap(w) for w in seeds])
    found = [to_numpy(value) for value in (*outputs, *dx)]

    plain = [a.copy(order="C") for a in changed]
    straight = [w.copy(order="C") for w in seeds]
    assert_near(found, on_numpy(lambda: results(row, plain, straight)), row)


# ------------------------------------------------------------------------------------------
# NaN, infinity, masked rows
# ------------------------------------------------------------------------------------------

SPECIAL = {
    "nan": np.nan, "inf": np.inf, "minus inf": -np.inf, "zero": 0.0, "minus zero": -0.0,
    "large": 1e30, "minus large": -1e30, "90": 90.0, "minus 90": -90.0, "small": 1e-40,
}  # fmt: skip


@each(ROWS)
@pytest.mark.parametrize("value", SPECIAL.values(), ids=SPECIAL)
def test_special_values(row: Row, value: float) -> None:
    """One such number in the first input: NaN and infinity where the NumPy version has them."""
    arrays = arrays_of(row)
    first = next(i for i, a in enumerate(arrays) if a.dtype.kind == "f")
    arrays[first].reshape(-1)[arrays[first].size // 2] = value
    found, expected = results(row, arrays), on_numpy(lambda: results(row, arrays))
    if row.kwargs.get("is_causal"):
        # A NaN in a query passes to the gradients of later keys only where they were looked at.
        found, expected = found[:2], expected[:2]
    assert_near(found, expected, row)


@each(MASKED)
def test_rows_that_may_attend_to_nothing_give_zeros(row: Row) -> None:
    arrays = arrays_of(row)
    y, dq, *_ = results(row, arrays)
    mask = arrays[3]
    hidden = ~mask.any(axis=-1) if mask.dtype == bool else np.isinf(mask).all(axis=-1)
    hidden = np.broadcast_to(hidden, y.shape[:-1])
    assert hidden.any() and not hidden.all()
    assert not y[hidden].any() and not dq[hidden].any()
    assert all(np.isfinite(x).all() for x in (y, dq))


# ------------------------------------------------------------------------------------------
# Run to run
# ------------------------------------------------------------------------------------------


@each(ROWS)
@pytest.mark.parametrize("threads", [1, 2])
def test_same_bits_run_to_run(row: Row, threads: int) -> None:
    tt.set_num_threads(threads)
    arrays = arrays_of(row)
    first = [x.tobytes() for x in results(row, arrays)]
    for _ in range(3):
        assert [x.tobytes() for x in results(row, arrays)] == first


def test_second_derivatives_do_not_use_kernels() -> None:
    """They are taken through the op's own rule, which runs on tensors."""
    x = tt.tensor(np.linspace(-2, 2, 15, dtype=np.float32), requires_grad=True)

    def second() -> np.ndarray:
        (g,) = tt.autograd.grad(tt.gelu(x).sum(), x, create_graph=True)
        return tt.autograd.grad(g.square().sum(), x)[0].numpy()

    np.testing.assert_allclose(second(), on_numpy(second), rtol=1e-4, atol=1e-5)


# ------------------------------------------------------------------------------------------
# Optimisers
# ------------------------------------------------------------------------------------------

OPTIONS: list[dict[str, Any]] = [
    {}, {"weight_decay": 0.1}, {"maximize": True}, {"betas": (0.5, 0.7), "eps": 1e-3},
    {"amsgrad": True},
]  # fmt: skip


@pytest.mark.parametrize("name", ["Adam", "AdamW"])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_adam_agrees_with_numpy(name: str, options: dict[str, Any]) -> None:
    expected = on_numpy(functools.partial(train, name, options))
    assert_near(train(name, options), expected, Row(name, torch=None, note="an optimiser"))


def train(name: str, options: dict[str, Any], steps: int = 4) -> list[np.ndarray]:
    """Parameters of several shapes and layouts after some steps with given gradients."""
    rng = np.random.default_rng(0)
    starts = [rng.normal(size=shape).astype(np.float32) for shape in ((7, 13), (1,), (3, 5, 2))]
    starts.append(np.asfortranarray(starts[0]))
    parameters = [tt.nn.Parameter(wrap(start.copy(order="K"))) for start in starts]
    optimizer = getattr(tt.optim, name)(parameters, lr=0.01, **options)
    for _ in range(steps):
        for p in parameters:
            p.grad = wrap(rng.normal(size=p.shape).astype(np.float32))
        optimizer.step()
    return [p.detach().numpy() for p in parameters]
