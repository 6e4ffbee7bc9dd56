"""Questions and settings at the top of torch that code asks before it computes.

Settings of PyTorch's threads, warnings and algorithms are stored and have no other effect.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from ..autograd.arguments import require_tensor
from ..autograd.mode import state
from ..autograd.settings import set_detect_anomaly
from ..storage import UntypedStorage

if TYPE_CHECKING:
    from ..tensor import Tensor

_stored: dict[str, Any] = {"debug_mode": 0, "warn_always": False, "interop_threads": 1}


# ------------------------------------------------------------------------------------------
# Tensors
# ------------------------------------------------------------------------------------------


def get_device(input: Tensor) -> int:
    """The index of the GPU that holds the tensor; −1 for the CPU."""
    require_tensor("get_device", input)
    return input.get_device()


def is_storage(obj: Any, /) -> bool:
    """Whether obj is the memory of a tensor, as `Tensor.storage()` returns it."""
    return isinstance(obj, UntypedStorage)


def is_signed(input: Tensor) -> bool:
    """Whether the dtype has negative numbers."""
    require_tensor("is_signed", input)
    return input.is_signed()


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether both tensors have the same shape."""
    require_tensor("is_same_size", input)
    require_tensor("is_same_size", other)
    return input.shape == other.shape


def is_conj(input: Tensor) -> bool:
    """False: conj() is computed at once, not kept as a mark on the tensor."""
    require_tensor("is_conj", input)
    return False


def is_neg(input: Tensor) -> bool:
    """False: negation is computed at once, not kept as a mark on the tensor."""
    require_tensor("is_neg", input)
    return False


def is_distributed(input: Tensor) -> bool:
    """False: a tensor is on one device."""
    require_tensor("is_distributed", input)
    return False


# ------------------------------------------------------------------------------------------
# Settings
# ------------------------------------------------------------------------------------------


def is_anomaly_enabled() -> bool:
    """Whether `autograd.detect_anomaly` is on."""
    return state.mode.anomaly


def is_anomaly_check_nan_enabled() -> bool:
    """True: anomaly mode looks for NaN."""
    return True


def set_anomaly_enabled(mode: bool, check_nan: bool = True) -> None:
    """Turn anomaly mode on or off; `autograd.detect_anomaly` is the context manager."""
    set_detect_anomaly(mode, check_nan)


def get_num_interop_threads() -> int:
    """The number stored last; 1 at first: ops run one after the other."""
    return _stored["interop_threads"]


def set_num_interop_threads(num: int, /) -> None:
    """Store the number, which has no effect."""
    if num < 1:
        raise RuntimeError(f"set_num_interop_threads: got {num}, expected a positive number")
    _stored["interop_threads"] = int(num)


def set_flush_denormal(mode: bool) -> bool:
    """False: tiny numbers are never set to 0. PyTorch returns whether the machine can do it."""
    return False


def get_deterministic_debug_mode() -> int:
    """The mode stored last: 0 "default", 1 "warn", 2 "error"."""
    return _stored["debug_mode"]


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Store the mode, which has no effect: on a CPU every op is deterministic."""
    names = {"default": 0, "warn": 1, "error": 2}
    value = names.get(debug_mode) if isinstance(debug_mode, str) else debug_mode
    if value not in (0, 1, 2):
        raise RuntimeError(
            f"set_deterministic_debug_mode: got {debug_mode!r}, expected 0, 1, 2, 'default', "
            "'warn' or 'error'"
        )
    _stored["debug_mode"] = value


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    return False


def is_warn_always_enabled() -> bool:
    return _stored["warn_always"]


def set_warn_always(b: bool, /) -> None:
    """Store the setting, which has no effect: Python's warning filters decide."""
    _stored["warn_always"] = bool(b)


def compiled_with_cxx11_abi() -> bool:
    return True


has_lapack = has_openmp = has_spectral = True
has_mkl = False


# ------------------------------------------------------------------------------------------
# What a compiler would trace
# ------------------------------------------------------------------------------------------


def cond(pred: Any, true_fn: Callable, false_fn: Callable, operands: Sequence = ()) -> Any:
    """true_fn(*operands) if pred, a bool or a tensor of one element, else false_fn(*operands)."""
    return true_fn(*operands) if bool(pred) else false_fn(*operands)


def while_loop(cond_fn: Callable, body_fn: Callable, carried_inputs: Sequence) -> tuple:
    """values = body_fn(*values) as long as cond_fn(*values); the last values."""
    values = tuple(carried_inputs)
    while bool(cond_fn(*values)):
        values = body_fn(*values)
        values = tuple(values) if isinstance(values, (tuple, list)) else (values,)
    return values


sym_int, sym_float, sym_max, sym_min, sym_sum = int, float, max, min, sum


def sym_not(a: Any) -> bool:
    """not a"""
    return not a


def sym_sqrt(a: float) -> float:
    """√a"""
    return math.sqrt(a)


def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """t if b else f"""
    return t if b else f


# ------------------------------------------------------------------------------------------
# Functions that PyTorch has removed: they name their successor, as there
# ------------------------------------------------------------------------------------------


def _removed(name: str, successor: str, *args: Any, **kwargs: Any) -> NoReturn:
    raise RuntimeError(f"{name}: PyTorch has removed this function; use {successor}")


eig = functools.partial(_removed, "eig", "linalg.eig")
lstsq = functools.partial(_removed, "lstsq", "linalg.lstsq")
matrix_rank = functools.partial(_removed, "matrix_rank", "linalg.matrix_rank")
solve = functools.partial(_removed, "solve", "linalg.solve(A, B)")
symeig = functools.partial(_removed, "symeig", "linalg.eigh")


# ------------------------------------------------------------------------------------------
# Norms under their older names
# ------------------------------------------------------------------------------------------


def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The norm of each slice along `dim`, which keeps its size; all others have size 1."""
    require_tensor("norm_except_dim", v)
    if dim == -1:
        return v.norm(pow)
    others = tuple([d for d in range(v.ndim) if d != dim % v.ndim])
    return v.norm(pow, others, keepdim=True) if others else v.abs()


__all__ = [
    "compiled_with_cxx11_abi", "cond", "eig", "get_deterministic_debug_mode", "get_device",
    "get_num_interop_threads", "has_lapack", "has_mkl", "has_openmp", "has_spectral",
    "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "is_conj",
    "is_deterministic_algorithms_warn_only_enabled", "is_distributed", "is_neg", "is_same_size",
    "is_signed", "is_storage", "is_warn_always_enabled", "lstsq", "matrix_rank",
    "norm_except_dim", "set_anomaly_enabled",
    "set_deterministic_debug_mode", "set_flush_denormal", "set_num_interop_threads",
    "set_warn_always", "solve", "sym_float", "sym_int", "sym_ite", "sym_max", "sym_min", "sym_not",
    "sym_sqrt", "sym_sum", "symeig", "while_loop",
]  # fmt: skip
