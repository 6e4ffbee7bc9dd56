"""save and load: nested dicts and lists of tensors, numbers and strings, in one safetensors file.

Tensors are stored under their path ("model.weight"), so that a {name: tensor} dict is an ordinary
safetensors file. The structure around them, with its order, is stored as a JSON outline in the
file's metadata. Loading it cannot run code. Other objects are pickled; reading those, and PyTorch's
checkpoints, is in `unpickle.py`.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .autograd.variable import Variable, wrap
from .devices import to_device
from .dtype import bfloat16, float16
from .errors import DeviceError
from .storage import location_tag as location_tag
from .storage import normalize_storage_type as normalize_storage_type
from .unpickle import add_safe_globals as add_safe_globals
from .unpickle import clear_safe_globals as clear_safe_globals
from .unpickle import get_safe_globals as get_safe_globals
from .unpickle import read_pickle, read_zip
from .unpickle import safe_globals as safe_globals

_OUTLINE = "tinytensor"  # the metadata key of the outline
_DEEPEST = 100  # deeper nesting is refused: the file may be malicious


def save(
    obj: Any,
    f: Any,
    pickle_module: Any = pickle,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
) -> None:
    """Write `obj` to the file `f` atomically: if writing fails, the old file is unchanged.

    obj: tensors, numbers, strings, bools, None, and dicts, lists and tuples of them become a
    safetensors file. Anything else, such as a whole module, is pickled, and `load` reads it only
    with weights_only=False.
    f: a path, or a file object open for writing bytes, which is written to where it stands.
    pickle_protocol: the lowest protocol to pickle with; at least 4, which stores arrays compactly.
    """
    import json  # here, to keep importing tinytensor fast

    tensors: dict[str, np.ndarray] = {}
    try:
        outline = _describe(obj, "", tensors, 0)
        if any(array.dtype == np.complex128 for array in tensors.values()):
            raise TypeError("safetensors has no complex128")
    except TypeError:
        content = _pickled(obj, pickle_module, max(pickle_protocol, 4))
    else:
        package = _safetensors("save")
        content = package.numpy.save(tensors, {_OUTLINE: json.dumps(outline)})
    if hasattr(f, "write"):
        try:
            f.write(content)
        except TypeError:
            raise TypeError("save: got a file open for text, expected one open for bytes") from None
    else:
        write_whole(f, content)


def _pickled(obj: Any, module: Any, protocol: int) -> bytes:
    try:
        return module.dumps(obj, protocol=protocol)
    except (module.PicklingError, AttributeError, TypeError, RecursionError) as error:
        raise TypeError(
            f"save: cannot pickle a {type(obj).__name__} ({error}); save its state_dict(), or "
            "objects of classes that are defined at the top of a module"
        ) from None


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Read a file written by `save`, by safetensors, or by PyTorch (a checkpoint of tensors).

    f: a path, or a file object open for reading bytes, which is read to its end.
    map_location: the device to load to; {saved device: device}; or a function of the storage, a
    1-d tensor, and its saved device that returns the storage on another device.
    weights_only=False also unpickles other objects, which can run code: only for files you trust.
    mmap is accepted as in PyTorch and has no effect.
    """
    safe = weights_only is None or bool(weights_only)
    if safe and pickle_module is not None:
        raise RuntimeError("load: got a pickle_module, which needs weights_only=False")
    name, source, size = _open(f)
    place = _placing(map_location)
    with open(source, "rb") if isinstance(source, Path) else contextlib.nullcontext(source) as file:
        head = file.read(8)
        file.seek(0)
        if head[:4] == b"PK\x03\x04":
            return read_zip(file, name, place, not safe)
        # A safetensors file begins with the length of its header, here too large to be one.
        if head[:1] == b"\x80" and int.from_bytes(head, "little") + 8 > size:
            module = None if safe else pickle_module or pickle
            return read_pickle(file, name, module, pickle_load_args)
    return _from_safetensors(source, name, place)


