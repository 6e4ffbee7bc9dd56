"""Fixtures of the kernel cache's tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def runs(
    tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Any]:
    """Kernels that are kept in an empty folder."""
    numba = pytest.importorskip("numba")
    from tinytensor.kernels.machinery import cache, fingerprint

    from .cached import Runs

    folder = tmp_path / "cache"
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(folder))
    yield Runs(folder, capsys, monkeypatch)
    cache._folders.cache_clear()
    fingerprint.environment.cache_clear()


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A module with a kernel, in a folder of its own; there is an empty home beside it."""
    from .cached import load_module, write_module

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return load_module(write_module(tmp_path / "sources"), monkeypatch)
