"""One program, run with tinytensor and with PyTorch on the same numbers."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinytensor


class Numbers:
    """The same numbers for both libraries."""

    def __init__(self, torch: Any):
        self.torch, self.rng = torch, np.random.default_rng(0)

    def normal(self, *shape: int, scale: float = 1.0) -> Any:
        return self.torch.tensor(self.rng.standard_normal(shape) * scale, dtype=self.torch.float32)

    def leaf(self, *shape: int, scale: float = 1.0) -> Any:
        return self.normal(*shape, scale=scale).requires_grad_()

    def integers(self, high: int, *shape: int) -> Any:
        return self.torch.from_numpy(self.rng.integers(0, high, shape))


def flatten(value: Any) -> list:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in flatten(item)]
    return [value]


def assert_same_in_both(program: Callable) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is the oracle of this test")
    ours = flatten(program(tinytensor, tinytensor.nn.functional, Numbers(tinytensor)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's own, about NumPy 2 and float(loss)
        theirs = flatten(program(torch, torch.nn.functional, Numbers(torch)))
    assert len(ours) == len(theirs) > 0
    for i, (a, b) in enumerate(zip(ours, theirs)):
        where = f"{program.__name__}, result {i}"
        if not isinstance(b, torch.Tensor):
            if isinstance(b, float):
                assert isinstance(a, float) and math.isclose(a, b, rel_tol=1e-3, abs_tol=1e-5), (
                    where
                )
            else:
                assert (type(a), a) == (type(b), b), where
            continue
        assert tuple(a.shape) == tuple(b.shape), where
        assert str(a.dtype).split(".")[1] == str(b.dtype).split(".")[1], where
        assert (a.requires_grad, a.is_leaf) == (b.requires_grad, b.is_leaf), where
        x, y = a.detach().numpy(), b.detach().numpy()
        np.testing.assert_allclose(x, y, rtol=1e-3, atol=2e-5, err_msg=where)
