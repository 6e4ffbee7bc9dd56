"""The training report: what it takes from a log, whole, cut off, damaged or empty."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tinytensor.graph.pages.report import training_report


def line(step: int, **figures: Any) -> dict[str, Any]:
    return {"step": step, "epoch": 1 + step // 10, **figures, "time": step / 2}


LAYERS = {
    "grad_norm": {"0": 0.5, "2": 0.25},
    "update_ratio": {"0": 1e-3, "2": None},
    "dead_relu": {"1": 0.125},
}
WHOLE = [
    *(line(step, loss=1 / step, lr=0.1, grad_norm=2.0, layers=LAYERS) for step in range(1, 21)),
    line(20, train_loss=0.2, val_loss=0.5, val_accuracy=0.75),
]


def data_of(html: str) -> dict[str, Any]:
    found = re.search(r'id="data-report">(.*?)</script>', html, re.DOTALL)
    assert found
    return json.loads(found[1])


def write(path: Path, records: list[Any], end: str = "\n") -> Path:
    path.write_text("\n".join(r if isinstance(r, str) else json.dumps(r) for r in records) + end)
    return path


def test_curves_and_heat_maps_of_a_whole_log(tmp_path: Path) -> None:
    log = write(tmp_path / "log.jsonl", WHOLE)
    result = training_report(log, tmp_path / "report.html")
    assert result.path is not None and result.path.read_text() == result.html
    data = data_of(result.html)
    charts = {
        chart["name"]: [curve["name"] for curve in chart["curves"]] for chart in data["charts"]
    }
    assert charts == {
        "loss": ["loss", "train_loss", "val_loss"],
        "accuracy": ["val_accuracy"],
        "lr": ["lr"],
        "grad_norm": ["grad_norm"],
    }
    loss = data["charts"][0]["curves"][0]
    assert loss["x"] == list(range(1, 21)) and loss["y"][:2] == [1.0, 0.5]
    heats = {heat["name"]: heat for heat in data["heats"]}
    assert list(heats) == ["grad_norm", "update_ratio", "dead_relu"]
    assert heats["grad_norm"]["layers"] == ["0", "2"]
    assert heats["grad_norm"]["values"] == [[0.5] * 20, [0.25] * 20]
    assert heats["update_ratio"]["values"][1] == [None] * 20
    assert data["notes"] == []
    summary = dict(data["summary"])
    assert summary["Steps"] == "20" and summary["Time"] == "10 s"
    assert summary["Best validation accuracy"] == "0.75 at step 20"


def test_a_folder_or_records_do_as_well(tmp_path: Path) -> None:
    write(tmp_path / "log.jsonl", WHOLE)
    assert data_of(training_report(tmp_path, None).html) == data_of(
        training_report(WHOLE, None).html
    )


NO_LAYERS = "The log has no figures by layer: Trainer(…, watch=True) writes them."

DAMAGED: dict[str, tuple[list[Any], str, list[str]]] = {
    "killed while writing": (
        [line(1, loss=1.0), '{"step": 2, "lo'], "",
        ["The last line is cut off, as by a run that was killed; it is left out."],
    ),
    "damaged inside": (
        [line(1, loss=1.0), "@@@", "[1, 2]", line(2, loss=0.5)], "\n",
        ["Left out, as they are no JSON objects: lines 2, 3."],
    ),
    "loss not finite": (
        [line(1, loss=1.0), line(2, loss=None)], "\n",
        ["loss was not finite in 1 lines, first at step 2."],
    ),
    "NaN as Python writes it": (
        [line(1, loss=1.0), '{"step": 2, "loss": NaN}'], "\n",
        ["loss was not finite in 1 lines, first at step 2."],
    ),
    "no steps": (
        [{"loss": 1.0}, {"loss": 0.5}], "\n",
        ["2 lines have no step; they are drawn at the number of the line."],
    ),
    "no loss": ([line(1, lr=0.1), line(2, lr=0.2)], "\n", []),
    "odd layers": ([line(1, loss=1.0, layers=[1]), line(2, layers={"grad_norm": 3})], "\n", []),
}  # fmt: skip


@pytest.mark.parametrize("name", list(DAMAGED))
def test_a_page_with_what_is_there(name: str, tmp_path: Path) -> None:
    records, end, notes = DAMAGED[name]
    log = write(tmp_path / "log.jsonl", records, end)
    data = data_of(training_report(log, None).html)
    assert data["notes"] == [*notes, NO_LAYERS]
    assert len(data["charts"]) == 1 and not data["heats"]


ERRORS: dict[str, tuple[str | None, str]] = {
    "missing": (None, r"training_report: cannot read .*log\.jsonl \(No such file"),
    "empty": ("", r"log\.jsonl has nothing, expected one on each line"),
    "blank": ("\n\n", "has nothing"),
    "no log": ("hello\nworld\n", "has no JSON object on any of its 2 lines"),
    "no figures": ('{"step": 1, "note": "hi"}\n', "the 1 records have no figures"),
}


@pytest.mark.parametrize("name", list(ERRORS))
def test_errors(name: str, tmp_path: Path) -> None:
    content, message = ERRORS[name]
    log = tmp_path / "log.jsonl"
    if content is not None:
        log.write_text(content)
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        training_report(log, tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


def test_long_logs_are_thinned() -> None:
    records = [line(step, loss=float(step), layers=LAYERS) for step in range(1, 4001)]
    data = data_of(training_report(records, None).html)
    loss = data["charts"][0]["curves"][0]
    assert len(loss["x"]) == 1334 and loss["y"][0] == 2.0  # the mean of 1, 2 and 3
    assert len(data["heats"][0]["steps"]) == 400


def test_norms_are_averaged_by_their_logarithms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tinytensor.graph.pages.report.MOST_COLUMNS", 1)
    norms = [1e-4, 1e-2, 0.0, None]
    records = [line(n, layers={"grad_norm": {"a": norm}}) for n, norm in enumerate(norms)]
    data = data_of(training_report(records, None).html)
    assert data["heats"][0]["values"] == [[pytest.approx(1e-3)]]


def test_hostile_names_stay_text() -> None:
    records = [line(1, **{"</script><b>": 1.0, "layers": {"grad_norm": {"<i>": 1.0}}})]
    data = data_of(training_report(records, None, title="<u>").html)
    assert data["charts"][0]["curves"][0]["name"] == "</script><b>"
