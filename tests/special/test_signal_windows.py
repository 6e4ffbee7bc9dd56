"""tinytensor.signal.windows against torch.signal.windows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.signal import windows

CASES: list[tuple[str, dict[str, Any]]] = [
    ("bartlett", {}), ("blackman", {}), ("cosine", {}), ("exponential", {}),
    ("exponential", {"tau": 3.0}), ("gaussian", {}), ("gaussian", {"std": 0.4}),
    ("general_cosine", {"a": [0.5, 0.3, 0.2]}), ("general_hamming", {}),
    ("general_hamming", {"alpha": 0.7}), ("hamming", {}), ("hann", {}), ("kaiser", {}),
    ("kaiser", {"beta": 0.0}), ("nuttall", {}),
]  # fmt: skip


@pytest.mark.parametrize("sym", [True, False])
@pytest.mark.parametrize("M", [0, 1, 2, 7, 10])
@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
def test_as_pytorch(name: str, options: dict, M: int, sym: bool) -> None:
    torch = pytest.importorskip("torch")
    for dtype in ("float64", "float32"):
        theirs = getattr(torch.signal.windows, name)(
            M, sym=sym, dtype=getattr(torch, dtype), **options
        )
        ours = getattr(windows, name)(M, sym=sym, dtype=getattr(tt, dtype), **options)
        assert f"torch.{ours.dtype.name}" == str(theirs.dtype) and tuple(ours.shape) == tuple(
            theirs.shape
        )
        close = 1e-9 if dtype == "float64" else 1e-5
        assert np.allclose(ours.numpy(), theirs.numpy(), rtol=close, atol=close)


def test_a_center_of_its_own() -> None:
    torch = pytest.importorskip("torch")
    theirs = torch.signal.windows.exponential(5, center=1.0, tau=2.0, sym=False)
    ours = windows.exponential(5, center=1.0, tau=2.0, sym=False)
    assert np.allclose(ours.numpy(), theirs.numpy())


@pytest.mark.parametrize(
    ("name", "options", "error", "message"),
    [
        ("hann", {"M": -1}, ValueError, "M = -1"),
        ("hann", {"M": 2.5}, TypeError, "whole number"),
        ("hann", {"M": 3, "dtype": tt.int64}, ValueError, "int64"),
        ("hann", {"M": 3, "what": 1}, TypeError, "what"),
        ("exponential", {"M": 3, "tau": 0}, ValueError, "tau = 0"),
        ("exponential", {"M": 3, "center": 1}, ValueError, "center"),
        ("gaussian", {"M": 3, "std": -1}, ValueError, "std = -1"),
        ("kaiser", {"M": 3, "beta": -1}, ValueError, "beta = -1"),
        ("general_cosine", {"M": 3, "a": 1.0}, TypeError, "float"),
        ("general_cosine", {"M": 3, "a": []}, ValueError, "at least one"),
    ],
)
def test_refused(name: str, options: dict, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        getattr(windows, name)(**options)


def test_requires_grad_and_path() -> None:
    assert tt.signal.windows.hann(4, requires_grad=True).requires_grad
    assert "hann" in windows.__all__
