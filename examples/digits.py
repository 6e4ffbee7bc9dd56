"""Handwritten-looking digits, drawn from strokes: data for the examples, without a download.

Each digit is a line through a few points. For each sample the line is bent, rotated, slanted,
scaled and shifted, drawn with a pen of random width, and noise is added.

    pictures, labels = digits(2000)  # (2000, 1, 16, 16), (2000)
"""

from __future__ import annotations

import math

import tinytensor as tt

# Strokes: x from 0, left, to 1; y from 0, top, to 1. A new stroke begins after None.
STROKES: dict[int, list[tuple[float, float] | None]] = {
    0: [(0.5, 0), (0.15, 0.25), (0.15, 0.75), (0.5, 1), (0.85, 0.75), (0.85, 0.25), (0.5, 0)],
    1: [(0.25, 0.25), (0.55, 0), (0.55, 1)],
    2: [(0.15, 0.2), (0.45, 0), (0.8, 0.15), (0.75, 0.45), (0.15, 1), (0.85, 1)],
    3: [(0.15, 0.1), (0.6, 0), (0.8, 0.25), (0.45, 0.47), (0.85, 0.7), (0.6, 1), (0.15, 0.9)],
    4: [(0.6, 0), (0.12, 0.65), (0.88, 0.65), None, (0.65, 0.35), (0.65, 1)],
    5: [(0.8, 0), (0.25, 0), (0.2, 0.45), (0.65, 0.42), (0.82, 0.7), (0.6, 1), (0.15, 0.92)],
    6: [(0.7, 0), (0.3, 0.35), (0.15, 0.7), (0.45, 1), (0.8, 0.8), (0.65, 0.52), (0.2, 0.65)],
    7: [(0.15, 0), (0.85, 0), (0.45, 1)],
    8: [(0.5, 0.45), (0.2, 0.25), (0.5, 0), (0.8, 0.25), (0.5, 0.45), (0.15, 0.75), (0.5, 1),
        (0.85, 0.75), (0.5, 0.45)],
    9: [(0.8, 0.3), (0.5, 0.5), (0.2, 0.3), (0.45, 0), (0.8, 0.2), (0.75, 0.6), (0.6, 1)],
}  # fmt: skip
SEGMENTS = max(len(points) for points in STROKES.values()) - 1


def digits(count: int, size: int = 16, noise: float = 0.15) -> tuple[tt.Tensor, tt.Tensor]:
    """Pictures (count, 1, size, size), from 0 to about 1, and their digits (count).

    They use the generator that tt.manual_seed seeds: a second call draws other pictures.
    """
    labels = tt.randint(10, (count,))
    begin, end = _segments()
    begin, end = _move(begin[labels], end[labels])  # each (count, SEGMENTS, 2)
    middle = (tt.arange(size) + 0.5) / size
    y, x = tt.meshgrid(middle, middle, indexing="ij")
    pen = 0.02 + 0.02 * tt.rand(count, 1, 1)
    distance = _distance(x, y, begin, end)  # (count, size, size)
    ink = (1 - (distance - pen) * size).clamp(0, 1)  # edges are one pixel wide
    return (ink + noise * tt.randn(*ink.shape)).unsqueeze(1), labels


def _segments() -> tuple[tt.Tensor, tt.Tensor]:
    """Start and end points of each digit's line segments, (10, SEGMENTS, 2) each.

    Digits with fewer segments repeat their first.
    """
    begins, ends = [], []
    for points in STROKES.values():
        pairs = [(a, b) for a, b in zip(points, points[1:]) if a and b]
        pairs += pairs[:1] * (SEGMENTS - len(pairs))
        begins.append([a for a, _ in pairs])
        ends.append([b for _, b in pairs])
    return tt.tensor(begins), tt.tensor(ends)


def _move(begin: tt.Tensor, end: tt.Tensor) -> tuple[tt.Tensor, tt.Tensor]:
    """Bend, rotate, slant, scale and shift the segments of each sample at random."""
    count = len(begin)
    angle = math.radians(12) * tt.randn(count)
    slant, scale = 0.15 * tt.randn(count), 0.72 + 0.06 * tt.randn(count)
    turn = tt.stack([angle.cos(), slant - angle.sin(), angle.sin(), angle.cos()], dim=1)
    turn = (scale.unsqueeze(1) * turn).reshape(count, 2, 2)  # (count, 4) → (count, 2, 2)
    shift = 0.5 + 0.05 * tt.randn(count, 1, 2)
    wave = 0.05 * tt.randn(count, 1, 2)  # bends the digit: points far from the middle move more

    def moved(points: tt.Tensor) -> tt.Tensor:
        centred = points - 0.5
        centred = centred + wave * (4 * centred.flip(-1)).sin()
        return centred @ turn.mT + shift

    return moved(begin), moved(end)


def _distance(x: tt.Tensor, y: tt.Tensor, begin: tt.Tensor, end: tt.Tensor) -> tt.Tensor:
    """The distance from each pixel (H, W) to the nearest segment of each sample: (N, H, W)."""
    nearest = tt.full((len(begin), *x.shape), math.inf)
    for a, b in zip(begin.unbind(1), end.unbind(1)):  # (N, 2) each
        ax, ay = a.T.reshape(2, -1, 1, 1)  # (2, N) → 2 × (N, 1, 1)
        dx, dy = (b - a).T.reshape(2, -1, 1, 1)
        share = (((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy)).clamp(0, 1)
        squared = (x - ax - share * dx).square() + (y - ay - share * dy).square()
        nearest = tt.minimum(nearest, squared)
    return nearest.sqrt()


__all__ = ["digits"]
