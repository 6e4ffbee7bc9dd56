"""Colours of the pictures, distinct for colour-blind readers too.

Heat maps use a ramp whose lightness changes evenly, so that it is legible in grey as well: a
sequential one (weights, 0 … 1) that starts near the colour of the page, and a diverging one
(gradients) from blue through the colour of the page, which is zero, to orange. There is one of each
for light and for dark pages. The colours of curves also differ in lightness.
"""

from __future__ import annotations

import math

Ramp = tuple[str, ...]

SEQUENTIAL: dict[str, Ramp] = {
    "light": ("#fbfbee", "#d2e6b7", "#90d498", "#19c095", "#029e98", "#007e8f", "#005f82",
              "#003e7a", "#1f244e"),
    "dark": ("#1c1f2a", "#183658", "#015472", "#017280", "#00928a", "#04b484", "#78cc77",
             "#c5dd88", "#f9f0b9"),
}  # fmt: skip

DIVERGING: dict[str, Ramp] = {
    "light": ("#0048a0", "#4274be", "#7ba0d8", "#b6ccee", "#f8f8f8", "#e8c1ad", "#ce8d6c",
              "#af5a28", "#7d3501"),
    "dark": ("#8ecbff", "#4f9cd9", "#3a6e97", "#284258", "#1b1b1b", "#533a24", "#8c5d31",
             "#c98340", "#feb16a"),
}  # fmt: skip

CURVES: dict[str, Ramp] = {
    "light": ("#0b62b8", "#c2570c", "#0a7d5f", "#9c3f86", "#7a6a00", "#44546a"),
    "dark": ("#6db6ff", "#ffab5e", "#4fd3ab", "#eb9ad6", "#e3d04a", "#a9b7c9"),
}


def as_data() -> dict[str, dict[str, Ramp]]:
    """All ramps, for the scripts of a page."""
    return {"sequential": SEQUENTIAL, "diverging": DIVERGING, "curves": CURVES}


def colour(ramp: Ramp, share: float) -> str:
    """The colour "#rrggbb" at `share`, 0 … 1, of a ramp; ends hold beyond. NaN gives grey."""
    if math.isnan(share):
        return "#888888"
    place = min(max(share, 0.0), 1.0) * (len(ramp) - 1)
    left = min(int(place), len(ramp) - 2)
    pairs = zip(_channels(ramp[left]), _channels(ramp[left + 1]))
    return "#" + "".join(f"{round(a + (b - a) * (place - left)):02x}" for a, b in pairs)


def ink_on(background: str) -> str:
    """Black or white, whichever is more legible on a colour "#rrggbb"."""
    linear = [_linear(channel / 255) for channel in _channels(background)]
    luminance = sum(weight * value for weight, value in zip((0.2126, 0.7152, 0.0722), linear))
    return "#000000" if luminance > 0.18 else "#ffffff"


def _channels(text: str) -> tuple[int, int, int]:
    return int(text[1:3], 16), int(text[3:5], 16), int(text[5:7], 16)


def _linear(channel: float) -> float:
    """Linear light of an sRGB channel, 0 … 1."""
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4


__all__ = ["CURVES", "DIVERGING", "SEQUENTIAL", "as_data", "colour", "ink_on"]
