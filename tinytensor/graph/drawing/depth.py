"""Plain against residual: how large the gradient is in each layer of a deep network."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from ...train.curve import Axis
from ...train.watch import Watch
from ..files import write_text
from .palette import CURVES

WIDTH, ROW, TOP, BOTTOM = 360, 18, 64, 40  # pixels: of one network, of one layer, and around them
LABEL = 74  # for the names of the layers
GAP = 30


@dataclass
class DepthComparison:
    """The norm of each layer's gradient, from the first layer to the last, in both networks."""

    plain: list[float]
    residual: list[float]
    svg: str

    def _repr_svg_(self) -> str:
        return self.svg

    def __str__(self) -> str:
        lines = [f"{'layer':>5}  {'plain':>10}  {'residual':>10}"]
        for number, (plain, residual) in enumerate(zip(self.plain, self.residual), 1):
            lines.append(f"{number:>5}  {plain:>10.3g}  {residual:>10.3g}")
        return "\n".join(lines)


def compare_depth(
    depth: int = 20,
    path: str | os.PathLike | None = None,
    *,
    width: int = 32,
    batch: int = 64,
    seed: int = 0,
) -> DepthComparison:
    """Gradient norms by layer of h ← tanh(W·h + b) and of h ← h + tanh(W·h + b), side by side.

    Both networks have `depth` layers of `width` units, with the same weights, inputs and targets;
    only the skip differs. With a path the picture is written there, as SVG.

        print(graph.compare_depth(20, "depth.svg"))
    """
    for name, value in (("depth", depth), ("width", width), ("batch", batch)):
        if value < 1:
            raise ValueError(f"compare_depth: got {name}={value}, expected at least 1")
    plain = _gradient_norms(depth, width, batch, seed, residual=False)
    residual = _gradient_norms(depth, width, batch, seed, residual=True)
    svg = _picture(plain, residual)
    if path is not None:
        write_text(path, svg)
    return DepthComparison(plain, residual, svg)


def _gradient_norms(depth: int, width: int, batch: int, seed: int, residual: bool) -> list[float]:
    import tinytensor as tt
    from tinytensor.generator import Generator, use_generator

    nn: Any = tt.nn  # found here: tinytensor imports no nn
    with use_generator(Generator().manual_seed(seed)):  # the user's random numbers stay as they are
        blocks = [nn.Linear(width, width) for _ in range(depth)]
        inputs, targets = tt.randn(batch, width), tt.randn(batch, width)
    if residual:
        network = nn.Sequential(*(nn.AddAfterActivation(block, nn.Tanh()) for block in blocks))
    else:
        network = nn.Sequential(*(nn.Sequential(block, nn.Tanh()) for block in blocks))
    with Watch(network).step() as layers:
        nn.functional.mse_loss(network(inputs), targets).backward()
    return [norm or 0.0 for norm in layers["grad_norm"].values()]


def _picture(plain: list[float], residual: list[float]) -> str:
    """Two columns of bars, a row for each layer, on one logarithmic axis."""
    depth = len(plain)
    above_zero = [norm for norm in plain + residual if norm > 0]
    first, right = LABEL, 2 * WIDTH + GAP + LABEL
    bottom = TOP + ROW * depth
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {right + 60} {bottom + BOTTOM}" '
        f'width="{right + 60}" height="{bottom + BOTTOM}" fill="#334155" font-size="12" '
        'font-family="DejaVu Sans, Helvetica, Arial, sans-serif">',
        f'<rect width="{right + 60}" height="{bottom + BOTTOM}" fill="#ffffff"/>',
        f'<text x="{first}" y="22" font-size="15" font-weight="bold">Norm of the gradient by '
        f"layer, {depth} layers deep</text>",
    ]
    columns = [("plain: h ← tanh(W·h + b)", plain), ("residual: h ← h + tanh(W·h + b)", residual)]
    for number, (name, norms) in enumerate(columns):
        left = first + number * (WIDTH + GAP)
        axis = Axis([min(above_zero) / 2, max(above_zero)], left, left + WIDTH, logarithmic=True)
        parts.append(f'<text x="{left}" y="48" font-weight="bold">{name}</text>')
        parts += _ticks(axis, bottom)
        parts += _bars(axis, norms, left, CURVES["light"][number])
    for layer in range(depth):
        y = TOP + (layer + 0.72) * ROW
        text = f"{layer + 1}" + (
            " input" if layer == 0 else " output" if layer == depth - 1 else ""
        )
        parts.append(f'<text x="{first - 8}" y="{y:.1f}" text-anchor="end">{text}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _ticks(axis: Axis, bottom: float) -> list[str]:
    parts = []
    powers = [value for value in axis.ticks() if f"{value:e}".startswith("1.0")]
    every = -(-len(powers) // 6)  # at most about six, rounded up
    for value in powers[::every]:
        x = axis(value)
        parts.append(f'<path d="M{x:.1f} {TOP}V{bottom}" stroke="#e2e8f0"/>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{value:g}</text>')
    return parts


def _bars(axis: Axis, norms: list[float], left: float, colour: str) -> list[str]:
    """A bar and its number for each layer; none where the gradient is zero."""
    parts = []
    for layer, norm in enumerate(norms):
        y = TOP + layer * ROW
        end = axis(norm) if norm > 0 else left
        parts.append(
            f'<rect x="{left}" y="{y + 2}" width="{end - left:.1f}" height="{ROW - 4}" '
            f'fill="{colour}"/>'
        )
        inside = end - left > WIDTH / 2
        place = f'x="{end - 5:.1f}" text-anchor="end" fill="#ffffff"' if inside else (
            f'x="{end + 5:.1f}"'
        )  # fmt: skip
        parts.append(f'<text {place} y="{y + 0.72 * ROW:.1f}" font-size="11">{norm:.2g}</text>')
    return parts


__all__ = ["DepthComparison", "compare_depth"]
