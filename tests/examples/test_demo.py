"""The demo: the dates that it learns from, the command that runs it, and the pages it writes."""

from __future__ import annotations

import datetime
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tinytensor as tt
from tinytensor.cli import demo, main
from tinytensor.graph.drawing.graphviz import is_there

from .test_plots import load

ROOT = Path(__file__).resolve().parents[2]

dates = load("dates")

WRITTEN = [
    (1998, 3, 3, "the {ordinal} of {month}, {year}", "the 3rd of March, 1998"),
    (1911, 5, 11, "{month} {ordinal}, {year_in_words}", "May 11th, nineteen eleven"),
    (1900, 2, 22, "{ordinal} {year_in_words}", "22nd nineteen hundred"),
    (1905, 1, 30, "{ordinal_in_words} {year_in_words}", "thirtieth nineteen oh five"),
    (2000, 1, 31, "{ordinal_in_words} {year_in_words}", "thirty-first two thousand"),
    (2009, 1, 20, "{ordinal_in_words} {year_in_words}", "twentieth two thousand nine"),
    (2047, 9, 1, "{weekday} {short_month} {year_in_words}", "Sunday Sep twenty forty-seven"),
    (1969, 7, 20, "{month_number}/{day}/{year}", "7/20/1969"),
]


@pytest.mark.parametrize(
    ("year", "month", "day", "form", "text"), WRITTEN, ids=[row[-1] for row in WRITTEN]
)
def test_a_date_is_written(year: int, month: int, day: int, form: str, text: str) -> None:
    assert dates.write(datetime.date(year, month, day), form) == text


def test_every_date_can_be_read_in_every_form() -> None:
    known = set(dates.vocabulary())
    assert len(known) < 120
    for number in range(0, dates.DAYS, 13):
        day = dates.FIRST + datetime.timedelta(days=number)
        for form in dates.FORMS:
            assert known.issuperset(dates.words_of(dates.write(day, form)))


def test_unseen_dates_are_never_learnt_from() -> None:
    tt.manual_seed(0)
    seen, unseen = ({date for _, date in dates.written_dates(3000, flag)} for flag in (False, True))
    assert not seen & unseen
    assert len(seen) > 2500 and min(seen) < "1905" and max(seen) > "2095"
    tt.manual_seed(0)
    assert {date for _, date in dates.written_dates(3000, False)} == seen


def test_make_and_the_command_run_the_same_script() -> None:
    assert f"examples/{demo.SCRIPT} --out out/demo\n" in (ROOT / "Makefile").read_text()
    assert demo.find_script() == ROOT / "examples" / demo.SCRIPT


def test_a_script_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "SCRIPT", "nothing.py")
    assert main(["demo"]) == 1


def test_an_unknown_word_is_told_at_once(tmp_path: Path) -> None:
    done = run_demo(tmp_path, "--", "--sentence", "3 Brumaire 1799")
    assert done.returncode == 1
    assert done.stderr.startswith("transformer_translate: got 'brumaire', expected a date such as")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_the_pages(tmp_path: Path) -> None:
    """index.html leads to pages that are there, and holds what the run has printed."""
    done = run_demo(tmp_path, "--quick", "--", "--steps", "10", "--target", "0")
    assert done.returncode == 0, done.stderr[-2000:]
    index = (tmp_path / "out" / "demo" / "index.html").read_text("utf-8")
    links = set(re.findall(r'href="([\w.-]+)"', index))
    assert links >= {"report.html", "attention.html", "worksheet.html", "worksheet-key.html"}
    assert ("backward.html" in links) == is_there()
    assert all((tmp_path / "out" / "demo" / link).is_file() for link in links)
    written = done.stdout.splitlines()[1].split("  ")[0]
    assert f"<td>{written}</td>" in index
    assert "open out/demo/index.html in a browser" in done.stdout


def run_demo(folder: Path, *flags: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-X", "utf8", "-W", "error", "-m", "tinytensor", "demo", *flags]
    return subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8")
