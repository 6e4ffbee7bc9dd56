"""docs/a_step.md lists what a training step calls now, and can be read in one go."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "a_step.md").read_text("utf-8")
HOP = re.compile(r"^(\d+)\. \[`([\w.]+)`\]\(\.\./([^)#]+)#\2\)(?: ×\d+)? · \3<br>\n    (.*)$", re.M)


def test_the_lists_are_up_to_date() -> None:
    """In a process of its own: what is imported or cached here must not change the order."""
    command = [sys.executable, str(ROOT / "docs" / "step_hops.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_page_can_be_read() -> None:
    hops = HOP.findall(PAGE)
    assert [int(number) for number, *_ in hops] == list(range(1, len(hops) + 1))
    assert len(re.findall(r"^\d+\. ", PAGE, re.M)) == len(hops)
    assert 40 <= len(hops) <= 80
    assert all(text.strip() for *_, text in hops)
    assert len({(path, name) for _, name, path, _ in hops}) == len(hops)
