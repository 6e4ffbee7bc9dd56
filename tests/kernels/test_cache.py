"""The kernel cache on disk: whatever is in it, or happens to it, the numbers are right.

Where one process is enough, a kernel is decorated anew for each call: it then comes from disk, or
is compiled, as in a new process.
"""

from __future__ import annotations

import errno
import importlib.util
import os
import pickle
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("numba")

import llvmlite
import numba

from tinytensor.kernels import cache, fingerprint
from tinytensor.kernels.compile import compile_for_kernels, parallel, serial

posix = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no modes here")
as_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can be another user"
)
NOBODY = 65534


def scaled(x):
    return 3 * x + 1


def shifted(x):
    return x + 7


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


@pytest.fixture
def runs(
    tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Runs]:
    folder = tmp_path / "cache"
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(folder))
    yield Runs(folder, capsys, monkeypatch)
    cache._folders.cache_clear()
    fingerprint.environment.cache_clear()


def test_compiled_once_and_kept(runs: Runs) -> None:
    assert runs() == (1, [])
    assert runs() == (0, [])
    assert runs(x=1.5) == (1, [])
    assert runs() == runs(x=1.5) == (0, [])
    assert len(runs.files) == 2 and all(path.suffix == ".kernel" for path in runs.files)


# ------------------------------------------------------------------------------------------
# What is in a file
# ------------------------------------------------------------------------------------------


class Bomb:
    """A pickle that, when read, makes a file."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> tuple:
        return Path.touch, (self.place,)


def flip_bit(seed: int) -> Callable[[Path, bytes], bytes]:
    def flip(path: Path, whole: bytes) -> bytes:
        place, bit = random.Random(seed).randrange(len(whole)), 1 << seed % 8
        return whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :]

    return flip


def flip_machine_code(path: Path, whole: bytes) -> bytes:
    place = whole.index(b"\x7fELF") + 200 if b"\x7fELF" in whole else len(whole) // 3
    return whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]


def other_kernel(path: Path, whole: bytes) -> bytes:
    """The file of another kernel, for the same types, under the name of this one."""
    serial(shifted)(14)
    (other,) = set(path.parent.glob("*.kernel")) - {path}
    return other.read_bytes()


def other_types(path: Path, whole: bytes) -> bytes:
    serial(scaled)(1.5)
    (other,) = set(path.parent.glob("*.kernel")) - {path}
    return other.read_bytes()


CONTENTS: dict[str, Callable[[Path, bytes], bytes]] = {
    "empty": lambda path, whole: b"",
    "only zeros": lambda path, whole: bytes(len(whole)),
    "random": lambda path, whole: random.Random(0).randbytes(len(whole)),
    "first line only": lambda path, whole: whole[: whole.index(b"\n") + 1],
    "cut in the digest": lambda path, whole: whole[:40],
    "cut in half": lambda path, whole: whole[: len(whole) // 2],
    "last byte missing": lambda path, whole: whole[:-1],
    "longer": lambda path, whole: whole + b"\0",
    "another format": lambda path, whole: whole.replace(b"kernel 1\n", b"kernel 0\n", 1),
    "a pickle": lambda path, whole: pickle.dumps(Bomb(path.parent / "read")),
    "a pickle within": lambda path, whole: whole[:52] + pickle.dumps(Bomb(path.parent / "read")),
    "machine code changed": flip_machine_code,
    "another kernel": other_kernel,
    "other types": other_types,
    **{f"bit {i} flipped": flip_bit(i) for i in range(4)},
}


@pytest.mark.parametrize("contents", CONTENTS.values(), ids=CONTENTS)
def test_damaged_files_are_replaced(runs: Runs, contents: Callable) -> None:
    runs()
    path = runs.file
    whole = path.read_bytes()
    damaged = contents(path, whole)
    assert damaged != whole
    path.write_bytes(damaged)
    assert runs() == (1, [])
    assert runs() == (0, [])
    assert not (path.parent / "read").exists(), "a pickle of others was read"


# ------------------------------------------------------------------------------------------
# What a file is, and whose
# ------------------------------------------------------------------------------------------


def keep_elsewhere(path: Path) -> Path:
    return shutil.move(path, path.parent.parent / "elsewhere")


FILES: dict[str, Callable[[Path], Any]] = {
    "writable by the group": lambda path: path.chmod(0o664),
    "writable by all": lambda path: path.chmod(0o646),
    "a link": lambda path: path.symlink_to(keep_elsewhere(path)),
    "a link to nothing": lambda path: path.symlink_to(keep_elsewhere(path).with_name("x")),
    "a pipe": lambda path: (path.unlink(), os.mkfifo(path)),
    "missing": lambda path: path.unlink(),
    "of another user": lambda path: os.chown(path, NOBODY, -1),
}


@posix
@pytest.mark.parametrize("change", FILES.values(), ids=FILES)
def test_files_of_others_are_not_read(runs: Runs, change: Callable) -> None:
    runs()
    if change is FILES["of another user"] and os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    path = runs.file
    change(path)
    assert runs() == (1, [])
    assert runs() == (0, [])
    assert path.is_file() and not path.is_symlink() and not path.stat().st_mode & 0o022


@posix
def test_a_folder_in_the_place_of_a_file(runs: Runs) -> None:
    runs()
    path = runs.file
    path.unlink()
    path.mkdir()
    compiled, (line,) = runs()
    assert compiled == 1 and "not kept on disk" in line and str(path.parent) in line


# ------------------------------------------------------------------------------------------
# Folders: (what to do with the folder of the cache, what the line says; None if it is used)
# ------------------------------------------------------------------------------------------


def under(mode: int) -> Callable[[Path], Any]:
    """The cache lies in a folder of this mode."""

    def prepare(folder: Path) -> None:
        folder.parent.chmod(mode)
        folder.mkdir(mode=0o755)

    return prepare


def made(mode: int) -> Callable[[Path], Any]:
    return lambda folder: (folder.mkdir(), folder.chmod(mode))


def linked(mode: int) -> Callable[[Path], Any]:
    def prepare(folder: Path) -> None:
        target = folder.with_name("target")
        made(mode)(target)
        folder.symlink_to(target)

    return prepare


FOLDERS: dict[str, tuple[Callable[[Path], Any], str | None]] = {
    "missing": (lambda folder: None, None),
    "closed to others": (made(0o755), None),
    "sticky": (made(0o1777), None),
    "in a sticky one": (under(0o1777), None),
    "behind a link": (linked(0o755), None),
    "writable by the group": (made(0o775), "run chmod go-w"),
    "writable by all": (made(0o777), "run chmod go-w"),
    "in a writable one": (under(0o777), "run chmod go-w"),
    "in one of the group": (under(0o775), "run chmod go-w"),
    "open behind a link": (linked(0o777), "run chmod go-w"),
    "of another user": (lambda folder: (folder.mkdir(), os.chown(folder, NOBODY, -1)), "belongs"),
    "a file": (lambda folder: folder.touch(), "is not a folder"),
    "a link to nothing": (lambda folder: folder.symlink_to(folder / ".." / "x"), None),
    "a link to itself": (lambda folder: folder.symlink_to(folder), "NUMBA_CACHE_DIR"),
}


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A module with a kernel, in a folder of its own; there is an empty home beside it."""
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return load_module(write_module(tmp_path / "sources"), monkeypatch)


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


