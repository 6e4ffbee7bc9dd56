"""Every optimiser against PyTorch where arithmetic ends: zeros, denormals, overflow, inf and NaN.

All sequences of gradients, from all starting values, are elements of one parameter, as every
optimiser here works element by element (Muon, which does not, has a test of its own). NaN and inf
must be in the same places; finite numbers must agree to a few units of rounding. PyTorch's a + b·c
is one rounding (FMA) and NumPy's two: where a square has become denormal, so that one rounding is a
large part of it, that part is what the parameter may differ by.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.kernels.machinery.route import get_kernels, kernels_for_all_sizes

STEPS = 6

SETTINGS: dict[str, list[dict[str, Any]]] = {
    "SGD": [
        {},
        {"lr": 0.0},
        {"lr": 0.1, "momentum": 0.9},
        {"lr": 0.1, "momentum": 0.9, "dampening": 0.5, "weight_decay": 0.1},
        {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True},
        {"lr": 0.1, "weight_decay": 0.1},
    ],
    "Adam": [
        {},
        {"lr": 0.0},
        {"eps": 0.0},
        {"eps": 0.0, "lr": 0.0},
        {"eps": 0.0, "amsgrad": True},
        {"amsgrad": True, "weight_decay": 0.1},
        {"weight_decay": 0.1},
        {"weight_decay": 0.1, "decoupled_weight_decay": True},
        {"weight_decay": 0.1, "eps": 0.0, "maximize": True},
        {"betas": (0.3, 0.5)},
        {"betas": (0.0, 0.0), "eps": 0.0},
        {"foreach": False, "capturable": False},
    ],
    "AdamW": [{}, {"eps": 0.0, "amsgrad": True}, {"weight_decay": 0.0, "eps": 0.0}],
    "Adamax": [{}, {"eps": 0.0}, {"lr": 0.0}, {"weight_decay": 0.1, "maximize": True},
               {"betas": (0.3, 0.5), "eps": 0.0}],
    "NAdam": [{}, {"eps": 0.0}, {"lr": 0.0}, {"weight_decay": 0.1, "maximize": True},
              {"weight_decay": 0.1, "decoupled_weight_decay": True}, {"betas": (0.3, 0.5)}],
    "RAdam": [{}, {"eps": 0.0}, {"lr": 0.0}, {"weight_decay": 0.1, "maximize": True},
              {"weight_decay": 0.1, "decoupled_weight_decay": True},
              {"betas": (0.3, 0.5)}, {"betas": (0.3, 0.9), "eps": 0.0}],
    "Adagrad": [{}, {"eps": 0.0}, {"lr": 0.0}, {"lr_decay": 0.1, "weight_decay": 0.1},
                {"initial_accumulator_value": 1e-30, "eps": 0.0, "maximize": True}],
    "Adadelta": [{}, {"eps": 0.0}, {"lr": 0.0}, {"weight_decay": 0.1, "maximize": True},
                 {"rho": 0.0, "eps": 0.0}, {"rho": 1.0}],
    "RMSprop": [{}, {"eps": 0.0}, {"lr": 0.0}, {"centered": True}, {"centered": True, "eps": 0.0},
                {"momentum": 0.9}, {"momentum": 0.9, "centered": True, "weight_decay": 0.1},
                {"alpha": 0.3, "centered": True}, {"alpha": 0.0, "eps": 0.0, "maximize": True}],
    "Rprop": [{}, {"lr": 0.0}, {"etas": (0.3, 1.5), "step_sizes": (0.0, 1e30), "maximize": True}],
    "ASGD": [{}, {"lr": 0.0}, {"lambd": 0.1, "t0": 2, "weight_decay": 0.1}, {"maximize": True}],
}  # fmt: skip
CASES = [(name, settings) for name, rows in SETTINGS.items() for settings in rows]


@pytest.fixture(params=["numpy", "kernels"])
def kernels(request: pytest.FixtureRequest) -> Iterator[str]:
    """Each test runs with NumPy alone, and with kernels for arrays of any size."""
    before = get_kernels()
    if request.param == "kernels":
        pytest.importorskip("numba")
        tt.set_kernels("numba")
        with kernels_for_all_sizes():
            yield request.param
    else:
        tt.set_kernels("numpy")
        yield request.param
    tt.set_kernels(before)


# ------------------------------------------------------------------------------------------
# Gradients
# ------------------------------------------------------------------------------------------


def magnitudes(dtype: type) -> list[float]:
    """Numbers at which squares, products and sums of the dtype underflow or overflow."""
    info = np.finfo(dtype)
    small, large = float(info.smallest_subnormal), float(info.max)
    low, high = float(info.tiny) ** 0.5, large**0.5
    return [
        0.0, small, 3 * small, 1000 * small, float(info.tiny), low / 1000, low, 30 * low,
        1e-30, 1e-20, 1e-8, 0.3, 7.0, 1e8, 1e20, 1e30, high / 10, high, 3 * high, 20 * high,
        large / 1000, large / 3, 0.9 * large, float("inf"), float("nan"),
    ]  # fmt: skip


def sequences(dtype: type) -> np.ndarray:
    """(STEPS, N): what each element's gradient is, step by step."""
    steps = np.arange(STEPS)
    rows = []
    for value in magnitudes(dtype):
        rows += [
            np.full(STEPS, value),
            np.full(STEPS, -value),
            np.where(steps % 2, -value, value),
            np.where(steps == 0, value, 0.0),
            np.where(steps == 2, value, 0.0),
            np.where(steps < 3, value, 1.0),
            np.where(steps < 3, -1e-3, value),
        ]
    return np.array(rows, dtype=dtype).T


