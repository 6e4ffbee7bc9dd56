"""Numbers as written by hand: 3, −0.25, 1/3; and the tolerance of answers."""

from __future__ import annotations

from fractions import Fraction

MOST_PARTS = 12  # a fraction up to twelfths is clean
MOST_PLACES = 4  # and so is a decimal with up to this many places
LARGEST = 99
SMALLEST = 0.02  # closer to 0, an answer would count as 0


def fraction(value: float) -> Fraction | None:
    """The value as a fraction, up to twelfths; None if it is not one."""
    near = Fraction(value).limit_denominator(MOST_PARTS)
    return near if abs(float(near) - value) < 1e-9 else None


def is_decimal(value: float) -> bool:
    """True if the value has at most four decimal places."""
    return abs(round(value, MOST_PLACES) - value) < 1e-9


def is_clean(value: float) -> bool:
    """True if the written value is exact enough to calculate with."""
    return abs(value) <= LARGEST and (is_decimal(value) or fraction(value) is not None)


def is_readable(value: float) -> bool:
    """True if two decimal places describe the value well enough."""
    return abs(value) <= LARGEST and (abs(value) >= SMALLEST or abs(value) < 1e-9)


def written(value: float) -> str:
    """The value as text: 3, −0.25, 1/3, or else three decimal places."""
    parts = fraction(value)
    if parts is not None and not is_decimal(value):
        text = f"{parts.numerator}/{parts.denominator}"
    else:
        text = f"{round(value, MOST_PLACES if is_decimal(value) else 3) + 0.0:g}"  # 0 for −0
    return text.replace("-", "−")


def tolerance(value: float) -> float:
    """The largest error of a right answer: two decimal places plus one percent."""
    return 0.006 + 0.01 * min(abs(value), 30.0)


__all__ = ["is_clean", "is_readable", "tolerance", "written"]
