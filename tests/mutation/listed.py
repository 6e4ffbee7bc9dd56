"""Pytest plugin that runs the tests listed in a file, in that order, and lists those that fail."""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--listed", help="a file with the ids of the tests to run, one to a line")
    parser.addoption("--failed", help="the file to write the ids of those that fail to")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Listed(config), "listed tests")


class Listed:
    def __init__(self, config: pytest.Config) -> None:
        ids = Path(config.getoption("--listed")).read_text().split("\n")
        self.places = {id: place for place, id in enumerate(ids)}
        self.failed = Path(config.getoption("--failed"))

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        chosen = [item for item in items if item.nodeid in self.places]
        items[:] = sorted(chosen, key=lambda item: self.places[item.nodeid])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._note(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._note(report)

    def _note(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.failed:
            with self.failed.open("a") as file:
                print(report.nodeid, file=file)
