"""Line search: a step length along a direction that satisfies the strong Wolfe conditions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

SUFFICIENT, CURVATURE = 1e-4, 0.9  # c₁ and c₂ of the Wolfe conditions
MARGIN = 0.1  # of the bracket: a trial nearer to an end than this makes too little progress


@dataclass
class Point:
    """The loss at x + t·d, its gradient there, and slope = gradient·d. t, slope: may be tensors."""

    t: Any
    loss: float
    gradient: Any
    slope: Any


def strong_wolfe(
    evaluate: Callable[[Any], Point],
    start: Point,
    t: Any,
    longest: Any,
    most: int,
    tolerance: float = 1e-9,
) -> tuple[Point, int]:
    """Find t with f(t) ≤ f(0) + c₁·t·f'(0) and |f'(t)| ≤ c₂·|f'(0)|.

    evaluate(t) returns the Point at t; start is the one at 0, t the first guess, longest =
    max|dᵢ|. First the step grows until two points enclose a solution; then cubic interpolation
    narrows them. Returns the best point, and how often the loss was evaluated: at most most + 1
    times. A bracket shorter than tolerance is not narrowed.
    """
    bracket, count = _enclose(evaluate, start, t, most)
    if len(bracket) == 1:
        return bracket[0], count + 1
    point, count = _narrow(evaluate, start, bracket, count, most, longest, tolerance)
    return point, count + 1


def _too_high(point: Point, start: Point) -> bool:
    return point.loss > start.loss + SUFFICIENT * point.t * start.slope


def _flat(point: Point, start: Point) -> bool:
    return abs(point.slope) <= -CURVATURE * start.slope


def _enclose(
    evaluate: Callable[[Any], Point], start: Point, t: Any, most: int
) -> tuple[list[Point], int]:
    """Two points around a solution, or the solution alone; and the number of longer steps."""
    before, point, count = start, evaluate(t), 0
    while count < most:
        if _too_high(point, start) or (count > 1 and point.loss >= before.loss):
            return [before, point], count
        if _flat(point, start):
            return [point], count
        if point.slope >= 0:
            return [before, point], count
        shortest = point.t + 0.01 * (point.t - before.t)
        t = cubic_minimum(before, point, (shortest, point.t * 10))
        before, point = point, evaluate(t)
        count += 1
    return [start, point], count


def _narrow(
    evaluate: Callable[[Any], Point],
    start: Point,
    bracket: list[Point],
    count: int,
    most: int,
    longest: Any,
    tolerance: float,
) -> tuple[Point, int]:
    """The lowest point that cubic interpolation finds in a bracket; and the new count."""
    was_near_end = False
    low = _lowest(bracket)
    while count < most:
        smallest, largest = (f(bracket[0].t, bracket[1].t) for f in (min, max))
        if (largest - smallest) * longest < tolerance:
            break
        t = cubic_minimum(bracket[0], bracket[1])
        margin = MARGIN * (largest - smallest)
        near_end = bool(min(largest - t, t - smallest) < margin)
        if near_end and (was_near_end or t >= largest or t <= smallest):
            t = largest - margin if abs(t - largest) < abs(t - smallest) else smallest + margin
            near_end = False
        was_near_end = near_end
        point = evaluate(t)
        count += 1
        if _too_high(point, start) or point.loss >= bracket[low].loss:
            bracket[1 - low] = point
            low = _lowest(bracket)
            continue
        found = _flat(point, start)
        if not found and point.slope * (bracket[1 - low].t - bracket[low].t) >= 0:
            bracket[1 - low] = bracket[low]
        bracket[low] = point
        if found:
            break
    return bracket[low], count


def _lowest(bracket: list[Point]) -> int:
    return 0 if bracket[0].loss <= bracket[1].loss else 1


def cubic_minimum(a: Point, b: Point, bounds: tuple[Any, Any] | None = None) -> Any:
    """The minimum of the cubic through two points with their slopes, within bounds.

    bounds: the points themselves by default. Without a minimum, the middle of the bounds.
    """
    if not a.t <= b.t:
        a, b = b, a  # for the formula below; d₁ is symmetric
    least, most = bounds or (a.t, b.t)
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d1**2 - a.slope * b.slope
    if not square >= 0:
        return (least + most) / 2.0
    d2 = square.sqrt()
    t = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    return min(max(t, least), most)