@posix
@pytest.mark.parametrize("name", FOLDERS)
def test_which_folders_are_trusted(
    runs: Runs, elsewhere: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    prepare, refusal = FOLDERS[name]
    if name == "of another user" and os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    top, beside = tmp_path / "top", tmp_path / "sources" / "__pycache__"
    top.mkdir()
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(top / "folder"))
    prepare(top / "folder")
    compiled, lines = runs(elsewhere.scaled)
    assert compiled == 1 and bool(list(top.rglob("*.kernel"))) == (refusal is None)
    assert bool(list(tmp_path.rglob("__pycache__/*.kernel"))) == (refusal is not None)
    assert runs(elsewhere.scaled) == (0, lines), "what was refused is kept beside the source"
    if refusal is None:
        assert not lines
    else:
        assert len(lines) == 1 and refusal in lines[0], lines
        assert lines[0].startswith("tinytensor: NUMBA_CACHE_DIR=") and beside.is_dir()


@posix
def test_without_a_folder_named_it_is_beside_the_source_or_in_the_home(
    runs: Runs, elsewhere: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    beside, home = tmp_path / "sources", tmp_path / "home"
    assert runs(elsewhere.scaled) == (1, []) and list(beside.rglob("*.kernel"))
    (beside / "__pycache__").chmod(0o777)  # as with umask 0
    assert runs(elsewhere.scaled) == (1, []) and list(home.rglob("*.kernel"))
    assert runs(elsewhere.scaled) == (0, [])
    home.chmod(0o777)
    for _ in range(2):
        compiled, (line,) = runs(elsewhere.scaled)
        assert compiled == 1 and f"chmod go-w {home};" in line and "in each process" in line
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # there is no home at all
    compiled, (line,) = runs(elsewhere.scaled)
    assert compiled == 1 and "there is no home folder" in line
    (beside / "__pycache__").chmod(0o755)
    assert runs(elsewhere.scaled) == (0, [])


@posix
def test_folders_are_made_for_the_user_alone(runs: Runs) -> None:
    before = os.umask(0)
    try:
        assert runs() == (1, [])
        assert runs() == (0, [])
        assert not any(path.stat().st_mode & 0o022 for path in runs.folder.rglob("*"))
    finally:
        os.umask(before)


@as_root
def test_root_leaves_the_folders_of_others_alone(
    runs: Runs, elsewhere: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    for place in ("home", "sources"):
        (tmp_path / place).mkdir(exist_ok=True)
        os.chown(tmp_path / place, NOBODY, -1)
    compiled, (line,) = runs(elsewhere.scaled)
    assert compiled == 1 and f"belongs to another user ({NOBODY})" in line
    assert not list(tmp_path.rglob("*.kernel")) and not list((tmp_path / "home").iterdir())


# ------------------------------------------------------------------------------------------
# What the code depends on
# ------------------------------------------------------------------------------------------


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


# ------------------------------------------------------------------------------------------
# Writing
# ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES])
@pytest.mark.parametrize("function", ["open", "fdopen", "replace"])
def test_a_disk_that_refuses(
    runs: Runs, monkeypatch: pytest.MonkeyPatch, function: str, error: int
) -> None:
    real = getattr(os, function)

    def fail(place: Any, *rest: Any) -> Any:
        if function == "open" and rest[0] & os.O_CREAT == 0:
            return real(place, *rest)
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(os, function, fail)
    compiled, (line,) = runs()
    assert compiled == 1 and os.strerror(error) in line and "\n" not in line
    monkeypatch.undo()


def test_an_interrupted_write_leaves_nothing(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*args: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", interrupt)
        with pytest.raises(KeyboardInterrupt):
            runs()
    assert not runs.files
    assert runs() == (1, [])
    assert runs() == (0, [])


def test_what_killed_processes_left_is_deleted(runs: Runs) -> None:
    runs()
    path = runs.file
    old, new = (path.with_name(f"{path.name}.{i:016x}.tmp") for i in range(2))
    for half in (old, new):
        half.write_bytes(path.read_bytes()[:100])
    os.utime(old, (1e9, 1e9))
    runs(x=1.5)
    assert not old.exists() and new.exists()


def test_what_cannot_be_pickled_is_not_kept(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(whole: Any) -> None:
        raise pickle.PicklingError("cannot be pickled")

    monkeypatch.setattr(cache, "dumps", fail)
    compiled, (line,) = runs()
    assert compiled == 1 and "scaled: cannot be pickled" in line


# ------------------------------------------------------------------------------------------
# Processes
# ------------------------------------------------------------------------------------------

PROGRAM = """
import sys
{before}
import numpy as np
from tinytensor.kernels.compile import parallel, part, serial

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
@pytest.mark.parametrize("seed", range(3))
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


@as_root
@pytest.mark.parametrize("home", ["missing", "read-only", "own"])
@pytest.mark.parametrize("cache", ["none", "read-only"])
def test_an_ordinary_user_of_an_installed_package(tmp_path: Path, home: str, cache: str) -> None:
    """Sources that belong to root; no folder, or only one at home, can be written to."""
    folder = Path(tempfile.mkdtemp())  # others can look into it, as not into tmp_path
    try:
        folder.chmod(0o755)
        command = program(folder / "program")
        (folder / "cache").mkdir()
        (folder / "home").mkdir(mode=0o755)
        if home == "own":
            os.chown(folder / "home", NOBODY, NOBODY)
        place = folder / ("nothing" if home == "missing" else "home")
        options: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        options |= {"env": {"HOME": str(place)}, "cwd": "/"}
        first, second = (
            run(command, folder / "cache" if cache != "none" else "", **options) for _ in range(2)
        )
        assert "compiling" in first.stderr
        assert ("compiling" in second.stderr) == (home != "own")
        assert len(lines_but_notices(second.stderr)) == (cache != "none" or home != "own")
    finally:
        shutil.rmtree(folder)


def test_without_a_place_for_messages(tmp_path: Path) -> None:
    """With stderr closed there is no notice, above all not among the results."""
    command = program(tmp_path / "program", "import os; os.close(2); sys.stderr = None")
    run(command, tmp_path / "cache")
