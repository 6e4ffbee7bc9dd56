"""The report of a training run: curves, learning rate, and heat maps of layer by step."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ...text import one_line
from .html import Page, page

MOST_POINTS = 1500  # of a curve; more are averaged in groups
MOST_COLUMNS = 400  # of a heat map, likewise

BODY = '<main id="report"></main>'
STYLES = ["report.css"]
SCRIPTS = ["report-chart.js", "report-heat.js", "report.js"]

NO_CURVES = {"step", "epoch", "time"}
PREFIXES = ("train_", "val_")
TITLES = {"loss": "Loss", "lr": "Learning rate", "grad_norm": "Norm of all gradients"}

# name in the log: (title, how a value becomes a colour, what it means)
LAYERS: dict[str, tuple[str, str, str]] = {
    "grad_norm": (
        "Gradient norm by layer", "log",
        "log₁₀ of the norm of each layer's gradient: where gradients vanish, the rows fade",
    ),
    "update_ratio": (
        "Update-to-weight ratio by layer", "log around 1e-3",
        "log₁₀ of ‖change of the weights‖ / ‖weights‖: about −3 is usual; more is orange",
    ),
    "dead_relu": (
        "Share of dead ReLUs", "share",
        "units that gave 0 for every sample of the batch, of all units of the layer",
    ),
}  # fmt: skip


def training_report(
    log: str | os.PathLike | Iterable[dict[str, Any]],
    path: str | os.PathLike | None = "report.html",
    title: str | None = None,
) -> Page:
    """Write a page of curves and heat maps from the log of a training run.

    log: a file with one JSON object on each line, as the Trainer writes it; a Trainer's folder; or
    the records themselves. The page has a chart for each figure over the steps, together with its
    `train_…` and `val_…` forms, and heat maps by layer if the Trainer had watch=True.

        graph.training_report("out/run/log.jsonl", "report.html")
    """
    if isinstance(log, (str, os.PathLike)):
        file = Path(log)
        file = file / "log.jsonl" if file.is_dir() else file
        records, notes = read_log(file)
        name = title or f"Training report: {file.parent.name or file.name}"
    else:
        records, notes = list(log), []
        name = title or "Training report"
    data = report_data(records, notes)
    return Page(page(name, BODY, {"report": data}, STYLES, SCRIPTS), path)


def read_log(path: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """The records of a log, and notes on lines that could not be read."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        message = f"training_report: cannot read {path} ({os.strerror(error.errno or 0)})"
        raise type(error)(error.errno, message) from None
    lines = text.splitlines()
    records, bad = [], []
    for number, line in enumerate(lines, 1):
        record = _record(line)
        if record is not None:
            records.append(record)
        elif line.strip():
            bad.append(number)
    if not records:
        got = f"no JSON object on any of its {len(lines)} lines" if bad else "nothing"
        raise ValueError(
            f"training_report: {path} has {got}, expected one on each line, as the Trainer writes "
            "them in log.jsonl"
        )
    notes = []
    if bad and bad[-1] == len(lines) and not text.endswith("\n"):
        bad.pop()
        notes.append("The last line is cut off, as by a run that was killed; it is left out.")
    if bad:
        which = ", ".join(map(str, bad[:5])) + (" …" if len(bad) > 5 else "")
        notes.append(f"Left out, as they are no JSON objects: lines {which}.")
    return records, notes


def _record(line: str) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def report_data(records: list[dict[str, Any]], notes: list[str]) -> dict[str, Any]:
    """The data of the page: summary, notes, charts of curves, and heat maps."""
    steps = _steps(records, notes)
    charts = _charts(records, steps, notes)
    heats = [heat for name in LAYERS if (heat := _heat(name, records, steps)) is not None]
    if not charts and not heats:
        raise ValueError(
            f"training_report: the {len(records)} records have no figures, expected fields such as "
            "loss or lr with numbers"
        )
    if not heats:
        notes.append("The log has no figures by layer: Trainer(…, watch=True) writes them.")
    return {
        "summary": _summary(records, steps),
        "notes": notes,
        "charts": charts,
        "heats": heats,
    }


def _steps(records: list[dict[str, Any]], notes: list[str]) -> list[float]:
    """The step of each record; the number of its line if it has none."""
    steps: list[float] = []
    missing = 0
    for number, record in enumerate(records, 1):
        if _is_number(record.get("step")):
            steps.append(record["step"])
        else:
            missing += 1
            steps.append(number)
    if missing:
        notes.append(f"{missing} lines have no step; they are drawn at the number of the line.")
    return steps


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


# ------------------------------------------------------------------------------------------
# Curves
# ------------------------------------------------------------------------------------------


