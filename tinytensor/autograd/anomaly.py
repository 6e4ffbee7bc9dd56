"""Error messages: failing forwards and backward rules, NaN and inf, overwritten saved values."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backend import is_array, xp
from ..devices import device_of
from ..errors import AnomalyError, DeviceError, GradientError, OutOfMemoryError, ShapeError
from .mode import outside, state
from .packed import pack
from .site import describe_here, describe_site
from .variable import Variable, unwrap


def explain_forward(op: Any, args: tuple, error: Exception) -> Exception:
    """An array library's error, with the op's name and arguments; noted for a recording."""
    explained = _explained(op, args, error)
    if state.mode.recording is not None:  # it shows the op that raised, and its inputs
        vars(explained).setdefault("_op_call", (op, args))
    return explained


def _explained(op: Any, args: tuple, error: Exception) -> Exception:
    message = str(error)
    if message.startswith(f"{op.op_name}:") or isinstance(
        error, (NotImplementedError, OutOfMemoryError)
    ):
        return error
    arrays = [array for array in map(unwrap, args) if is_array(array)]
    devices = {str(device_of(a)) for a in arrays}
    if len(devices) > 1:
        return DeviceError(
            f"{op.op_name}: tensors on {' and '.join(sorted(devices))}, expected one device; "
            "move them with .to(device)"
        )
    if isinstance(error, AttributeError) and not arrays:
        return TypeError(f"{op.op_name}: got a {type(args[0]).__name__}, expected a tensor")
    shapes = ", ".join(str(tuple(a.shape)) for a in arrays)
    if isinstance(error, MemoryError):
        return out_of_memory(f"{op.op_name} of shapes {shapes}", error)
    first_line = message.splitlines()[0] if message else type(error).__name__
    if isinstance(error, ValueError):
        return ShapeError(f"{op.op_name}: shapes {shapes} do not fit ({first_line})")
    if isinstance(error, (TypeError, IndexError, OverflowError)):
        return type(error)(f"{op.op_name}: {first_line} (shapes {shapes})")
    return error


def explain_backward(node: Any, error: Exception) -> None:
    """Add the line of the forward call to an error from a backward rule."""
    where = describe_site(node)
    if isinstance(error, MemoryError) and not isinstance(error, OutOfMemoryError):
        raise out_of_memory(f"backward of {node.op_name}{where}", error) from None
    message = str(error.args[0]) if error.args else ""
    if where and where not in message:
        prefix = "" if message.startswith(node.op_name) else f"backward of {node.op_name}: "
        error.args = (f"{prefix}{message}{where}", *error.args[1:])


def out_of_memory(what: str, error: MemoryError) -> MemoryError:
    """The error for a failed allocation. Also frees the buffers that kernels keep for reuse."""
    from ..kernels.machinery.memory import release_memory

    release_memory()
    reason = str(error) or "a small array"
    return OutOfMemoryError(
        f"{what}: out of memory ({reason}); use smaller batches, or free what is not needed"
    )


def freed_values(node: Any) -> GradientError:
    """The error for a second backward through a node whose saved values were freed."""
    return GradientError(
        f"{node.op_name}: backward a second time, but the values it saved are freed; "
        f"Specify retain_graph=True in the first backward{describe_site(node)}"
    )


def changed_value(node: Any, what: str, version: int, expected: int) -> GradientError:
    """The error for a saved value, `what`, that was overwritten."""
    return GradientError(
        f"{node.op_name}: {what} was changed in place after it was saved (version {version}, "
        f"expected {expected}); use an out-of-place op or clone() before the write"
        f"{describe_site(node)}"
    )


# ------------------------------------------------------------------------------------------
# NaN and infinity
# ------------------------------------------------------------------------------------------


def _trouble(value: Any) -> str:
    """'' for finite values, else 'NaN' or 'inf'."""
    array = unwrap(value)
    if isinstance(array, float):
        array = np.asarray(array)
    if not hasattr(array, "dtype") or array.dtype.kind not in "fVc" or not array.size:
        return ""
    library = xp(array)
    if bool(library.isnan(array).any()):
        return "NaN"
    return "inf" if bool(library.isinf(array).any()) else ""


def _is_new(found: str, sources: Any) -> bool:
    """Whether `found` first appears here: a mask of -inf may pass on inf, but not make NaN."""
    present = {_trouble(source) for source in sources}
    return bool(found) and "NaN" not in present and (found == "NaN" or "inf" not in present)


def watch(node: Any, args: tuple, outputs: tuple) -> None:
    """After each forward while `watched` is set: add it to the recording, check for NaN, pack."""
    mode = state.mode
    if mode.recording is not None:
        mode.recording.add(node, args, outputs)
    if mode.anomaly:
        for out in outputs:
            check_forward(node, args, out)
    if mode.pack is not None and any(isinstance(o, Variable) and o._tracked for o in outputs):
        pack(node, args, mode.pack)


def check_forward(op: Any, args: tuple, out: Variable) -> None:
    """Raise if `op` made NaN or inf out of finite arguments."""
    found = _trouble(out)
    if _is_new(found, args):
        shapes = ", ".join(str(tuple(a.shape)) for a in args if isinstance(a, Variable))
        raise AnomalyError(
            f"{op.op_name}: forward gave {found} in an output of shape {tuple(out.shape)} from "
            f"finite inputs of shapes {shapes}{describe_here()}"
        )


def check_backward(node: Any, gradient: Any, contributions: Any) -> None:
    """Raise if the rule of `node` made NaN or inf out of a finite gradient."""
    incoming = gradient if isinstance(gradient, list) else [gradient]
    for i, contribution in enumerate(contributions):
        if contribution is not None and _is_new(_trouble(contribution), incoming):
            shapes = ", ".join(str(tuple(g.shape)) for g in incoming if g is not None)
            raise AnomalyError(
                f"{node.op_name}: backward gave {_trouble(contribution)} in the gradient of input "
                f"{i}, of shape {tuple(contribution.shape)}, from a finite gradient of shape "
                f"{shapes}{describe_site(node)}"
            )


outside.watch, outside.check_backward = watch, check_backward
outside.explain_backward = explain_backward
outside.freed_values, outside.changed_value = freed_values, changed_value
