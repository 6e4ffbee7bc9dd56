"""Numbers, histograms, images and hyperparameters as fields of TensorBoard's messages."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ...autograd.variable import Variable
from .event_file import block, double, doubles, integer, plugin


def as_array(value: Any) -> np.ndarray:
    """A tensor, array, number or list as a NumPy array."""
    if isinstance(value, Variable):
        value = value.detach().cpu()
        return (value.float() if value.array.dtype.kind == "V" else value).numpy()
    return np.asarray(value)


def as_number(name: str, value: Any) -> float:
    """A number, or the only element of a tensor or array."""
    array = as_array(value)
    if array.size != 1 or array.dtype.kind not in "biuf":
        raise ValueError(
            f"{name}: got {array.dtype} of shape {array.shape}, expected a number or one element"
        )
    return float(array.reshape(-1)[0])


# ------------------------------------------------------------------------------------------
# Histograms
# ------------------------------------------------------------------------------------------


@functools.cache
def default_edges() -> tuple[float, ...]:
    """…, −1.1e-12, −1e-12, 0, 1e-12, 1.1e-12, …: each bin a tenth wider than the one before."""
    edges = [1e-12]
    while edges[-1] * 1.1 < 1e20:
        edges.append(edges[-1] * 1.1)
    return (*(-edge for edge in reversed(edges)), 0.0, *edges)


def histogram(values: Any, bins: Any, max_bins: int | None) -> bytes:
    """The histo field: counts between the edges, without the empty bins at both ends."""
    array = as_array(values).astype(np.float64).reshape(-1)
    if not array.size:
        raise ValueError("add_histogram: got no values, expected at least one")
    if not np.isfinite(array).all():
        raise ValueError("add_histogram: got NaN or inf among the values, expected finite numbers")
    counts, limits = np.histogram(array, default_edges() if bins == "tensorflow" else bins)
    if max_bins is not None and len(counts) > max_bins:
        group = len(counts) // max_bins  # this many neighbouring bins become one, as in PyTorch
        padded = np.concatenate([counts, np.zeros(-len(counts) % group, counts.dtype)])
        counts = padded.reshape(-1, group).sum(1)
        limits = np.concatenate([limits[:-1:group], limits[-1:]])
    filled = np.flatnonzero(counts)
    if not filled.size:
        raise ValueError("add_histogram: no value lies within the bins")
    # One empty bin, or an empty count at the first edge, comes before the first that is filled.
    first, last = filled[0], filled[-1] + 1
    buckets = counts[first - 1 : last] if first else np.concatenate([[0], counts[:last]])
    return raw_histogram(
        array.min(), array.max(), array.size, array.sum(), (array * array).sum(),
        limits[first : last + 1], buckets,
    )  # fmt: skip


def raw_histogram(
    low: float, high: float, count: float, total: float, squares: float, limits: Any, counts: Any
) -> bytes:
    """The histo field. limits: the right edge of each bin, counts: the values in it."""
    facts = zip(range(1, 6), (low, high, count, total, squares))
    head = b"".join(double(number, float(value)) for number, value in facts)
    return block(5, head + doubles(6, limits) + doubles(7, counts))


# ------------------------------------------------------------------------------------------
# Images
# ------------------------------------------------------------------------------------------


def pixels(name: str, image: Any, dataformats: str) -> np.ndarray:
    """An image, or a grid of images with N in dataformats, as uint8 pixels (H, W, 3).

    dataformats: the order of dimensions, letters of N, C, H, W. Floats are in [0, 1].
    """
    array, order = as_array(image), dataformats.upper()
    if len(set(order)) != len(order) or not {"H", "W"} <= set(order) <= set("NCHW"):
        raise ValueError(f"{name}: got dataformats {dataformats!r}, expected letters of N, C, H, W")
    if array.ndim != len(order):
        raise ValueError(f"{name}: got shape {array.shape} for dataformats {dataformats!r}")
    for letter in "NC":  # H, W → N, H, W, C
        if letter not in order:
            array, order = array[None], letter + order
    array = array.transpose([order.index(letter) for letter in "NHWC"])
    channels = array.shape[-1]
    if channels not in (1, 3, 4):
        raise ValueError(f"{name}: got {channels} channels, expected 1, 3 or 4")
    array = np.repeat(array, 3, axis=-1) if channels == 1 else array[..., :3]
    if array.dtype != np.uint8:
        array = (array.astype(np.float32) * 255).clip(0, 255).astype(np.uint8)
    count, height, width, _ = array.shape
    columns = min(count, 8)
    rows = math.ceil(count / max(columns, 1))
    grid = np.zeros((rows * height, columns * width, 3), np.uint8)
    for i, picture in enumerate(array):
        y, x = i // columns * height, i % columns * width
        grid[y : y + height, x : x + width] = picture
    return grid


# ------------------------------------------------------------------------------------------
# Hyperparameters
# ------------------------------------------------------------------------------------------


def _setting(name: str, value: Any) -> tuple[int, bytes]:
    """(type, google.protobuf.Value) of a hyperparameter."""
    if isinstance(value, str):
        return 1, block(3, value)
    if isinstance(value, (int, float)):  # also a bool, as in PyTorch
        return 3, double(2, float(value))
    if isinstance(value, (Variable, np.ndarray, np.generic)):
        return 3, double(2, as_number("add_hparams", value))
    raise ValueError(
        f"add_hparams: {name} is a {type(value).__name__}, expected a number, string or bool"
    )


def hparams(settings: dict, metrics: dict, domain: dict) -> list[bytes]:
    """The three summary values that begin and end a session with these hyperparameters."""
    session = experiment = b""
    for name, value in settings.items():
        if value is None:
            continue
        kind, message = _setting(name, value)
        session += block(1, block(1, name) + block(2, message))
        choices = b"".join(block(1, _setting(name, choice)[1]) for choice in domain.get(name, ()))
        info = block(1, name) + integer(4, kind) + (block(5, choices) if choices else b"")
        experiment += block(4, info)
    for name in metrics:
        experiment += block(5, block(1, block(2, name)))
    parts = {
        "experiment": block(2, experiment),
        "session_start_info": block(3, session),
        "session_end_info": block(4, integer(1, 1)),  # success
    }
    return [
        block(1, f"_hparams_/{tag}") + plugin("hparams", content) for tag, content in parts.items()
    ]


__all__: list[str] = []
