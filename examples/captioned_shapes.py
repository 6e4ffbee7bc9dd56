"""Pictures of shapes, with captions that describe them: data for the examples.

caption(DESCRIPTIONS[0])           # "a small red circle on the left"
draw(DESCRIPTIONS[0])              # (3, 16, 16), different each time
"""

from __future__ import annotations

import itertools

import tinytensor as tt

SIZES = {"small": 0.16, "large": 0.27}
COLOURS = {
    "red": (0.9, 0.2, 0.2), "green": (0.2, 0.75, 0.3), "blue": (0.25, 0.4, 0.95),
    "yellow": (0.95, 0.85, 0.2), "white": (0.95, 0.95, 0.95),
}  # fmt: skip
SHAPES = ("circle", "square", "triangle", "cross")
PLACES = {"left": 0.32, "right": 0.68}
DESCRIPTIONS = list(itertools.product(SIZES, COLOURS, SHAPES, PLACES))
WORDS = ["a", "on", "the", *SIZES, *COLOURS, *SHAPES, *PLACES]
PIXELS = 16


def caption(description: tuple[str, ...]) -> str:
    size, colour, shape, place = description
    return f"a {size} {colour} {shape} on the {place}"


def as_numbers(captions: list[str]) -> tt.Tensor:
    """The index of each word: (N, L)."""
    return tt.tensor([[WORDS.index(word) for word in text.split()] for text in captions])


def ink(shape: str, x: tt.Tensor, y: tt.Tensor, half: tt.Tensor | float) -> tt.Tensor:
    """How much of each pixel a shape covers, 0 to 1; x and y are relative to its centre."""
    # signed distance to the shape: positive outside, negative inside
    outside = {
        "circle": (x.square() + y.square()).sqrt() - half,
        "square": tt.maximum(x.abs(), y.abs()) - 0.85 * half,
        "triangle": tt.maximum(2 * x.abs() - y, y) - 0.8 * half,
        "cross": tt.maximum(
            tt.minimum(x.abs(), y.abs()) - 0.3 * half, tt.maximum(x.abs(), y.abs()) - half
        ),
    }[shape]
    return (0.5 - PIXELS * outside).clamp(0, 1)  # edges are one pixel wide


def draw(description: tuple[str, ...]) -> tt.Tensor:
    """A picture (3, PIXELS, PIXELS), with small random changes of place, size and colour."""
    size, colour, shape, place = description
    axis = (tt.arange(PIXELS) + 0.5) / PIXELS
    y, x = tt.meshgrid(axis, axis, indexing="ij")
    shift = 0.08 * (tt.rand(2) - 0.5)
    x, y = x - PLACES[place] - shift[0], y - 0.5 - 2 * shift[1]
    half = SIZES[size] * (0.95 + 0.1 * tt.rand(1))
    drawn = ink(shape, x, y, half)
    paint = tt.tensor(COLOURS[colour]) + 0.05 * tt.randn(3)
    return paint.reshape(3, 1, 1) * drawn + 0.05 * tt.randn(3, PIXELS, PIXELS)  # (3) → (3, 1, 1)


__all__ = [
    "COLOURS",
    "DESCRIPTIONS",
    "PIXELS",
    "SHAPES",
    "WORDS",
    "as_numbers",
    "caption",
    "draw",
    "ink",
]
