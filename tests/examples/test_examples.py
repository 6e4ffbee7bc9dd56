"""Every example runs, says what it reached, and writes its pictures; what examples share, too."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples"
EXAMPLES = sorted(
    path.stem for path in FOLDER.glob("*.py") if "run(main, Settings)" in path.read_text("utf-8")
)
EXAMPLES.remove("harness")  # it shows the line in its docstring

RESULT = re.compile(r"result: \w+=(\S+) target=(\S+) (ok|missed)")


def run_example(name: str, *flags: str, folder: Path) -> subprocess.CompletedProcess:
    """Run as a user does, from some other folder, and with warnings as errors."""
    command = [sys.executable, "-X", "utf8", "-W", "error", str(FOLDER / f"{name}.py"), *flags]
    one_thread = {f"{pool}_NUM_THREADS": "1" for pool in ("OMP", "OPENBLAS", "NUMBA")}
    return subprocess.run(
        command, cwd=folder, env={**os.environ, **one_thread}, capture_output=True, encoding="utf-8"
    )


def check(name: str, folder: Path, *flags: str) -> None:
    done = run_example(name, *flags, folder=folder)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-2000:]}"
    found = RESULT.fullmatch(done.stdout.splitlines()[-1])
    assert found and found[3] == "ok", done.stdout
    pictures = [path for path in (folder / "out" / name).rglob("*") if path.suffix in PICTURES]
    assert pictures, f"{name}: wrote no picture"
    for picture in pictures:
        assert_drawn(picture)


PICTURES = {".svg": b"</svg>", ".gif": b";", ".html": b"</html>"}  # and how such a file ends


def assert_drawn(picture: Path) -> None:
    content = picture.read_bytes()
    assert content.rstrip().endswith(PICTURES[picture.suffix]), f"{picture.name} is not whole"
    if picture.suffix == ".svg":
        wrong = re.search(rb'="[^"]*\b(nan|inf)\b', content)
        assert wrong is None, f"{picture.name}: a coordinate is {wrong and wrong[1]!r}"


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_quick_run(name: str, tmp_path: Path) -> None:
    check(name, tmp_path, "--quick")


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_full_run(name: str, tmp_path: Path) -> None:
    check(name, tmp_path)


@pytest.mark.parametrize("name", EXAMPLES)
def test_it_is_short_and_says_how_to_run_it(name: str) -> None:
    text = (FOLDER / f"{name}.py").read_text("utf-8")
    assert f"python examples/{name}.py" in text.split('"""')[1]
    assert len(text.splitlines()) <= 170
    assert not re.search(r"^(import|from) (torch|sklearn)", text, re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_wrong_flags_give_one_line(name: str, tmp_path: Path) -> None:
    done = run_example(name, "--steps", "many", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith("argument --steps: invalid int value: 'many'")
    assert "Traceback" not in done.stderr


def test_the_same_seed_gives_the_same_result(tmp_path: Path) -> None:
    flags = ("--quick", "--steps", "30", "--target", "0")
    results = [run_example("mlp", *flags, folder=tmp_path).stdout for _ in range(2)]
    assert results[0] == results[1]
    other = run_example("mlp", *flags, "--seed", "1", folder=tmp_path).stdout
    assert RESULT.search(other) and other != results[0]


def test_a_target_that_is_missed(tmp_path: Path) -> None:
    done = run_example("mlp", "--quick", "--steps", "0", folder=tmp_path)
    assert done.returncode == 1
    found = RESULT.fullmatch(done.stdout.splitlines()[-1])
    assert found and found[3] == "missed"
    assert float(found[1]) < float(found[2])
