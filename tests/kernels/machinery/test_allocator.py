"""keep_memory: what the C library does with the memory of freed arrays."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

import tinytensor as tt
from tinytensor.kernels.machinery import allocator

# Eight arrays of 2 MB are made and freed again and again: how many pages the system had to give.
CODE = """
import resource, sys
import numpy as np
import tinytensor as tt

if sys.argv[1] == "keep":
    assert tt.keep_memory()

def step():
    arrays = [np.ones(2**21, dtype=np.uint8) for _ in range(8)]

step()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    step()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc's allocator")
def test_freed_memory_is_used_again() -> None:
    def pages(mode: str) -> int:
        command = [sys.executable, "-c", CODE, mode]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return int(done.stdout)

    assert pages("keep") < 100
    assert pages("leave") > 1000  # or there would be nothing to gain


def test_elsewhere_nothing_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allocator.sys, "platform", "darwin")
    assert tt.keep_memory() is False
