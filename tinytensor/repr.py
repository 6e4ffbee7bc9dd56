"""How a tensor prints: PyTorch's layout, and a table for notebooks."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .autograd.mode import state
from .devices import to_device
from .dtype import complex_dtype, default_float
from .text import escape, one_line


class PrintOptions:
    """precision: digits after the point · threshold: summarise tensors with more elements than this
    edgeitems: elements shown at each end of a summary · linewidth: columns · sci_mode: None = auto
    """

    def __init__(self, precision: int = 4, threshold: float = 1000, edgeitems: int = 3):
        self.precision, self.threshold, self.edgeitems = precision, threshold, edgeitems
        self.linewidth = 80
        self.sci_mode: bool | None = None


options = PrintOptions()
_PROFILES = {
    "default": PrintOptions(),
    "short": PrintOptions(precision=2, edgeitems=2),
    "full": PrintOptions(threshold=math.inf),
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Change how tensors print; profile is "default", "short" or "full"."""
    if profile is not None:
        if profile not in _PROFILES:
            raise ValueError(f"set_printoptions: profile {profile!r}, expected {list(_PROFILES)}")
        options.__dict__.update(_PROFILES[profile].__dict__)
    given = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    options.__dict__.update({k: v for k, v in given.items() if v is not None})
    options.sci_mode = sci_mode


def tensor_repr(tensor: Any) -> str:
    """tensor([[1., 2.]], dtype=…, grad_fn=…)"""
    array = to_device(tensor.array, "cpu")
    prefix = "Parameter containing:\ntensor(" if is_parameter(tensor) else "tensor("
    indent = len("tensor(")
    suffixes = _suffixes(tensor, array)
    body = "[]"
    if array.size:
        cut = array.size > options.threshold
        body = _format(array, *formatter(shown_values(array)), indent, cut)
    text = prefix + body
    last_line = len(text) - text.rfind("\n") - 1
    for suffix in suffixes:
        if last_line + len(suffix) + 2 > options.linewidth:
            text += ",\n" + " " * indent + suffix
            last_line = indent + len(suffix)
        else:
            text += ", " + suffix
            last_line += len(suffix) + 2
    return text + ")"


def is_parameter(tensor: Any) -> bool:
    return type(tensor).__name__ == "Parameter"


def _suffixes(tensor: Any, array: np.ndarray) -> list[str]:
    found = []
    if tensor.is_cuda:
        found.append(f"device='{tensor.device}'")
    if not array.size and array.ndim != 1:
        found.append(f"size={tuple(array.shape)}")
    usual = (np.dtype(np.int64), default_float(), complex_dtype(default_float()))
    plain = array.dtype.kind == "b" or array.dtype in usual
    if not plain or (not array.size and array.dtype != default_float()):
        found.append(f"dtype={tensor.dtype}")
    try:
        node = tensor.grad_fn
    except RuntimeError:  # a view whose place in the graph is lost
        found.append("grad_fn=<Invalid>")
        return found
    if node is not None:
        found.append(f"grad_fn=<{one_line(node.name())}>")
    elif tensor.requires_grad:
        found.append("requires_grad=True")
    if state.mode.dual is not None:
        tangent = state.mode.dual.tangent_of(tensor)
        if tangent is not None:
            found.append(f"tangent={tensor_repr(tangent)}")
    return found


def shown_values(array: np.ndarray) -> np.ndarray:
    """The elements that will be printed: only the edges of a large array."""
    if array.size <= options.threshold:
        return array
    edge = options.edgeitems
    for axis, length in enumerate(array.shape):
        if length > 2 * edge:
            ends = np.r_[0:edge, length - edge : length]
            array = np.take(array, ends, axis=axis)
    return array


def formatter(values: np.ndarray) -> tuple[Callable[[Any], str], int]:
    """A function that formats one element, and the column width."""
    if values.dtype.kind == "c":
        real, real_width = formatter(values.real)
        imag, imag_width = formatter(values.imag)
        return lambda v: _complex_text(real(v.real), imag(v.imag)), real_width + imag_width + 1
    if values.dtype.kind not in "fV":
        width = max(len(str(v)) for v in values.reshape(-1).tolist())
        return lambda v: str(v).rjust(width), width
    write = _float_style(values.astype(np.float64).reshape(-1))
    # As in PyTorch, zeros, NaN and ∞ do not count: [0., 0.] is laid out in columns of width 1.
    flat = values.reshape(-1).tolist()
    width = max((len(write(v)) for v in flat if v and math.isfinite(v)), default=1)
    return lambda v: write(v).rjust(width), width


