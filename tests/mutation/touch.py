"""Pytest plugin that records which functions of the source each test calls, and how long it takes.

    python -m pytest -p tests.mutation.touch --touches=out.json tests/optim

The record says which tests can notice a change of a function. Only calls are traced, not lines, so
a run takes little longer than without. What Numba compiles makes no calls that Python could see.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from .places import PACKAGES


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--touches", help="the JSON file to write: which test calls which functions")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Recorder(config), "touch recorder")


class Recorder:
    """{test: (seconds, functions)} for the tests that pass; functions by their place in a list."""

    def __init__(self, config: pytest.Config) -> None:
        self.file = Path(config.getoption("--touches"))
        self.root = f"{config.rootpath}/"
        self.names: dict[str, int] = {}
        self.known: dict[CodeType, int] = {}
        self.tests: dict[str, tuple[float, list[int]]] = {}
        self.failed: set[str] = set()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        called: set[CodeType] = set()

        def trace(frame: FrameType, event: str, arg: Any) -> None:
            called.add(frame.f_code)

        threading.settrace(trace)
        sys.settrace(trace)
        start = time.perf_counter()
        try:
            yield
        finally:
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]
            seconds = time.perf_counter() - start
            places = {self.place(code) for code in called} - {-1}
            self.tests[item.nodeid] = round(seconds, 4), sorted(places)

    def place(self, code: CodeType) -> int:
        """Where the function stands in the list; −1 if it is none of the packages'."""
        if code not in self.known:
            path, place = code.co_filename.removeprefix(self.root), -1
            if path.startswith(tuple(PACKAGES.values())):
                place = self.names.setdefault(f"{path}:{code.co_qualname}", len(self.names))
            self.known[code] = place
        return self.known[code]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self.failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        passed = {id: entry for id, entry in self.tests.items() if id not in self.failed}
        self.file.write_text(json.dumps({"functions": list(self.names), "tests": passed}))
