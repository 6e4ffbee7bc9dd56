"""Real signals, at random moments: in Python, in NumPy, in a kernel, while a kernel compiles."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import nn
import nn.functional as F
import tinytensor as tt
from tests.faults.step import modes
from tests.faults.test_interrupts import kernels
from tests.faults.training import plain
from tinytensor import optim

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="timers are POSIX's")


@pytest.fixture
def timer() -> Iterator[None]:
    """SIGALRM presses Ctrl-C."""
    before = signal.signal(signal.SIGALRM, lambda number, frame: signal.raise_signal(signal.SIGINT))
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def result() -> Any:
    """The numbers of three steps, with arrays that are large enough for every kernel."""
    tt.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.LayerNorm(128), nn.Dropout(0.1))
    optimizer = optim.AdamW(model.parameters())
    x = tt.randn(128, 64)
    for _ in range(3):
        optimizer.zero_grad()
        F.mse_loss(model(x), tt.zeros(128, 128)).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return plain((model.state_dict(), optimizer.state_dict()))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["numpy", "numba"])
def test_signals_at_random_moments(name: str, timer: None, monkeypatch: pytest.MonkeyPatch) -> None:
    lost: list[Any] = []  # in a __del__, where Python can only print them
    monkeypatch.setattr(sys, "unraisablehook", lost.append)
    with kernels(name):
        expected = result()
        begin = time.monotonic()
        assert result() == expected
        seconds = time.monotonic() - begin
        before, dice, struck = modes(), random.Random(0), 0
        for _ in range(60):
            try:
                signal.setitimer(signal.ITIMER_REAL, dice.uniform(1e-5, seconds))
                result()
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                struck += 1
            signal.setitimer(signal.ITIMER_REAL, 0)
            assert modes() == before
            if struck % 4 == 0:
                assert result() == expected
    assert struck > 10
    assert all(found.exc_type is KeyboardInterrupt for found in lost) and len(lost) < 10


COMPILING = """
import os, signal, sys
import numpy as np
import nn.functional as F
import tinytensor as tt
from tinytensor.kernels.machinery.find_blas import find_blas

tt.set_kernels("numba")
blas = find_blas()
threads = blas.get_threads()
signal.signal(signal.SIGALRM, lambda number, frame: signal.raise_signal(signal.SIGINT))
x = tt.linspace(-3, 3, 100_000)
struck = 0
for delay in (0.05, 0.3, 0.8, 1.5, 60):
    signal.setitimer(signal.ITIMER_REAL, delay)
    try:
        y = F.gelu(x)
    except KeyboardInterrupt:
        struck += 1
    assert tt.is_grad_enabled() and blas.get_threads() == threads
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
signal.setitimer(signal.ITIMER_REAL, 0)
tt.set_kernels("numpy")
assert np.allclose(y.numpy(), F.gelu(x).numpy(), atol=1e-6)
print(struck)
"""


@pytest.mark.slow
def test_while_a_kernel_compiles(tmp_path: Path) -> None:
    with kernels("numba"):
        pass  # or skip
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", COMPILING]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr
    assert 1 <= int(done.stdout) <= 4, done.stdout
