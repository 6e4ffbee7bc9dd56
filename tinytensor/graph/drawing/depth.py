"""Plain versus residual: the norm of the gradient in each layer of a deep network."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from ... import svg
from ...svg import Axis
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
    only the skip connection differs. With a path, the picture is written to it, as SVG.

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
    from tinytensor.create.generator import Generator, use_generator

    nn: Any = tt.nn  # looked up here, as tinytensor does not import nn
    with use_generator(Generator().manual_seed(seed)):  # does not change the user's generator
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
    width, height = right + 60, bottom + BOTTOM
    heading = f"Norm of the gradient by layer, {depth} layers deep"
    parts = [
        svg.background(width, height),
        svg.text(heading, x=first, y=22, font_size=15, font_weight="bold"),
    ]
    columns = [("plain: h ← tanh(W·h + b)", plain), ("residual: h ← h + tanh(W·h + b)", residual)]
    for number, (name, norms) in enumerate(columns):
        left = first + number * (WIDTH + GAP)
        axis = Axis([min(above_zero) / 2, max(above_zero)], left, left + WIDTH, logarithmic=True)
        parts.append(svg.text(name, x=left, y=48, font_weight="bold"))
        parts += svg.vertical_grid(axis, _ticks(axis), TOP, bottom)
        parts += _bars(axis, norms, left, CURVES["light"][number])
    for layer in range(depth):
        y = TOP + (layer + 0.72) * ROW
        text = f"{layer + 1}" + (
            " input" if layer == 0 else " output" if layer == depth - 1 else ""
        )
        parts.append(svg.text(text, x=first - 8, y=f"{y:.1f}", text_anchor="end"))
    return svg.document(
        parts, viewBox=f"0 0 {width} {height}", width=width, height=height,
        fill=svg.INK, font_size=12, font_family=svg.FONTS,
    )  # fmt: skip


def _ticks(axis: Axis) -> list[float]:
    """Powers of ten, at most about six."""
    powers = [value for value in axis.ticks() if f"{value:e}".startswith("1.0")]
    return powers[:: -(-len(powers) // 6)]


def _bars(axis: Axis, norms: list[float], left: float, colour: str) -> list[str]:
    """A bar and its number for each layer; none where the gradient is zero."""
    parts = []
    for layer, norm in enumerate(norms):
        y = TOP + layer * ROW
        end = axis(norm) if norm > 0 else left
        width = f"{end - left:.1f}"
        parts.append(svg.element("rect", x=left, y=y + 2, width=width, height=ROW - 4, fill=colour))
        place: dict[str, object] = {"x": f"{end + 5:.1f}"}
        if end - left > WIDTH / 2:  # inside the bar
            place = {"x": f"{end - 5:.1f}", "text_anchor": "end", "fill": "#ffffff"}
        parts.append(svg.text(f"{norm:.2g}", **place, y=f"{y + 0.72 * ROW:.1f}", font_size=11))
    return parts


__all__ = ["DepthComparison", "compare_depth"]