def _charts(
    records: list[dict[str, Any]], steps: list[float], notes: list[str]
) -> list[dict[str, Any]]:
    """One chart for each figure, with its forms in training and validation as its curves."""
    fields = list(dict.fromkeys(field for record in records for field in record))
    charts: dict[str, list[dict[str, Any]]] = {}
    for field in fields:
        if field in NO_CURVES or field == "layers":
            continue
        pairs = [(s, r[field]) for s, r in zip(steps, records) if _is_number(r.get(field))]
        broken = [s for s, r in zip(steps, records) if _is_broken(r, field)]
        if broken and (pairs or field == "loss"):
            notes.append(
                f"{one_line(field)} was not finite in {len(broken)} lines, first at step "
                f"{broken[0]:g}."
            )
        if pairs:
            xs, ys = _thinned(sorted(pairs, key=lambda pair: pair[0]), MOST_POINTS)
            curve = {
                "name": one_line(field),
                "x": xs,
                "y": ys,
                "noisy": field == _base(field) != "lr",
            }
            charts.setdefault(_base(field), []).append(curve)
    order = ["loss", *(name for name in charts if name not in TITLES), "lr", "grad_norm"]
    return [
        {"name": one_line(name), "title": TITLES.get(name, _title(name)), "curves": charts[name]}
        for name in dict.fromkeys(order)
        if name in charts
    ]


def _title(name: str) -> str:
    """top_5 accuracy → Top 5 accuracy."""
    return one_line(name[:1].upper() + name[1:].replace("_", " "))


def _is_broken(record: dict[str, Any], field: str) -> bool:
    """True if a figure is null, NaN or infinite."""
    value = record.get(field, 0.0)
    return value is None or (isinstance(value, float) and not math.isfinite(value))


def _base(field: str) -> str:
    """val_loss → loss."""
    for prefix in PREFIXES:
        if field.startswith(prefix):
            return field[len(prefix) :]
    return field


def _thinned(pairs: list[tuple[float, float]], most: int) -> tuple[list[float], list[float]]:
    """At most `most` points, each the mean of neighbours."""
    size = math.ceil(len(pairs) / most)
    groups = [pairs[i : i + size] for i in range(0, len(pairs), size)]
    means = [[_short(sum(column) / len(group)) for column in zip(*group)] for group in groups]
    return [x for x, _ in means], [y for _, y in means]


def _short(value: float) -> float:
    """Six digits are enough for a picture."""
    return float(f"{value:.6g}")


# ------------------------------------------------------------------------------------------
# Heat maps: layer by step
# ------------------------------------------------------------------------------------------


def _heat(name: str, records: list[dict[str, Any]], steps: list[float]) -> dict[str, Any] | None:
    """Layers, steps and values (layers × steps) of one figure; None if the log lacks it."""
    found: list[tuple[float, dict[str, Any]]] = []
    for step, record in zip(steps, records):
        layers = record.get("layers")
        figures = layers.get(name) if isinstance(layers, dict) else None
        if isinstance(figures, dict) and figures:
            found.append((step, figures))
    if not found:
        return None
    names = list(dict.fromkeys(layer for _, figures in found for layer in figures))
    size = math.ceil(len(found) / MOST_COLUMNS)
    groups = [found[i : i + size] for i in range(0, len(found), size)]
    title, scale, meaning = LAYERS[name]
    mean = _mean if scale == "share" else _mean_of_logs
    return {
        "name": name,
        "title": title,
        "scale": scale,
        "meaning": meaning,
        "layers": list(map(one_line, names)),
        "steps": [_short(group[0][0]) for group in groups],
        "values": [
            [mean([figures.get(layer) for _, figures in group]) for group in groups]
            for layer in names
        ],
    }


def _mean(values: list[Any]) -> float | None:
    numbers = [value for value in values if _is_number(value)]
    return _short(sum(numbers) / len(numbers)) if numbers else None


def _mean_of_logs(values: list[Any]) -> float | None:
    """The geometric mean of the positive values; 0 if there are none."""
    numbers = [value for value in values if _is_number(value)]
    above = [math.log(value) for value in numbers if value > 0]
    if above:
        return _short(math.exp(sum(above) / len(above)))
    return 0.0 if numbers else None


# ------------------------------------------------------------------------------------------
# Summary
# ------------------------------------------------------------------------------------------


def _summary(records: list[dict[str, Any]], steps: list[float]) -> list[tuple[str, str]]:
    """[(name, text)]: steps, epochs, time, and the last and best losses."""
    rows = [("Steps", f"{max(steps):g}")]
    for field, label, text in (
        ("epoch", "Epochs", "{:g}".format),
        ("time", "Time", _duration),
    ):
        values = [r[field] for r in records if _is_number(r.get(field))]
        if values:
            rows.append((label, text(max(values))))
    for field, label in (("loss", "Loss at the end"), ("val_loss", "Validation loss at the end")):
        rows += _last(records, field, label)
    rows += _best(records, steps, "val_loss", "Best validation loss", min)
    rows += _best(records, steps, "val_accuracy", "Best validation accuracy", max)
    return rows


def _last(records: list[dict[str, Any]], field: str, label: str) -> list[tuple[str, str]]:
    values = [r[field] for r in records if _is_number(r.get(field))]
    return [(label, f"{values[-1]:.4g}")] if values else []


def _best(
    records: list[dict[str, Any]], steps: list[float], field: str, label: str, best: Callable
) -> list[tuple[str, str]]:
    pairs = [(r[field], s) for r, s in zip(records, steps) if _is_number(r.get(field))]
    if not pairs:
        return []
    value, step = best(pairs, key=lambda pair: pair[0])
    return [(label, f"{value:.4g} at step {step:g}")]


def _duration(seconds: float) -> str:
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest:.0f} s" if minutes else f"{rest:.3g} s"


__all__ = ["training_report"]
