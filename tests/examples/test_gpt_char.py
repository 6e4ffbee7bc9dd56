"""gpt_char: texts that cannot be used, presets, and going on from a checkpoint."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .test_examples import run_example

TINY = ("--layers", "1", "--heads", "1", "--width", "8", "--batch", "2", "--letters", "5")


@pytest.mark.parametrize(
    ("content", "flags", "message"),
    [
        (None, (), "gpt_char: cannot read text.txt as UTF-8 text ("),
        (b"\xff" * 9000, (), "gpt_char: cannot read text.txt as UTF-8 text ("),
        (b"short", (), "gpt_char: text.txt has 5 characters, expected at least 2560"),
        (b"abc" * 9000, ("--prompt", "xa"), "gpt_char: --prompt has ['x'], expected one or more"),
        (b"abc" * 9000, ("--prompt", ""), "gpt_char: --prompt has [], expected one or more"),
    ],
    ids=["missing", "not UTF-8", "short", "unknown letter", "no prompt"],
)
@pytest.mark.slow
def test_a_text_that_cannot_be_used(
    content: bytes | None, flags: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / "text.txt").write_bytes(content)
    done = run_example("gpt_char", "--text", "text.txt", *flags, folder=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith(message) and done.stderr.count("\n") == 1


@pytest.mark.slow
def test_it_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("a cat sat on a mat. " * 200)
    flags = ("--text", "text.txt", "--prompt", "a ", "--context", "8", "--target", "9", *TINY)
    for steps, resume in (("10", ()), ("30", ("--resume",))):
        done = run_example("gpt_char", *flags, "--steps", steps, *resume, folder=tmp_path)
        assert done.returncode == 0, done.stderr
    log = (tmp_path / "out" / "gpt_char" / "log.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in log] == [10, 20, 30]
