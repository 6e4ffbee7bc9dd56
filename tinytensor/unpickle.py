"""Read pickled files: PyTorch's .pt and .pth checkpoints, without PyTorch, and Python objects.

A checkpoint is a zip file: `data.pkl` has the structure, in which each tensor refers to a storage,
and `data/0`, `data/1`, … have the bytes of the storages.

Unpickling can run any code. `Restricted` therefore only finds the names listed here, each a new
function for each file or an immutable built-in class: nothing that a file sets on them lasts.
"""

from __future__ import annotations

import io
import math
import pickle
import zipfile
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from .autograd.variable import wrap
from .backend import xp
from .devices import device
from .dtype import bfloat16, from_numpy_dtype
from .size import Size

# PyTorch's storage classes, and the NumPy dtype of their elements.
_STORAGES = {
    "DoubleStorage": "f8", "FloatStorage": "f4", "HalfStorage": "f2", "LongStorage": "i8",
    "IntStorage": "i4", "ShortStorage": "i2", "CharStorage": "i1", "ByteStorage": "u1",
    "BoolStorage": "?", "BFloat16Storage": "bfloat16",
    "ComplexFloatStorage": "c8", "ComplexDoubleStorage": "c16",
}  # fmt: skip
_DTYPES = {
    "float64": "f8", "float32": "f4", "float16": "f2", "int64": "i8", "int32": "i4", "int16": "i2",
    "int8": "i1", "uint8": "u1", "bool": "?",
}  # fmt: skip


# What the user allowed by add_safe_globals: {"module.name": class or function}
_allowed: dict[str, Any] = {}
_NEVER = ("os", "posix", "nt", "sys")  # modules whose functions no file may name


def add_safe_globals(safe_globals: list) -> None:
    """Let `load` also make objects of these classes with weights_only=True.

    Each is a class or function, or a pair of it and the full name that it has in files.
    """
    for entry in safe_globals:
        found, name = entry if isinstance(entry, tuple) else (entry, None)
        if not callable(found) or not (name is None or isinstance(name, str)):
            raise TypeError(
                f"add_safe_globals: got {entry!r}, expected a class or function, or a pair of it "
                "and its full name"
            )
        _allowed[name or f"{found.__module__}.{found.__qualname__}"] = found


def get_safe_globals() -> list:
    """The classes and functions that were allowed by add_safe_globals."""
    return list(_allowed.values())


def clear_safe_globals() -> None:
    """Forget all that add_safe_globals allowed."""
    _allowed.clear()


class safe_globals:
    """Context manager: these classes are allowed inside of it, as by add_safe_globals."""

    def __init__(self, safe_globals: list):
        self.entries = safe_globals

    def __enter__(self) -> None:
        self.before = dict(_allowed)
        add_safe_globals(self.entries)

    def __exit__(self, *exc: object) -> None:
        _allowed.clear()
        _allowed.update(self.before)


def read_zip(source: Any, name: str, place: Callable[[Any, str], Any], trusted: bool) -> Any:
    """The object in a PyTorch checkpoint.

    place(storage, location): the 1-d tensor `storage` moved to where it belongs; location is the
    device it was saved from. trusted: also find names that are not known here.
    """
    try:
        with zipfile.ZipFile(source) as archive:
            records = {info.filename.partition("/")[2]: info for info in archive.infolist()}
            if "data.pkl" not in records or "constants.pkl" in records:
                raise RuntimeError(
                    f"load: {name} is a zip file, but not a PyTorch checkpoint; a TorchScript "
                    "model or other archive cannot be read"
                )
            if any(info.compress_type != zipfile.ZIP_STORED for info in records.values()):
                raise RuntimeError(f"load: {name} is compressed, which PyTorch's files are not")
            if "byteorder" in records and archive.read(records["byteorder"]) != b"little":
                raise RuntimeError(f"load: {name} has big-endian numbers, which cannot be read")

            def read(key: str) -> bytes:
                return archive.read(records[f"data/{key}"])

            pickled = io.BytesIO(archive.read(records["data.pkl"]))
            return Restricted(pickled, name, read, place, trusted).load()
    except Exception as error:  # damaged bytes can raise anything
        if str(error).startswith("load:") or (trusted and isinstance(error, ImportError)):
            raise
        reason = (str(error).splitlines() or [""])[0] or type(error).__name__
        raise RuntimeError(f"load: {name} is damaged ({reason})") from None


