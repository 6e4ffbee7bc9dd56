"""The kernel cache on disk: whatever is in it, or happens to it, the numbers are right.

Where one process is enough, a kernel is decorated anew for each call: it then comes from disk, or
is compiled, as in a new process.
"""

from __future__ import annotations

import errno
import os
import pickle
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("numba")

import numba

from tinytensor.kernels.machinery import cache
from tinytensor.kernels.machinery.compile import serial

from .cached import NOBODY, Runs, as_root, posix, scaled


def shifted(x):
    return x + 7


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
