"""A full disk: the old file stays whole, nothing half-written is left, and one line says so."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nn
import tinytensor as tt
from examples import gif, plots
from tests.faults.training import left_behind, make_trainer
from tinytensor import graph
from tinytensor.graph.drawing.depth import compare_depth
from tinytensor.profile import profile
from tinytensor.serialize import write_whole

pytest.importorskip("safetensors")


def refuse(handle: int) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@contextmanager
def full_disk() -> Iterator[None]:
    """What is written is found not to fit when it goes to the disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", refuse)
        yield


@contextmanager
def no_room(largest: int = 64) -> Iterator[None]:
    """Files may have so many bytes; the rest is refused, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, before[1]))  # Python ignores SIGXFSZ
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def loss() -> Any:
    tt.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 2), nn.ReLU())(tt.ones(1, 3)).sum()


def save_profile(path: Path) -> None:
    with profile() as times:
        loss()
    times.save_svg(path)


def save_curve(path: Path) -> None:
    trainer = make_trainer(None)  # type: ignore[arg-type]
    trainer.fit(steps=2)
    trainer.save_curve(path)


WRITERS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "checkpoint": ("safetensors", lambda path: tt.save({"x": tt.ones(100)}, path)),
    "curve": ("svg", save_curve),
    "explore": ("html", lambda path: graph.explore(loss(), path)),
    "dot": ("dot", lambda path: graph.render(loss(), path)),
    "graph": ("json", lambda path: graph.trace(loss()).save(path)),
    "depth": ("svg", lambda path: compare_depth(2, path, width=4)),
    "worksheet": ("html", lambda path: graph.worksheet("matmul", path)),
    "worksheet data": ("json", lambda path: graph.worksheet("matmul", path)),
    "spreadsheet": ("xlsx", lambda path: graph.worksheet("matmul", path)),
    "profile": ("svg", save_profile),
    "plot": ("svg", lambda path: plots.bars(path, {"a": 1.0}, "bars", "y")),
    "gif": ("gif", lambda path: gif.animation(path, [np.zeros((2, 3, 4, 4))], 1)),
}


@pytest.mark.parametrize("disk", [no_room, full_disk])
@pytest.mark.parametrize("kind", WRITERS)
def test_every_writer_keeps_the_old_file(kind: str, disk: Callable, tmp_path: Path) -> None:
    suffix, write = WRITERS[kind]
    if suffix == "xlsx":
        pytest.importorskip("openpyxl")
    if disk is no_room and kind in ("explore", "spreadsheet"):
        pytest.skip("Graphviz and openpyxl write files of their own")
    path = tmp_path / f"file.{suffix}"
    write(path)
    old, names = path.read_bytes(), set(os.listdir(tmp_path))
    assert len(old) > 64
    with disk(), pytest.raises(OSError) as info:
        write(path)
    reason = "File too large" if disk is no_room else "No space left on device"
    message = f"cannot write {path} ({reason}); the existing file is unchanged; free some space"
    assert message in str(info.value) and "\n" not in str(info.value)
    assert path.read_bytes() == old and set(os.listdir(tmp_path)) == names
    path.unlink()
    with disk(), pytest.raises(OSError, match=rf"{reason}\); free some space"):
        write(path)
    assert set(os.listdir(tmp_path)) == names - {path.name}


def test_modes_links_and_pipes(tmp_path: Path) -> None:
    mask = os.umask(0o027)
    try:
        write_whole(tmp_path / "x", b"new")
    finally:
        os.umask(mask)
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o640
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to("elsewhere/x")
    write_whole(tmp_path / "link", b"through the link")
    assert (tmp_path / "elsewhere/x").read_bytes() == b"through the link"
    assert (tmp_path / "link").is_symlink()
    os.mkfifo(tmp_path / "pipe")  # as /dev/stdout may be; a file must not take its place
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_whole(tmp_path / "pipe", b"down the pipe")
    assert os.read(reader, 100) == b"down the pipe" and (tmp_path / "pipe").is_fifo()
    os.close(reader)


def test_a_training_goes_on_when_there_is_room_again(tmp_path: Path) -> None:
    """The log is too large first, at any byte of a line; the checkpoint next time."""
    whole = make_trainer(tmp_path / "whole")
    whole.fit(steps=11)
    expected = left_behind(tmp_path / "whole")
    size = (tmp_path / "whole/log.jsonl").stat().st_size
    for largest in (10, size // 3, size // 2):
        trainer = make_trainer(tmp_path / str(largest), checkpoint_every=20, validate_every=20)
        trainer.fit(steps=1)
        with no_room(largest), pytest.raises(OSError, match=r"Trainer: cannot write .*log\.jsonl"):
            trainer.fit(steps=11)
        lines = (tmp_path / str(largest) / "log.jsonl").read_text().splitlines(keepends=True)
        assert all(line.endswith("}\n") for line in lines)
        with no_room(), pytest.raises(OSError, match=r"Trainer: cannot write .*log\.jsonl"):
            trainer.save_checkpoint()
        again = make_trainer(tmp_path / str(largest), seed=5)
        again.fit(steps=11, resume=True)
        assert left_behind(tmp_path / str(largest)) == expected


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 64 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("mounting a small disk needs root")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_training_on_a_disk_that_fills_up(small_disk: Path, tmp_path: Path) -> None:
    make_trainer(tmp_path / "whole").fit(steps=11)
    expected = left_behind(tmp_path / "whole")
    other = small_disk / "other"
    for filled in (10, 30, 40, 50):  # kB
        folder = small_disk / "run"
        other.write_bytes(bytes(filled << 10))
        trainer = make_trainer(folder)
        try:
            trainer.fit(steps=11)
        except OSError as error:
            assert error.errno == errno.ENOSPC and str(folder) in str(error)
            assert "No space left on device" in str(error) and "\n" not in str(error)
        other.unlink()
        assert not list(folder.glob(".*"))
        trainer.fit(steps=11)
        assert left_behind(folder) == expected
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()
