"""SparseAdam against PyTorch: only rows with a gradient change, and only their moments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinytensor as tt

torch = pytest.importorskip("torch")

SHAPES = [(5, 3), (3, 5), (4,), (4, 2, 3), (1, 6)]
SETTINGS: list[dict[str, Any]] = [
    {},
    {"lr": 0.1, "betas": (0.8, 0.95), "eps": 1e-3},
    {"lr": 0.02, "maximize": True},
]


def gradients(shape: tuple) -> list[np.ndarray]:
    """Rows of zeros and others; in a row that counts, one element may be 0."""
    rng = np.random.default_rng(0)
    found = []
    for i in range(4):
        g = rng.normal(size=shape)
        g[np.arange(shape[0]) % 3 == i % 3] = 0
        if g.ndim > 1 and g[-1].any():
            g[-1].reshape(-1)[0] = 0
        found.append(g)
    return found


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.filterwarnings("ignore:Sparse invariant checks:UserWarning")
def test_as_pytorch(shape: tuple, settings: dict[str, Any], dtype: str) -> None:
    values = np.random.default_rng(1).normal(size=shape)
    found = []
    for lib in (tt, torch):
        p = lib.tensor(values, dtype=getattr(lib, dtype)).requires_grad_()
        optimizer = lib.optim.SparseAdam([p], **settings)
        for g in gradients(shape):
            p.grad = lib.tensor(g, dtype=getattr(lib, dtype))
            if lib is torch:
                p.grad = p.grad.to_sparse(1)
            optimizer.step()
        state = optimizer.state_dict()["state"][0]
        found.append([p.detach().numpy(), *(np.asarray(state[key]) for key in sorted(state))])
    close = {"rtol": 1e-9} if dtype == "float64" else {"rtol": 1e-4, "atol": 1e-6}
    for ours, theirs in zip(*found):
        np.testing.assert_allclose(ours, theirs, **close)


def test_rows_without_a_gradient_stay() -> None:
    p = tt.ones(3, 2, requires_grad=True)
    optimizer = tt.optim.SparseAdam([p], lr=0.1)
    for row in (0, 1):
        p.grad = tt.zeros(3, 2)
        p.grad[row] = 1
        optimizer.step()
    moments = optimizer.state[p]["exp_avg"]
    assert (p[2] == 1).all() and (np.asarray(moments)[2] == 0).all()
    assert (p[:2] != 1).all() and (np.asarray(moments)[:2] != 0).all()
