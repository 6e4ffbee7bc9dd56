"""Values as plain data: a small array in full, a large one as statistics.

value_of(array)                      a Value, which later writes do not change
value.data                           nested lists, or None for a large array
value.text()                         "−1.2 … 3.4, mean 0.1, std 0.9 ▁▃▇▅▁" on one line
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...devices import to_device

BINS = 12  # bars of a histogram
BARS = "▁▂▃▄▅▆▇█"
MAX_VALUES = 64  # arrays of up to this many elements are kept in full


@dataclass
class Value:
    """An array in full, or its statistics.

    data        the elements as nested lists, if it is small; the statistics are then zero
    low, high   smallest and largest finite element; mean and std are also of finite ones
    norm        √Σx², of the finite elements
    histogram   the number of finite elements in each of BINS equal parts of low … high
    nan, inf    the number of elements that are NaN, or infinite
    """

    shape: tuple[int, ...]
    dtype: str
    data: Any = None
    low: float = 0.0
    high: float = 0.0
    mean: float = 0.0
    std: float = 0.0
    norm: float = 0.0
    histogram: tuple[int, ...] = ()
    nan: int = 0
    inf: int = 0

    @property
    def is_small(self) -> bool:
        """True if the elements were kept."""
        return self.data is not None

    def array(self) -> np.ndarray:
        """The elements of a small value, in its dtype."""
        if self.data is None:
            raise ValueError(
                f"value: of an array of shape {self.shape} only statistics were kept; "
                "trace with a larger max_values"
            )
        return np.array(self.data, self.dtype).reshape(self.shape)  # reshape: for empty arrays

    def summary(self) -> Value:
        """The same value as statistics."""
        return self if self.data is None else _statistics(self.array(), self.dtype)

    def text(self) -> str:
        """One line: a number as it is, other values as range, mean, spread and histogram."""
        if self.data is not None and not self.shape:
            return number(self.data)
        if 0 in self.shape:
            return "empty"
        s = self.summary()
        if s.dtype == "bool":
            return f"{s.mean:.0%} true"
        parts = []
        if s.histogram:
            parts.append(f"{number(s.low)} … {number(s.high)}")
            parts.append(f"mean {number(s.mean)}")
            parts.append(f"std {number(s.std)} {bars(s.histogram)}")
        return ", ".join(parts + trouble(s))


def trouble(value: Value) -> list[str]:
    """["⚠ 3 NaN", "⚠ 1 inf"], as far as there are such elements."""
    if value.data is not None:
        value = value.summary()
    return [f"⚠ {n} {what}" for n, what in ((value.nan, "NaN"), (value.inf, "inf")) if n]


def norm_of(value: Value) -> float:
    """√Σx² of the finite elements."""
    return value.summary().norm


def value_of(array: Any, max_values: int | None = MAX_VALUES) -> Value:
    """The Value of an array; max_values=None keeps arrays of any size in full.

    A Value is returned as it is, or as statistics if it is too large.
    """
    if isinstance(array, Value):
        large = max_values is not None and math.prod(array.shape) > max_values
        return array.summary() if large else array
    if not isinstance(array, np.ndarray):
        array = to_device(array, "cpu")
    dtype = _name(array.dtype)
    if max_values is not None and array.size > max_values:
        return _statistics(array, dtype)
    return Value(array.shape, dtype, data=array.tolist())


def keep(array: Any, max_values: int | None) -> Any:
    """A copy of a small array, or statistics of a large one, for a later `value_of`."""
    if not isinstance(array, np.ndarray):
        array = to_device(array, "cpu")
    small = max_values is None or array.size <= max_values
    return array.copy() if small else value_of(array, max_values)


_name = functools.cache(str)  # of a dtype: slow in NumPy


def shortest(value: Value) -> Any:
    """The data in the shortest decimals that round to it: 0.1, not 0.10000000149."""
    if value.dtype not in ("float16", "float32"):
        return value.data
    array = value.array()
    flat = [float(str(x)) for x in array.ravel()]
    return np.array(flat, dtype=np.float64).reshape(array.shape).tolist()


@np.errstate(all="ignore")  # for infinities, and norms that overflow
def _statistics(array: np.ndarray, dtype: str) -> Value:
    """Statistics of an array, in few passes: one graph needs thousands."""
    if array.dtype.kind == "c":
        array = np.abs(array)  # the statistics are of sizes
    x = array.ravel().astype(np.float64)  # 1-d
    nan = inf = 0
    low = high = math.nan
    if x.size:
        low, high = float(x.min()), float(x.max())
    if not (math.isfinite(low) and math.isfinite(high)):
        nan = int(np.isnan(x).sum())
        inf = int(np.isinf(x).sum())
        x = x[np.isfinite(x)]
        if not x.size:
            return Value(array.shape, dtype, nan=nan, inf=inf)
        low, high = float(x.min()), float(x.max())
    square = float(x @ x)
    mean = float(x.sum()) / x.size
    deviation = x - mean
    std = math.sqrt(float(deviation @ deviation) / x.size)
    spread = high - low
    if 0 < spread < math.inf and BINS / spread < math.inf:
        bins = ((x - low) * (BINS / spread)).astype(np.intp)
        counts = np.bincount(bins, minlength=BINS + 1)
        counts[BINS - 1] += counts[BINS]  # the largest element belongs to the last bin
        histogram = tuple(counts[:BINS].tolist())
    else:
        histogram = (x.size,) + (0,) * (BINS - 1)
    return Value(
        array.shape, dtype, None, low, high, mean, std, math.sqrt(square), histogram, nan, inf
    )


# ------------------------------------------------------------------------------------------
# Text
# ------------------------------------------------------------------------------------------


def number(x: Any) -> str:
    """A number in about three digits, with a minus sign (U+2212): −0.25, 1.2e−5, 3, True."""
    if isinstance(x, (bool, int)):
        return str(x).replace("-", "−")
    if isinstance(x, str):
        return x
    if not math.isfinite(x):
        return str(x).replace("-", "−").replace("inf", "∞").replace("nan", "NaN")
    text = f"{x:.3g}"
    if "e" in text:
        digits, exponent = text.split("e")
        text = f"{digits}e{int(exponent)}"
    return "0" if text == "-0" else text.replace("-", "−")


def bars(histogram: tuple[int, ...]) -> str:
    """A histogram as text: ▁▂▅▇▃▁. Every bin that is not empty is visible."""
    top = max(histogram, default=0)
    if not top:
        return ""
    last = len(BARS) - 1
    return "".join(BARS[math.ceil(n / top * last)] if n else BARS[0] for n in histogram)