def _open(f: Any) -> tuple[str, Path | io.BytesIO, int]:
    """The name of a file, for errors, its path or its bytes, and its size."""
    if hasattr(f, "read"):
        name, content = getattr(f, "name", None) or type(f).__name__, f.read()
        if not isinstance(content, bytes):
            raise TypeError("load: got a file open for text, expected one open for bytes")
        if not content:
            raise EOFError(f"load: {name} has no more bytes; did you forget f.seek(0)?")
        return str(name), io.BytesIO(content), len(content)
    path = Path(f)
    if not path.is_file():
        raise FileNotFoundError(f"load: {path} does not exist or is not a file")
    return str(path), path, path.stat().st_size


def _placing(map_location: Any) -> Callable[[Any, str], Any]:
    """place(storage, location): moves a storage to where map_location says."""

    def place(storage: Any, location: str) -> Any:
        where: Any = map_location
        if isinstance(map_location, dict):
            where = map_location.get(location, location)
        elif callable(map_location):
            moved = map_location(storage, location)
            if moved is not None:
                return moved
            where = location
        if where is None:
            where = location
        try:
            return storage.to(where)
        except DeviceError as error:
            raise RuntimeError(
                f"load: a tensor was saved on {location} ({error}); pass map_location='cpu'"
            ) from None

    return place


def _from_safetensors(
    source: Path | io.BytesIO, name: str, place: Callable[[Any, str], Any]
) -> Any:
    import json

    package = _safetensors("load")
    tensors: dict[str, Any] = {}
    try:
        if isinstance(source, Path):
            with package.safe_open(source, framework="np") as file:
                metadata = file.metadata() or {}
                for key in file.keys():  # noqa: SIM118  # not a dict
                    _know(file.get_slice(key).get_dtype())
                    tensors[key] = wrap(np.array(file.get_tensor(key)))
        else:
            content = source.getvalue()
            for key, found in package.deserialize(content):
                array = np.frombuffer(found["data"], _know(found["dtype"])).reshape(found["shape"])
                tensors[key] = wrap(array.copy())
            header = content[8 : 8 + int.from_bytes(content[:8], "little")]
            metadata = json.loads(header).get("__metadata__") or {}
    except Exception as error:  # its own error types, OverflowError, TypeError, …
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise RuntimeError(
            f"load: {name} is damaged or not a safetensors file ({reason})"
        ) from None
    tensors = {key: place(x.reshape(-1), "cpu").reshape(x.shape) for key, x in tensors.items()}
    if _OUTLINE not in metadata:
        return tensors
    try:
        return _rebuild(json.loads(metadata[_OUTLINE]), tensors, 0)
    except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        raise RuntimeError(f"load: {name} has a damaged outline ({error})") from None


# The names of dtypes in a safetensors file
_DTYPES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64",
    "I32": "int32", "I16": "int16", "I8": "int8", "U8": "uint8", "BOOL": "bool",
    "C64": "complex64",
}  # fmt: skip


def _know(name: str) -> np.dtype:
    """The NumPy dtype of a safetensors dtype; bfloat16 and float16 are in use from now on."""
    dtype = {"BF16": bfloat16, "F16": float16}.get(name)
    return np.dtype(_DTYPES[name]) if dtype is None else dtype.dtype


# ------------------------------------------------------------------------------------------
# The outline
# ------------------------------------------------------------------------------------------
# A tensor is {"tensor": path}; a dict {"dict": [[key, value], …]}; a list {"list": […]}; a tuple
# {"tuple": […]}; nan and inf, which JSON lacks, {"float": "nan"}; other values are plain JSON.


