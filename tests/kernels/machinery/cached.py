"""Kernels on a cache of their own: what the tests of the kernel cache share."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tinytensor.kernels.machinery import cache
from tinytensor.kernels.machinery.compile import serial

posix = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no modes here")
as_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can be another user"
)
NOBODY = 65534


def scaled(x):
    return 3 * x + 1


class Runs:
    """Runs kernels on one cache, and says what was compiled and printed."""

    def __init__(self, folder: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self._capsys, self._monkeypatch = folder, capsys, monkeypatch

    def __call__(self, function: Callable = scaled, x: Any = 14) -> tuple[int, list[str]]:
        """Right numbers; (how many kernels were compiled, the other lines on stderr)."""
        self._monkeypatch.setattr(cache, "_said", [])
        cache._folders.cache_clear()
        self._capsys.readouterr()
        assert serial(function)(x) == function(x)
        out, err = self._capsys.readouterr()
        assert not out
        compiled = err.count("tinytensor: compiling the kernel")
        return compiled, [line for line in err.splitlines() if "compiling the" not in line]

    @property
    def files(self) -> list[Path]:
        return sorted(path for path in self.folder.rglob("*") if not path.is_dir())

    @property
    def file(self) -> Path:
        (path,) = self.files
        return path


def write_module(folder: Path, text: str = "def scaled(x):\n    return 3 * x + 1\n") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "probe.py"
    path.write_text(text)
    return path


def load_module(path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    spec = importlib.util.spec_from_file_location("probe", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "probe", module)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "dont_write_bytecode", True)
        spec.loader.exec_module(module)
    return module