class PlainDtype:
    """Stands for a NumPy dtype in a pickle; only dtypes of numbers, in either byte order."""

    def __init__(self, code: str, *rest: Any):
        self.dtype = np.dtype(code)
        if self.dtype.kind not in "biufc":
            raise ValueError(f"an array has dtype {code}")

    def __setstate__(self, state: tuple) -> None:
        self.dtype = self.dtype.newbyteorder(state[1])


class PlainArray:
    """Stands for a NumPy array in a pickle, until a tensor is made of it."""

    array: Any = None

    def __setstate__(self, state: tuple) -> None:
        _, shape, kind, by_columns, content = state
        flat = np.frombuffer(content, kind.dtype)
        array = flat.reshape(shape, order="F" if by_columns else "C")
        self.array = array.astype(kind.dtype.newbyteorder("="))  # a copy


class Unpickler(pickle.Unpickler):
    """An unpickler that finds the layers of `nn` also where a user's own nn.py hides them."""

    def find_class(self, module: str, name: str) -> Any:
        try:
            return super().find_class(module, name)
        except (ImportError, AttributeError):
            if module.partition(".")[0] != "nn":
                raise
            return super().find_class(f"tinytensor.{module}", name)


class Restricted(Unpickler):
    """An unpickler that knows PyTorch's names for tensors, and refuses others."""

    def __init__(
        self, file: Any, name: str, read: Callable[[str], bytes] | None = None,
        place: Callable | None = None, trusted: bool = False,
    ):  # fmt: skip
        super().__init__(file)
        self._file_name, self._read, self._place = name, read, place
        self._trusted = trusted
        self._storages: dict[str, Any] = {}
        self._arrays: list[PlainArray] = []  # those of tensors, and others, which are refused
        self._tensors = 0

    def load(self) -> Any:
        found = super().load()
        if len(self._arrays) > self._tensors:
            raise pickle.UnpicklingError(self._refusal("numpy.ndarray"))
        return found

    def _refusal(self, what: str) -> str:
        return (
            f"load: {self._file_name} has a {what}, and loading it can run code; if you trust the "
            "file, call load(…, weights_only=False), or serialization.add_safe_globals"
        )

    def _plain_array(self, *rest: Any) -> PlainArray:
        self._arrays.append(PlainArray())
        return self._arrays[-1]

    def _own_tensor(self, kind: Any, held: Any, requires_grad: bool) -> Any:
        """A tensor that `save` has pickled: complex, or beside an object of another class."""
        self._tensors += isinstance(held, PlainArray)
        array = held.array if isinstance(held, PlainArray) else held
        if not isinstance(array, np.ndarray):
            raise ValueError(f"a tensor has a {type(array).__name__} for an array")
        from_numpy_dtype(array.dtype)
        return wrap(array).requires_grad_(bool(requires_grad))

    def _parts_of_own_tensors(self) -> dict[tuple[str, str], Any]:
        """What such a tensor's pickle names, but safe: NumPy's own take states no array has."""
        return {
            ("tinytensor.interop", "rebuild"): self._own_tensor,
            ("tinytensor.tensor", "Tensor"): "Tensor",
            ("numpy._core.multiarray", "_reconstruct"): self._plain_array,
            ("numpy.core.multiarray", "_reconstruct"): self._plain_array,
            ("numpy", "ndarray"): "ndarray",
            ("numpy", "dtype"): PlainDtype,
        }

    def find_class(self, module: str, name: str) -> Any:
        if module == "torch" and name in _STORAGES:
            return _STORAGES[name]
        if module == "torch" and name in _DTYPES:
            return from_numpy_dtype(np.dtype(_DTYPES[name]))
        if module == "torch" and name == "bfloat16":
            return bfloat16
        found = _functions().get((module, name))
        if found is None and not self._trusted:
            found = _allowed.get(f"{module}.{name}") if module not in _NEVER else None
            found = found or self._parts_of_own_tensors().get((module, name))
        if found is not None:
            return found
        if module.partition(".")[0] == "torch":
            raise pickle.UnpicklingError(
                f"load: {self._file_name} has a {module}.{name}, which exists only in PyTorch; "
                "save its state_dict() there"
            )
        if self._trusted:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(self._refusal(f"{module}.{name}"))

    def persistent_load(self, pid: Any) -> Any:
        """The storage ("storage", class, key, location, length), as a 1-d array."""
        kind, dtype, key, location, count = pid
        if kind != "storage" or self._read is None or self._place is None:
            raise pickle.UnpicklingError(f"load: {self._file_name} has an unknown reference")
        if key not in self._storages:
            raw = self._read(key)
            element = bfloat16.dtype if dtype == "bfloat16" else np.dtype(dtype)
            from_numpy_dtype(element)
            array = np.frombuffer(raw, element, count).copy()
            self._storages[key] = self._place(wrap(array), location).array
        return self._storages[key]


