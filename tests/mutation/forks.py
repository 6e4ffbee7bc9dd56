"""Pytest plugin that collects the tests once, and then runs some of them in fork after fork.

In a fork the functions of one file get the code that they have with a mutation. So a mutation costs
no more than the tests for it: nothing is imported or collected again. A kernel's file is mutated on
disk, and the fork is the first to import and compile it. Requests come from run.py.
"""

from __future__ import annotations

import gc
import importlib
import os
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from types import CodeType, FunctionType

import pytest

POLL = 0.02  # seconds
CANNOT = 99  # the exit status if it is not in a function, or in a kernel that is imported already


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--forks", type=int, help="the file descriptor that requests come from")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    """Answer requests (tests, file, its bytes, folder for kernels, seconds) → (exit status, the
    test that failed).
    """
    items = {item.nodeid: item for item in session.items}
    functions = defaultdict(list)
    for function in gc.get_objects():
        if type(function) is FunctionType:
            functions[function.__code__.co_filename].append(function)
    with Connection(session.config.getoption("--forks")) as line, suppress(EOFError):
        while True:
            tests, *mutation, seconds = line.recv()
            reader, writer = os.pipe()
            child = os.fork()
            if not child:
                chosen = [items[id] for id in tests if id in items]
                _in_fork(chosen, functions[mutation[0]], *mutation, writer)
            os.close(writer)
            status = _wait(child, seconds)
            with open(reader, "rb") as pipe:
                line.send((status, pipe.read().decode()))
    return True


def _wait(child: int, seconds: float) -> int | None:
    """The exit status; negative for a signal, None if it took longer."""
    end = time.monotonic() + seconds
    found = status = 0
    try:
        while not found and time.monotonic() < end:
            time.sleep(POLL)
            found, status = os.waitpid(child, os.WNOHANG)
    finally:  # also what the tests have started and left behind
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        if not found:
            os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) if found else None


def _in_fork(
    items: list, functions: list, file: str, source: bytes, kernels: str, writer: int
) -> None:
    status = CANNOT
    try:
        os.setsid()
        if kernels:
            ready = not functions and not is_imported(file)
            compile_in(kernels)
        else:
            ready = put_code(functions, file, source)
        if ready:
            failed = _first_failed(items)
            os.write(writer, failed.encode())
            status = 1 if failed else 0
    finally:
        os._exit(status)


def is_imported(file: str) -> bool:
    """Whether a file is imported already; it may have no function, as one of constants has none."""
    return any(getattr(module, "__file__", None) == file for module in [*sys.modules.values()])


def compile_in(folder: str) -> None:
    """Keep compiled kernels in this folder, and load none from elsewhere."""
    os.environ["NUMBA_CACHE_DIR"] = folder
    with suppress(ImportError):
        numba = importlib.import_module("numba")
        numba.config.CACHE_DIR = folder


def _first_failed(items: list[pytest.Item]) -> str:
    reports: list[pytest.TestReport] = []

    class Listener:
        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            reports.append(report)

    if items:
        items[0].config.pluginmanager.register(Listener())
    for item, following in zip(items, [*items[1:], None]):
        reports.clear()
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if any(report.failed for report in reports):
            return item.nodeid
    return ""


# ------------------------------------------------------------------------------------------
# Code in place of code
# ------------------------------------------------------------------------------------------


def put_code(functions: list[FunctionType], file: str, source: bytes) -> bool:
    """Give the functions of a file the code of another version; whether that makes a difference."""
    old = list(_codes(compile(Path(file).read_bytes(), file, "exec")))
    new = list(_codes(compile(source, file, "exec")))
    if [code.co_qualname for code in old] != [code.co_qualname for code in new]:
        return False
    pairs = dict(zip(old, new))
    changed = False
    for function in functions:
        code = function.__code__
        other = pairs.get(code)
        if other is not None:
            changed |= _differs(code, other)
            function.__code__ = other
    return changed


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _differs(a: CodeType, b: CodeType) -> bool:
    """Whether they do something else, wherever they stand in the file."""
    return any(
        x.co_code != y.co_code or x.co_names != y.co_names or _numbers(x) != _numbers(y)
        for x, y in zip(_codes(a), _codes(b))
    )


def _numbers(code: CodeType) -> list[str]:
    return [repr(constant) for constant in code.co_consts if not isinstance(constant, CodeType)]
