"""Cases from PyTorch's own tests of new tensors that gave other numbers or errors here."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tinytensor as tt

torch: Any = pytest.importorskip("torch", reason="PyTorch is the oracle of this test")


def outcome(library: Any, case: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return case(library)
        except Exception as error:
            return error


def assert_agree(case: Any) -> None:
    ours, theirs = outcome(tt, case), outcome(torch, case)
    if isinstance(theirs, Exception):
        assert isinstance(ours, Exception), f"computed {ours}, PyTorch raises {theirs!r}"
        assert isinstance(ours, type(theirs)), f"{ours!r} for {theirs!r}"
        return
    assert not isinstance(ours, Exception), repr(ours)
    assert str(ours.dtype).split(".")[1] == str(theirs.dtype).split(".")[1]
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=2e-6, atol=1e-6)


BYTES = np.arange(6, dtype=np.float32).tobytes()
HUGE = [2, 4, 2**29, 2**29]

CASES = {
    "asarray of a buffer": lambda L: L.asarray(bytearray(BYTES)),
    "asarray of a buffer as int16": lambda L: L.asarray(bytearray(BYTES), dtype=L.int16),
    "asarray of a memoryview": lambda L: L.asarray(memoryview(bytearray(BYTES))),
    "asarray of bytes": lambda L: L.asarray(BYTES, dtype=L.float64),
    "asarray of a short buffer": lambda L: L.asarray(bytearray(6)),
    "asarray of a buffer, copied": lambda L: L.asarray(bytearray(BYTES), copy=True),
    "asarray of a capsule": lambda L: L.asarray(L.arange(3.0).__dlpack__()),
    "asarray of a capsule as int64": lambda L: L.asarray(L.arange(3.0).__dlpack__(), dtype=L.int64),
    "from_dlpack of a capsule": lambda L: L.from_dlpack(L.arange(3.0).__dlpack__()),
    "asarray of a NumPy scalar": lambda L: L.asarray(np.float32(3)),
    "asarray of a NumPy scalar, shared": lambda L: L.asarray(np.float32(3), copy=False),
    "linspace to a complex number": lambda L: L.linspace(0, 1 + 2j, 5),
    "linspace from a complex number": lambda L: L.linspace(1j, 2, 4, dtype=L.complex128),
    "linspace, complex ends and a real dtype": lambda L: L.linspace(0, 1j, 4, dtype=L.float32),
    "linspace of one complex number": lambda L: L.linspace(1j, 2, 1),
    "logspace to a complex number": lambda L: L.logspace(0, 1 + 2j, 4),
    "logspace, complex ends and a real dtype": lambda L: L.logspace(0, 1j, 4, dtype=L.float32),
    "empty, too large": lambda L: L.empty(HUGE, dtype=L.float64),
    "zeros, too large": lambda L: L.zeros(HUGE),
    "ones, too large": lambda L: L.ones(HUGE),
    "full, too large": lambda L: L.full(HUGE, 1.0),
    "uniform_, a range too wide": lambda L: L.zeros(2).uniform_(-3e38, 3e38),
    "uniform_, a range too wide for float16": lambda L: L.zeros(2).half().uniform_(-6e4, 6e4),
    "uniform_, bounds too large": lambda L: L.zeros(2).half().uniform_(-1e5, -9e4),
    "uniform_, no range": lambda L: L.zeros(2).uniform_(2, 1),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_cases(name: str) -> None:
    assert_agree(CASES[name])


def test_buffers_and_capsules_share_memory() -> None:
    memory = bytearray(BYTES)
    x = tt.asarray(memory)
    x[0] = 9
    assert np.frombuffer(memory, np.float32)[0] == 9
    source = tt.arange(3.0)
    y = tt.asarray(source.__dlpack__())
    source[1] = 7
    assert y.tolist() == [0, 7, 2]
