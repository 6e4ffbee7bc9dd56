"""Data types, with PyTorch's names and promotion rules.

A `DType` is a thin, comparable wrapper around a NumPy dtype. Promotion: a tensor with dimensions
outranks a 0-d tensor, which outranks a Python number; a lower rank changes the result only if it is
of a higher category (bool < integer < float < complex).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np


class DType:
    """A data type, such as `tinytensor.float32`."""

    __slots__ = ("name", "dtype")

    def __init__(self, name: str):
        self.name = name
        self.dtype = np.dtype(name)  # np.dtype(tinytensor.float32) works through this attribute

    @property
    def is_floating_point(self) -> bool:
        return self.dtype.kind in FLOATS

    @property
    def is_complex(self) -> bool:
        return self.dtype.kind == "c"

    @property
    def is_signed(self) -> bool:
        return self.dtype.kind in "ifc"

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    def to_real(self) -> DType:
        """The dtype of the real part: float32 for complex64; a real dtype is its own."""
        return from_numpy_dtype(real_dtype(self.dtype))

    def to_complex(self) -> DType:
        """The dtype whose real part has this one: complex64 for float32."""
        return from_numpy_dtype(complex_dtype(self.dtype))

    def __repr__(self) -> str:
        return f"tinytensor.{self.name}"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DType):
            return self.name == other.name
        if isinstance(other, (np.dtype, type)):
            try:
                return self.dtype == np.dtype(other)
            except TypeError:
                return False
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __reduce__(self) -> tuple:
        return from_numpy_dtype, (self.dtype,)


class HalfDType(DType):
    """A floating point dtype of 16 bits: `float16` or `bfloat16`.

    Ops compute it in float32 and round the result (`ops/half_precision.py`). That starts when the
    dtype is first used, so that programs without 16-bit tensors do not pay for it.
    """

    __slots__ = ()

    def __init__(self, name: str):
        self.name = name

    @property
    def dtype(self) -> np.dtype:  # type: ignore[override]
        return _first_use(self)

    is_floating_point = is_signed = True
    itemsize = 2

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (np.dtype, type)):
            return getattr(other, "name", getattr(other, "__name__", "")) == self.name
        return DType.__eq__(self, other)

    def __hash__(self) -> int:
        return hash(self.name if self.name == "bfloat16" else np.dtype(self.name))

    def __reduce__(self) -> tuple:
        return _by_name, (self.name,)


bool_ = DType("bool")
uint8 = DType("uint8")
int8 = DType("int8")
int16 = DType("int16")
int32 = DType("int32")
int64 = DType("int64")
float16 = HalfDType("float16")
float32 = DType("float32")
float64 = DType("float64")
bfloat16 = HalfDType("bfloat16")
complex64 = DType("complex64")
complex128 = DType("complex128")

# fmt: off
ALL = (
    bool_, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64, complex64,
    complex128,
)
# fmt: on
# The kinds of floating point dtypes. NumPy has no letter for bfloat16, whose kind is "V".
FLOATS = "fV"

_BY_NUMPY = {d.dtype: d for d in ALL if not isinstance(d, HalfDType)}  # those: from first use on
_halves: dict[str, np.dtype] = {}  # {"float16": …, "bfloat16": …}: the ones in use
on_first_use: list[Callable[[np.dtype], None]] = []  # called with each of the two when first used
_default: DType = float32


def _first_use(half: HalfDType) -> np.dtype:
    """The NumPy dtype of float16 or bfloat16; on first use, `on_first_use` is called."""
    dtype = _halves.get(half.name)
    if dtype is None:
        dtype = np.dtype(np.float16) if half is float16 else _bfloat16_of_numpy()
        for function in on_first_use:
            function(dtype)
        _BY_NUMPY[dtype] = half
        _halves[half.name] = dtype
    return dtype


def _bfloat16_of_numpy() -> np.dtype:
    try:
        import ml_dtypes  # here, to keep importing tinytensor fast
    except ImportError:
        raise ImportError(
            "bfloat16: the ml_dtypes package is not installed; run `pip install ml_dtypes`"
        ) from None
    return np.dtype(ml_dtypes.bfloat16)


def _by_name(name: str) -> DType:
    """The DType of a name; pickle calls this."""
    return next(d for d in ALL if d.name == name)


def from_numpy_dtype(dtype: np.dtype) -> DType:
    """The DType of a NumPy dtype; a TypeError that lists the supported ones if there is none."""
    try:
        return _BY_NUMPY[dtype]
    except KeyError:
        if dtype.name in ("float16", "bfloat16") and dtype.isnative:
            return from_numpy_dtype(_by_name(dtype.name).dtype)
        names = ", ".join(d.name for d in ALL)
        raise TypeError(f"dtype: got {dtype}, expected one of {names}") from None


def is_supported(dtype: np.dtype) -> bool:
    """Whether there is a DType for a NumPy dtype."""
    try:
        return from_numpy_dtype(dtype) is not None
    except TypeError:
        return False


def to_numpy_dtype(dtype: Any) -> np.dtype:
    """The NumPy dtype of a DType, a NumPy dtype or type, or Python's bool, int and float."""
    if isinstance(dtype, DType):
        return dtype.dtype
    try:
        return from_numpy_dtype(np.dtype(dtype)).dtype
    except TypeError:
        names = ", ".join(d.name for d in ALL)
        raise TypeError(f"dtype: got {dtype!r}, expected one of {names}") from None