def starts(dtype: type) -> np.ndarray:
    info = np.finfo(dtype)
    return np.array([0.0, 1.5, -0.3, 1e-20, -1e30, 3 * info.smallest_subnormal], dtype=dtype)


def elements(dtype: type) -> tuple[np.ndarray, np.ndarray]:
    """(starting values, gradients of each step): all sequences from all starting values."""
    columns, first = sequences(dtype), starts(dtype)
    return np.repeat(first, columns.shape[1]), np.tile(columns, len(first))


def random_elements(dtype: type, seed: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of every exponent alike, and some special ones."""
    rng = np.random.default_rng(seed)
    info = np.finfo(dtype)

    def draw(shape: tuple[int, ...]) -> np.ndarray:
        exponent = rng.uniform(info.minexp - info.nmant, info.maxexp, shape)
        values = np.exp2(exponent / 2) * rng.choice([-1, 1], shape)
        values = values * np.exp2(exponent / 2)  # in two parts, neither of which overflows
        return np.where(rng.random(shape) < 0.05, rng.choice([0, np.inf, np.nan], shape), values)

    gradients = draw((STEPS, count)).astype(dtype)
    repeated = rng.random(count) < 0.3  # the same size each time
    gradients[:, repeated] = gradients[0, repeated]
    return rng.permutation(np.where(rng.random(count) < 0.7, rng.normal(size=count), draw((count,))
                                    ).astype(dtype)), gradients  # fmt: skip


# ------------------------------------------------------------------------------------------
# Running and comparing
# ------------------------------------------------------------------------------------------


def trajectory(
    lib: Any, name: str, settings: dict, start: np.ndarray, gradients: np.ndarray
) -> Iterator[tuple[np.ndarray, dict[str, np.ndarray]]]:
    """(parameter, state) after each step."""
    p = lib.tensor(start.copy())
    p.requires_grad_()
    optimizer = getattr(lib.optim, name)([p], **settings)
    for g in gradients:
        p.grad = lib.tensor(g.copy())
        optimizer.step()
        kept = optimizer.state_dict()["state"].get(0, {})
        arrays = {k: v for k, v in kept.items() if getattr(v, "shape", ()) == p.shape}
        state = {k: v.detach().numpy().copy() for k, v in arrays.items()}
        yield p.detach().numpy().copy(), state


def uncertainty(state: dict[str, np.ndarray], settings: dict) -> Any:
    """How large a part of a step its last rounding may be, from PyTorch's state."""
    result: Any = 0.0
    wide = {key: value.astype(np.longdouble) for key, value in state.items()}
    info: Any = np.finfo(next((value.dtype for value in state.values()), np.float32))
    unit, eps = info.smallest_subnormal, info.eps
    for key, square in wide.items():
        if "sq" in key or key in ("sum", "acc_delta"):
            result = result + np.where(square > 0, 2 * unit / np.maximum(square, unit), 0)
    if settings.get("centered"):
        square, mean = wide["square_avg"], wide["grad_avg"]
        variance = np.abs(square - mean * mean)
        lost = (4 * STEPS * eps * square + 4 * unit) / np.maximum(variance, unit)
        result = result + np.where(square > 0, lost, 0)
    return result


def check(name: str, settings: dict, start: np.ndarray, gradients: np.ndarray) -> None:
    """Compare each step of ours with PyTorch's."""
    torch = pytest.importorskip("torch")
    eps = np.finfo(start.dtype).eps
    unit = float(np.finfo(start.dtype).smallest_subnormal)
    scale = np.abs(start)
    loose: Any = np.zeros(start.shape)
    before = start
    with np.errstate(all="ignore"):
        ours = trajectory(tt, name, settings, start, gradients)
        theirs = trajectory(torch, name, settings, start, gradients)
        for step, ((p, state), (q, expected)) in enumerate(zip(ours, theirs), 1):
            assert p.dtype == start.dtype
            loose = np.maximum(loose, uncertainty(expected, settings))
            decay, sign = settings.get("weight_decay", 0), -1 if settings.get("maximize") else 1
            g = sign * gradients[step - 1].astype(np.longdouble)
            cancels = (g != 0) & (np.abs(g + decay * before.astype(np.longdouble)) < np.abs(g) / 4)
            loose = np.where(cancels, 1, loose)
            decided = loose < 0.3  # else one rounding decides
            scale = np.fmax(scale, np.where(np.isfinite(q), np.abs(q), 0))
            scale = np.fmax(scale, np.where(np.isfinite(q - before), np.abs(q - before), 0))
            before = q
            where = f"{name} {settings} {start.dtype}, step {step}"
            allowed = (8 * step * eps + 4 * loose) * scale + 4 * unit
            compare(where, "parameter", p, q, allowed, decided, start, gradients)
            for key, value in expected.items():
                if key in ("acc_delta", "ax") or "buffer" in key:
                    continue  # made of what the parameter is, to which its tolerance applies
                size = np.fmax.reduce(np.abs(gradients[:step]))
                size = size + settings.get("weight_decay", 0) * scale
                size = np.abs(value) if "sq" in key else np.fmax(np.abs(value), size)
                allowed = 8 * step * eps * size + 4 * unit
                compare(where, key, state[key], value, allowed, decided, start, gradients)


def compare(where: str, what: str, found: Any, expected: Any, allowed: Any, decided: Any,
            start: Any, gradients: Any) -> None:  # fmt: skip
    """NaN and inf in the same places, and finite numbers as near as allowed, where decided."""
    same_kind = (np.isnan(found) == np.isnan(expected)) & (np.isinf(found) == np.isinf(expected))
    both = np.isfinite(found) & np.isfinite(expected)
    difference = np.where(both, np.abs(found - expected), 0)
    allowed = np.where(both, allowed, 0)
    same_sign = both | np.isnan(expected) | (found == expected)
    wrong = decided & ~(same_kind & same_sign & (difference <= allowed))
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        raise AssertionError(
            f"{where}: {what} is {found[i]!r}, expected {expected[i]!r} (±{allowed[i]:.3g}); from "
            f"{start[i]!r} by gradients {gradients[:, i].tolist()}; {wrong.sum()} of {wrong.size}"
        )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("name", "settings"), CASES, ids=str)
def test_extreme_gradients_equal_pytorchs(
    name: str, settings: dict[str, Any], dtype: type, kernels: str
) -> None:
    check(name, settings, *elements(dtype))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", SETTINGS)
def test_gradients_of_every_exponent(name: str, dtype: type, kernels: str) -> None:
    for seed, settings in enumerate(SETTINGS[name]):
        check(name, settings, *random_elements(dtype, seed, 2000))
