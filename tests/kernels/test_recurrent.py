"""A GRU without biases, of one number: the case in which its terms can cancel nearly whole."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("numba")

import tinytensor as tt
from tinytensor.kernels.machinery.route import kernels_for_all_sizes


def state_and_gradients(arrays: list[np.ndarray], dtype: type, kernels: str) -> np.ndarray:
    tt.set_kernels(kernels)
    try:
        with kernels_for_all_sizes():
            inputs = [tt.tensor(a.astype(dtype), requires_grad=True) for a in arrays]
            y = tt.gru_sequence(*inputs)
            y.sum().backward()
    finally:
        tt.set_kernels("auto")
    return np.concatenate([y.detach().numpy().ravel(), *(x.grad.numpy().ravel() for x in inputs)])


@pytest.mark.parametrize("seed", range(40))
def test_gru_is_exact_to_the_size_of_its_terms(seed: int) -> None:
    """y = n + u·(h − n) may be far smaller than n and h: its error is measured by those."""
    random = np.random.default_rng(seed)
    arrays = [random.standard_normal(shape) for shape in ((1, 1, 1), (1, 1), (3, 1), (3, 1))]
    arrays = [a.astype(np.float32) for a in arrays]
    found = state_and_gradients(arrays, np.float32, "numba")
    exact = state_and_gradients(arrays, np.float64, "numpy")
    size = max(1.0, *(np.abs(a).max() for a in arrays))
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-6 * size)
