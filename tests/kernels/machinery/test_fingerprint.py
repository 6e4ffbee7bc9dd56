"""What machine code on disk depends on: nothing is loaded for a kernel that is not the same."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("numba")

import llvmlite
import numba

from tinytensor.kernels.machinery import fingerprint
from tinytensor.kernels.machinery.compile import compile_for_kernels, parallel

from .cached import Runs, load_module, write_module


def times(factor: int) -> Callable:
    @parallel
    def multiply(start, stop, x):
        for i in range(start, stop):
            x[i] *= factor

    return multiply


def test_kernels_of_one_name_are_told_apart(runs: Runs) -> None:
    """Seen: of two kernels made by one function, the second was loaded for the first."""
    for _ in range(2):
        for factor in (2, 3):
            x = np.ones(5)
            times(factor)(5, x)
            assert x.tolist() == [factor] * 5
    assert len(runs.files) == 2


FACTOR = 2


def by_factor(x):
    return FACTOR * x


def test_constants_are_looked_at(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen: coefficients in tinytensor/ops could change without the kernels that use them."""
    for value in (2, 3, 2):
        monkeypatch.setattr(sys.modules[__name__], "FACTOR", value)
        fingerprint._look_into.cache_clear()
        runs(by_factor, 5)
    assert len(runs.files) == 2
    fingerprint._look_into.cache_clear()


def test_a_change_of_sources_is_seen_whatever_their_times(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file has the same size and time, as after a checkout or rsync."""
    text = "def helper(x):\n    return {}\n\n\ndef scaled(x):\n    return {} * x\n"
    for numbers, compiled in (((1, 3), 1), ((1, 4), 1), ((2, 4), 1), ((2, 4), 0), ((1, 3), 1)):
        path = write_module(tmp_path / "sources", text.format(*numbers))
        os.utime(path, (1e9, 1e9))
        fingerprint._contents_of.cache_clear()
        assert runs(load_module(path, monkeypatch).scaled) == (compiled, [])
        assert len(runs.files) == 1, "what was compiled from other sources is deleted"


def test_a_file_that_changes_while_a_process_runs(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process compiles what it has in memory; the next one must not take that for the file."""
    path = write_module(tmp_path / "sources")
    old = load_module(path, monkeypatch).scaled
    write_module(tmp_path / "sources", "def scaled(x):\n    return 4 * x + 1\n")
    assert runs(old) == (1, [])
    assert runs(load_module(path, monkeypatch).scaled) == (1, [])


def test_functions_for_kernels_are_known_by_what_they_take(runs: Runs) -> None:
    def nothing(x):
        pass

    digests = set()
    for kind in (numba.types.int64, numba.types.float64):
        called = compile_for_kernels(nothing, "tinytensor_test_nothing", kind)
        digests.add(fingerprint.code(lambda x, called=called: called(x)))
        digests.add(fingerprint.code(lambda x: called(x)))  # noqa: B023
    assert len(digests) == 4


MACHINE: dict[str, tuple[Any, str, Any]] = {
    "Numba": (numba, "__version__", "0.0"),
    "llvmlite": (llvmlite, "__version__", "0.0"),
    "NumPy": (np, "__version__", "0.0"),
    "Python": (sys, "version", "3"),
    "bounds checked": (numba.config, "BOUNDSCHECK", 1),
    "processor": (fingerprint.llvm, "get_host_cpu_name", lambda: "another"),
    "features": (fingerprint.llvm, "get_host_cpu_features", llvmlite.binding.FeatureMap),
}


@pytest.mark.parametrize("change", MACHINE.values(), ids=MACHINE)
def test_each_machine_has_its_own(
    runs: Runs, monkeypatch: pytest.MonkeyPatch, change: tuple
) -> None:
    runs()
    with monkeypatch.context() as patch:
        patch.setattr(*change)
        fingerprint.environment.cache_clear()
        assert runs() == (1, [])
        assert runs() == (0, [])
    fingerprint.environment.cache_clear()
    assert runs() == (0, []), "both lie beside each other"
    assert len(runs.files) == 2