def get_default_dtype() -> DType:
    """The dtype of tensors made from Python floats."""
    return _default


def set_default_dtype(dtype: Any) -> None:
    """Change the dtype of tensors made from Python floats (float16, float32 or float64)."""
    global _default
    numpy_dtype = to_numpy_dtype(dtype)
    if numpy_dtype.kind not in FLOATS:
        raise TypeError(f"set_default_dtype: got {dtype}, expected a floating point dtype")
    _default = from_numpy_dtype(numpy_dtype)


def default_float() -> np.dtype:
    """The default dtype, as NumPy's."""
    return _default.dtype


def complex_dtype(dtype: np.dtype) -> np.dtype:
    """complex128 for float64 and complex128, otherwise complex64."""
    return complex128.dtype if dtype in (float64.dtype, complex128.dtype) else complex64.dtype


def real_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype of the real part of complex numbers; any other dtype unchanged."""
    if dtype.kind != "c":
        return dtype
    return float64.dtype if dtype == complex128.dtype else float32.dtype


# ------------------------------------------------------------------------------------------
# Promotion
# ------------------------------------------------------------------------------------------

_CATEGORY = {"b": 0, "u": 1, "i": 1, "f": 2, "V": 2, "c": 3}


def promote_pair(a: np.dtype, b: np.dtype) -> np.dtype:
    """The common dtype of two tensors of the same rank class.

    As in NumPy, except that an integer never widens a float: int64 with float32 is float32.
    """
    if a == b:
        return a
    category_a, category_b = _CATEGORY[a.kind], _CATEGORY[b.kind]
    if category_a != category_b and {a.kind, b.kind} != {"f", "c"}:
        return a if category_a > category_b else b
    # bfloat16 with float16 is float32, as neither can hold the other.
    return np.promote_types(np.float32 if a.kind == "V" else a, np.float32 if b.kind == "V" else b)


def _scalar_dtype(value: Any) -> np.dtype:
    if isinstance(value, (bool, np.bool_)):
        return bool_.dtype
    if isinstance(value, (int, np.integer)):
        return int64.dtype
    if isinstance(value, (complex, np.complexfloating)):
        return complex_dtype(_default.dtype)
    return _default.dtype


def result_dtype(*operands: Any) -> np.dtype:
    """The dtype of an elementwise op on tensors, arrays and Python numbers, as in PyTorch."""
    # One dtype for each rank class: with dimensions, 0-d, Python number.
    ranked: list[np.dtype | None] = [None, None, None]
    for operand in operands:
        array = getattr(operand, "array", operand)
        if hasattr(array, "dtype") and not isinstance(array, np.generic):
            rank, dtype = (0 if array.ndim else 1), array.dtype
        else:
            rank, dtype = 2, _scalar_dtype(operand)
        known = ranked[rank]
        ranked[rank] = dtype if known is None else promote_pair(known, dtype)
    result = None
    for dtype in ranked:
        if dtype is None:
            continue
        if result is None or _CATEGORY[dtype.kind] > _CATEGORY[result.kind]:
            keeps_size = result is not None and result.kind in FLOATS and dtype.kind == "c"
            result = complex_dtype(result) if keeps_size else dtype  # type: ignore[arg-type]
    assert result is not None
    return result


def can_cast(source: Any, target: Any) -> bool:
    """Whether values of dtype `source` may be written into `target`: never to a lower category."""
    a, b = to_numpy_dtype(source), to_numpy_dtype(target)
    return _CATEGORY[a.kind] <= _CATEGORY[b.kind]


def result_type(tensor1: Any, tensor2: Any) -> DType:
    """The dtype of an elementwise op on the two tensors."""
    return from_numpy_dtype(result_dtype(tensor1, tensor2))


def promote_types(type1: Any, type2: Any) -> DType:
    """The smallest dtype that both are promoted to."""
    return from_numpy_dtype(promote_pair(to_numpy_dtype(type1), to_numpy_dtype(type2)))


# ------------------------------------------------------------------------------------------
# Limits
# ------------------------------------------------------------------------------------------


def fitting(name: str, value: Any, dtype: np.dtype) -> Any:
    """Convert `value` to a number that fits `dtype`, or raise RuntimeError.

    As in PyTorch, negative numbers wrap in uint8, and numbers too large for 16 bits become inf.
    """
    if isinstance(value, complex):
        if dtype.kind != "c":
            raise RuntimeError(f"{name}: {value} is complex, expected a number for {dtype}")
        return value
    if dtype.kind in "bc" or 0 <= value <= 127 or (not math.isfinite(value) and dtype.kind in "fV"):
        return value
    if dtype == np.float16 or dtype.kind == "V":
        limit = 65520 if dtype.kind == "f" else 3.3961776e38  # from here on it rounds to inf
        return value if abs(value) < limit else math.copysign(math.inf, value)
    if dtype.kind == "f":
        fits = abs(value) <= float(np.finfo(dtype).max)
    else:
        limits = np.iinfo(dtype)
        fits = (limits.min or -limits.max) <= value <= limits.max
    if not fits:
        raise RuntimeError(f"{name}: {value} is out of range for {dtype}")
    return int(value) % 256 if dtype.kind == "u" and value < 0 else value


class finfo:
    """The limits of a floating point dtype: eps, max, min, tiny, smallest_normal, bits.

    Of a complex dtype, those of its real part.
    """

    def __init__(self, type: Any = None):
        numpy_dtype = default_float() if type is None else real_dtype(to_numpy_dtype(type))
        if numpy_dtype.kind not in FLOATS:
            raise TypeError(f"finfo: got {numpy_dtype}, expected a floating point dtype; see iinfo")
        limits = _finfo_of_bfloat16() if numpy_dtype.kind == "V" else np.finfo(numpy_dtype)
        self.bits, self.dtype = limits.bits, numpy_dtype.name
        self.eps, self.max, self.min = float(limits.eps), float(limits.max), float(limits.min)
        self.tiny = self.smallest_normal = float(limits.tiny)
        self.resolution = 10.0**-limits.precision

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        names = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        limits = ", ".join(f"{name}={getattr(self, name):g}" for name in names)
        return f"finfo({limits}, dtype={self.dtype})"


def _finfo_of_bfloat16() -> Any:
    import ml_dtypes

    return ml_dtypes.finfo(ml_dtypes.bfloat16)


class iinfo:
    """The limits of an integer dtype: max, min, bits."""

    def __init__(self, type: Any):
        numpy_dtype = to_numpy_dtype(type)
        if numpy_dtype.kind not in "iu":
            raise TypeError(f"iinfo: got {numpy_dtype}, expected an integer dtype; see finfo")
        limits = np.iinfo(numpy_dtype)
        self.bits, self.max, self.min = limits.bits, int(limits.max), int(limits.min)
        self.dtype = numpy_dtype.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"
