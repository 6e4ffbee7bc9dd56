"""Numbers as a hand writes them: 3, −0.25, 1/3; and how far off an answer may be."""

from __future__ import annotations

from fractions import Fraction

MOST_PARTS = 12  # a fraction up to twelfths is clean
MOST_PLACES = 4  # and so is a decimal with so many places
LARGEST = 99
SMALLEST = 0.02  # nearer to 0, an answer could not be told from 0


def fraction(value: float) -> Fraction | None:
    """The fraction, up to twelfths, that the value is; None if it is none."""
    near = Fraction(value).limit_denominator(MOST_PARTS)
    return near if abs(float(near) - value) < 1e-9 else None


def is_decimal(value: float) -> bool:
    """Whether the value has at most four places."""
    return abs(round(value, MOST_PLACES) - value) < 1e-9


def is_clean(value: float) -> bool:
    """Whether a hand can go on with the value as it is."""
    return abs(value) <= LARGEST and (is_decimal(value) or fraction(value) is not None)


def is_readable(value: float) -> bool:
    """Whether two places say enough of the value."""
    return abs(value) <= LARGEST and (abs(value) >= SMALLEST or abs(value) < 1e-9)


def written(value: float) -> str:
    """3, −0.25, 1/3, or three places of what is neither."""
    parts = fraction(value)
    if parts is not None and not is_decimal(value):
        text = f"{parts.numerator}/{parts.denominator}"
    else:
        text = f"{round(value, MOST_PLACES if is_decimal(value) else 3) + 0.0:g}"  # 0 for −0
    return text.replace("-", "−")


def tolerance(value: float) -> float:
    """How far an answer may be off: two places are enough, and one part in a hundred."""
    return 0.006 + 0.01 * min(abs(value), 30.0)


__all__ = ["is_clean", "is_readable", "tolerance", "written"]
