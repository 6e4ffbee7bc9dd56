"""Processes that share a kernel cache on disk: at once, killed, as another user, without room."""

from __future__ import annotations

import errno
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("numba")

from .cached import NOBODY, as_root, posix

PROGRAM = """
import sys
{before}
import numpy as np
from tinytensor.kernels.machinery.compile import parallel, part, serial

@part
def polynomial(x):
    return 3 * x * x - 2 * x + 1

@serial
def total(x):
    y = 0.0
    for i in range(x.size):
        y += polynomial(x[i])
    return y

@parallel
def fill(start, stop, x):
    for i in range(start, stop):
        x[i] = polynomial(x[i])

x = np.arange(8.0)
fill(8, x)
print(x.tolist() == [3 * i * i - 2 * i + 1 for i in range(8)], total(np.arange(8.0)))
"""
RIGHT = "True 372.0\n"


def program(folder: Path, before: str = "") -> list[str]:
    """The command that runs two small kernels, from a file in this folder."""
    folder.mkdir(exist_ok=True)
    path = folder / "program.py"
    if not path.exists():
        path.write_text(textwrap.dedent(PROGRAM).replace("{before}", before))
    return [sys.executable, str(path)]


def lines_but_notices(text: str) -> list[str]:
    return [line for line in text.splitlines() if "compiling the kernel" not in line]


def run(command: list[str], cache: Any = "", **options: Any) -> subprocess.CompletedProcess:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), **options.pop("env", {})}
    if not cache:
        del environment["NUMBA_CACHE_DIR"]
    environment.pop("XDG_CACHE_HOME", None)
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    done = subprocess.run(command, env=environment, capture_output=True, text=True, **options)
    assert (done.returncode, done.stdout) == (0, RIGHT), done
    assert len(lines_but_notices(done.stderr)) <= 1, done.stderr
    return done


@pytest.mark.slow
def test_processes_at_once_some_of_them_killed(tmp_path: Path) -> None:
    random_number = random.Random(14)
    command, folder = program(tmp_path / "program"), tmp_path / "cache"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    processes = [
        subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(8)
    ]
    for victim in processes[:4]:  # from the first that compiles to, perhaps, the last that writes
        until = time.monotonic() + 60
        while not folder.exists() and victim.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(random_number.uniform(0.0, 0.5))
        victim.send_signal(signal.SIGKILL)
    for i, process in enumerate(processes):
        out, err = process.communicate(timeout=300)
        if i >= 4:
            assert (process.returncode, out) == (0, RIGHT), err
            assert not lines_but_notices(err)
    assert not run(command, folder).stderr


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_killed_again_and_again(tmp_path: Path, seed: int) -> None:
    """Kills while a kernel is written, between each two calls of the system."""
    moments = ["os.open", "os.fdopen", "os.replace", "os.scandir", "os.unlink"]
    before = f"""
import os, random
number = random.Random({seed} * 1000 + int(sys.argv[1]))
def killing(function):
    def run(*args, **options):
        if "{tmp_path / "cache"}" in str(args[0]) and number.random() < 0.3:
            os.kill(os.getpid(), 9)
        result = function(*args, **options)
        if "{tmp_path / "cache"}" in str(args[0]) and number.random() < 0.2:
            os.kill(os.getpid(), 9)
        return result
    return run
if int(sys.argv[1]):
    {"; ".join(f"{name} = killing({name})" for name in moments)}
"""
    command, folder = program(tmp_path / "program", before), tmp_path / "cache"
    killed = 0
    for i in range(1, 7):
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
        done = subprocess.run([*command, str(i)], env=environment, capture_output=True, text=True)
        assert done.returncode == -signal.SIGKILL or done.stdout == RIGHT, done.stderr
        killed += done.returncode != 0
    assert killed
    assert not lines_but_notices(run([*command, "0"], folder).stderr)
    assert not run([*command, "0"], folder).stderr


@pytest.mark.slow
def test_another_processor_does_not_disturb(tmp_path: Path) -> None:
    command, folder = program(tmp_path / "program"), tmp_path / "cache"
    assert "compiling" in run(command, folder).stderr
    other = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    assert "compiling" in run(command, folder, env=other).stderr
    assert not run(command, folder, env=other).stderr
    assert not run(command, folder).stderr


FULL = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))"


@posix
def test_no_room_for_a_file(tmp_path: Path) -> None:
    command = program(tmp_path / "program", FULL)
    done = run(command, tmp_path / "cache")
    (line,) = lines_but_notices(done.stderr)
    assert "not kept on disk" in line and os.strerror(errno.EFBIG) in line
    assert not list((tmp_path / "cache").rglob("*.*"))


# The interpreter may lie where others cannot read, so all that compiling needs is imported first.
BECOME_NOBODY = f"""
import os
from tinytensor.kernels.machinery import cache, compile
folders, cache._folders = cache._folders, lambda *places: ()
import numpy
compile.serial(lambda x: 2.0 * x[0] + x.size)(numpy.ones(3))
@compile.parallel
def first(start, stop, x):
    for i in range(start, stop):
        x[i] = x[i] * 2
first(3, numpy.ones(3))
cache._folders = folders
os.setgroups([]), os.setgid({NOBODY}), os.setuid({NOBODY})
"""


@as_root
@pytest.mark.slow
@pytest.mark.parametrize("home, cache", [("missing", ""), ("own", ""), ("own", "of root")])
def test_an_ordinary_user_of_an_installed_package(home: str, cache: str) -> None:
    """The sources belong to root, and at most the home can be written to."""
    folder = Path(tempfile.mkdtemp())  # others can look into it, unlike tmp_path
    try:
        folder.chmod(0o755)
        command = program(folder / "program", BECOME_NOBODY)
        for name in ("cache", "own"):
            (folder / name).mkdir(mode=0o755)
        os.chown(folder / "own", NOBODY, NOBODY)
        options: dict[str, Any] = {"env": {"HOME": str(folder / home)}, "cwd": "/"}
        first, second = (run(command, cache and folder / "cache", **options) for _ in range(2))
        assert "kernel fill" in first.stderr
        assert ("kernel fill" in second.stderr) == (home == "missing")
        lines = lines_but_notices(second.stderr)
        assert len(lines) == (cache == "of root" or home == "missing")
        assert all("Permission denied" in line for line in lines), lines
    finally:
        shutil.rmtree(folder)


def test_without_a_place_for_messages(tmp_path: Path) -> None:
    """With stderr closed there is no notice, above all not among the results."""
    command = program(tmp_path / "program", "import os; os.close(2); sys.stderr = None")
    run(command, tmp_path / "cache")
