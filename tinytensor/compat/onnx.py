"""torch.onnx, in name only: models are not exported to ONNX."""

from __future__ import annotations

import enum
import sys
from collections.abc import Callable
from typing import Any, NoReturn

__path__: list[str] = []  # a package to importlib: compat.PATHS has modules below it


def export(model: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise NotImplementedError: there is no export to ONNX."""
    raise NotImplementedError(
        f"onnx.export: got {type(model).__name__}, but export to ONNX does not exist here; load "
        "its state_dict in PyTorch and export it there"
    )


def is_in_onnx_export() -> bool:
    """False: a model never runs in order to be exported."""
    return False


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Any, opset_version: int) -> None:
    """No effect: an op is never exported, so nobody asks for its ONNX form."""


def parse_args(*arg_descriptors: str) -> Callable:
    """A decorator that returns its function (torch.onnx.symbolic_helper)."""
    return lambda function: function


def __getattr__(name: str) -> Any:
    """symbolic_helper, symbolic_opset11 …: this module, for `from torch.onnx import …`."""
    if name.startswith("symbolic_"):
        return sys.modules[__name__]
    raise AttributeError(f"module 'tinytensor.onnx' has no attribute {name!r}")


class OperatorExportTypes(enum.Enum):
    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3


class TrainingMode(enum.Enum):
    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


__all__ = [
    "OperatorExportTypes", "TrainingMode", "export", "is_in_onnx_export", "parse_args",
    "register_custom_op_symbolic",
]  # fmt: skip