def _functions() -> dict[tuple[str, str], Any]:
    """What the names in a checkpoint stand for: new functions at each call."""

    def tensor(storage: Any, offset: int, size: tuple, stride: tuple, *rest: Any) -> Any:
        last = offset + sum((n - 1) * s for n, s in zip(size, stride))
        if len(size) != len(stride) or min((offset, *size, *stride)) < 0:
            raise ValueError(f"a tensor has shape {size} and strides {stride}")
        if math.prod(size) == 0:
            return wrap(storage[:0].reshape(size))
        if last >= storage.size:
            raise ValueError(f"a tensor of shape {size} is larger than its storage")
        steps = tuple(s * storage.itemsize for s in stride)
        view = xp(storage).lib.stride_tricks.as_strided(storage[offset:], size, steps)
        return wrap(view).requires_grad_(bool(rest[0]) if rest else False)

    def parameter(data: Any, requires_grad: bool, *rest: Any) -> Any:
        return data.requires_grad_(bool(requires_grad))

    def encode(text: str, encoding: str) -> bytes:
        return text.encode("latin1")

    return {
        ("torch._utils", "_rebuild_tensor"): tensor,
        ("torch._utils", "_rebuild_tensor_v2"): tensor,
        ("torch._utils", "_rebuild_parameter"): parameter,
        ("torch._utils", "_rebuild_parameter_with_state"): parameter,
        ("torch", "Size"): lambda sizes=(): Size(sizes),
        ("torch", "device"): lambda *where: device(*where),
        ("collections", "OrderedDict"): OrderedDict,
        ("collections", "Counter"): lambda counts=(): Counter(counts),
        ("_codecs", "encode"): encode,
        ("builtins", "set"): set,
        ("builtins", "complex"): complex,
        ("__builtin__", "set"): set,
        ("__builtin__", "complex"): complex,
    }


def read_pickle(file: Any, name: str, module: Any, options: dict) -> Any:
    """The object in a pickle that `save` wrote; only module=None refuses what could run code."""
    if module is None:
        try:
            return Restricted(file, name).load()
        except pickle.UnpicklingError as error:
            if str(error).startswith("load:"):
                raise
            raise RuntimeError(f"load: {name} is damaged ({error})") from None
        except Exception as error:  # damaged bytes can raise anything
            raise RuntimeError(f"load: {name} is damaged ({error})") from None
    if module is pickle:
        return Unpickler(file, **options).load()
    return module.load(file, **options)