def _complex_text(real: str, imag: str) -> str:
    """1.+2.j, from the texts of the parts."""
    imag = imag.lstrip()
    return f"{real}{'' if imag.startswith('-') else '+'}{imag}j"


def _float_style(values: np.ndarray) -> Callable[[float], str]:
    """1. for whole numbers, 1.0000 by default, 1.0000e-05 when the range is wide."""
    sizes = np.abs(values[np.isfinite(values) & (values != 0)])
    whole = bool(np.all(sizes == np.ceil(sizes)))
    scientific = False
    if sizes.size:
        small, large = sizes.min().item(), sizes.max().item()
        scientific = large / small > 1000.0 or large > 1.0e8 or (not whole and small < 1.0e-4)
        if options.sci_mode is not None:
            scientific = options.sci_mode
    if scientific:
        return lambda v: f"{v:.{options.precision}e}"
    if whole:
        return lambda v: f"{v:.0f}." if math.isfinite(v) else str(v)
    return lambda v: f"{v:.{options.precision}f}" if math.isfinite(v) else str(v)


def _format(array: np.ndarray, write: Callable, width: int, indent: int, cut: bool) -> str:
    """Nested brackets, wrapped at the line width; `cut`: long axes show only their ends."""
    if array.ndim == 0:
        return write(array.item()).strip()
    edge = options.edgeitems
    shortened = cut and array.shape[0] > 2 * edge
    shown = [*array[:edge], *array[-edge:]] if shortened else list(array)
    if array.ndim == 1:
        cells = [write(v.item()) for v in shown]
        if shortened:
            cells.insert(edge, " ...")
        # As many cells per line as fit after the open brackets.
        count = max(1, (options.linewidth - indent) // (width + 2))
        lines = [", ".join(cells[i : i + count]) for i in range(0, len(cells), count)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    parts = [_format(row, write, width, indent + 1, cut) for row in shown]
    if shortened:
        parts.insert(edge, "...")
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(parts) + "]"


# ------------------------------------------------------------------------------------------
# Notebooks
# ------------------------------------------------------------------------------------------

_LARGEST_TABLE = 20


def tensor_html(tensor: Any) -> str:
    """A small vector or matrix as a table shaded by value (blue < 0 < orange), else the repr."""
    array = to_device(tensor.array, "cpu")
    fits = array.ndim in (1, 2) and array.size and max(array.shape) <= _LARGEST_TABLE
    if not fits:
        return f"<pre>{escape(tensor_repr(tensor))}</pre>"
    rows = array.reshape(-1, array.shape[-1])  # a vector is a table of one row
    write, _ = formatter(rows)
    finite = np.abs(rows[np.isfinite(rows)]).astype(np.float64)
    scale = (finite.max() if finite.size else 0.0) or 1.0
    body = "".join(
        "<tr>" + "".join(_cell(v, write(v).strip(), scale) for v in row.tolist()) + "</tr>"
        for row in rows
    )
    facts = [f"shape {tuple(array.shape)}", str(tensor.dtype), *_suffixes(tensor, array)]
    caption = escape(" · ".join(dict.fromkeys(f.removeprefix("dtype=") for f in facts)))
    return (
        f'<table style="border-collapse:collapse;font-family:monospace">{body}</table>'
        f'<div style="font-size:85%;opacity:.7">{caption}</div>'
    )


def _cell(value: Any, text: str, scale: float) -> str:
    if isinstance(value, complex):
        value = abs(value)
    strength = min(abs(float(value)) / scale, 1.0) * 0.6 if math.isfinite(value) else 0.0
    colour = "230,97,1" if value > 0 else "44,123,182"  # colour-blind readers can tell these apart
    return (
        f'<td style="padding:2px 8px;text-align:right;background:rgba({colour},{strength:.2f})">'
        f"{text}</td>"
    )