def _describe(value: Any, path: str, tensors: dict[str, np.ndarray], depth: int) -> Any:
    """The outline of `value`; collects its tensors in `tensors`."""
    if depth > _DEEPEST:
        raise ValueError(f"save: {path} is nested more than {_DEEPEST} deep")
    if isinstance(value, Variable):
        # UTF-8 cannot encode lone surrogates; only the outline keeps them.
        key = path.encode("utf-8", "replace").decode() or "tensor"
        while key in tensors or key == "__metadata__":
            key += "_"
        tensors[key] = _as_array(value)
        return {"tensor": key}
    if isinstance(value, (np.generic, np.ndarray)) and not value.ndim:
        value = value.item()
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else {"float": repr(value)}
    inside = f"{path}." if path else ""
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, (str, int)) or isinstance(key, bool):
                raise TypeError(
                    f"save: {path or 'the dict'} has a key of type {type(key).__name__}, expected "
                    "strings or integers"
                )
        items = value.items()
        return {"dict": [[k, _describe(v, f"{inside}{k}", tensors, depth + 1)] for k, v in items]}
    if isinstance(value, (list, tuple)):
        kind = "list" if isinstance(value, list) else "tuple"
        parts = enumerate(value)
        return {kind: [_describe(v, f"{inside}{i}", tensors, depth + 1) for i, v in parts]}
    raise TypeError(
        f"save: {path or 'the object'} is a {type(value).__name__}, expected tensors, numbers, "
        "strings, None, and dicts, lists and tuples of them"
    )


def _rebuild(outline: Any, tensors: dict[str, Any], depth: int) -> Any:
    """The value that an outline describes; the inverse of `_describe`."""
    if depth > _DEEPEST:
        raise ValueError(f"it is nested more than {_DEEPEST} deep")
    if outline is None or isinstance(outline, (str, bool, int, float)):
        return outline
    if not isinstance(outline, dict) or len(outline) != 1:
        raise ValueError(f"got {type(outline).__name__}, expected an object with one key")
    ((kind, content),) = outline.items()
    if kind == "tensor":
        return tensors[content]
    if kind == "float":
        return {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}[content]
    if kind == "dict":
        return {_key(key): _rebuild(value, tensors, depth + 1) for key, value in content}
    if kind in ("list", "tuple"):
        parts = [_rebuild(part, tensors, depth + 1) for part in content]
        return parts if kind == "list" else tuple(parts)
    raise ValueError(f"unknown kind {kind!r}")


def _key(key: Any) -> Any:
    if not isinstance(key, (str, int)):
        raise ValueError(f"got a key of type {type(key).__name__}")
    return key


def _as_array(tensor: Any) -> np.ndarray:
    return np.ascontiguousarray(to_device(tensor.array, "cpu")).reshape(tensor.array.shape)


# ------------------------------------------------------------------------------------------
# The file
# ------------------------------------------------------------------------------------------


def write_whole(path: str | os.PathLike, content: bytes, who: str = "save") -> None:
    """Write a file atomically: at any moment it has the old content or the new, never a part.

    The bytes are written and synced to a temporary file beside it, which then replaces it. The
    folder is synced too, so that the replacement survives a power cut. tinytensor writes every
    file that it writes in one piece here. Errors name `who` writes and the file.
    """
    target = Path(os.path.realpath(path))  # replace the target of a link, not the link
    part = target.with_name(f".{target.name[:80]}.{os.urandom(6).hex()}.part")
    try:
        if target.exists() and not target.is_file():  # a device or a pipe cannot be replaced
            target.write_bytes(content)
            return
        try:
            with open(part, "xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, target)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
        sync_folder(target.parent)
    except OSError as error:
        raise cannot_write(error, path, who) from None


def sync_folder(folder: Path) -> None:
    """Sync a folder's entries to the disk, on systems where folders can be opened."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(folder, os.O_DIRECTORY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:  # the file system does not support it
            raise
    finally:
        os.close(handle)


_NO_ROOM = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}


def cannot_write(error: OSError, path: str | os.PathLike, who: str) -> OSError:
    """Restate a write error in one line: who, which file, why, and what to do."""
    hint = "check that the folder exists and can be written to"
    if error.errno in _NO_ROOM:
        hint = "free some space, or write to another disk"
    reason = os.strerror(error.errno or errno.EIO)
    kept = "; the existing file is unchanged" if os.path.exists(path) else ""
    message = f"{who}: cannot write {os.fspath(path)} ({reason}){kept}; {hint}"
    return type(error)(error.errno, message)


def _safetensors(name: str) -> Any:
    try:
        import safetensors
        import safetensors.numpy
    except ImportError:
        raise ImportError(
            f"{name}: the safetensors package is not installed; run `pip install safetensors`"
        ) from None
    return safetensors


__all__ = ["load", "save"]
