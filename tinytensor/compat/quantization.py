"""torch.ao.quantization, in name only, so that model files which offer it can be imported.

Tensors have no quantised dtypes: making a stub or preparing a model raises NotImplementedError.
"""

from __future__ import annotations

from typing import Any, NoReturn

__path__: list[str] = []  # a package to importlib: compat.PATHS has modules below it


def _missing(name: str) -> NoReturn:
    raise NotImplementedError(
        f"ao.quantization.{name}: quantised tensors do not exist here; use the float model"
    )


class QuantStub:
    """Raise NotImplementedError: quantised tensors do not exist here."""

    def __init__(self, *args: Any, **kwargs: Any):
        _missing(type(self).__name__)


class DeQuantStub(QuantStub):
    """Raise NotImplementedError: quantised tensors do not exist here."""


class QuantWrapper(QuantStub):
    """Raise NotImplementedError: quantised tensors do not exist here."""


class FloatFunctional(QuantStub):
    """Raise NotImplementedError: quantised tensors do not exist here."""


FUNCTIONS = [
    "convert", "convert_fx", "default_observer", "default_per_channel_weight_observer",
    "default_weight_observer", "fuse_modules", "fuse_modules_qat", "get_default_qat_qconfig",
    "get_default_qconfig", "prepare", "prepare_fx", "prepare_qat", "prepare_qat_fx",
    "quantize", "quantize_dynamic", "QConfig",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in FUNCTIONS:
        raise AttributeError(f"module 'tinytensor.ao.quantization' has no attribute {name!r}")

    def function(*args: Any, **kwargs: Any) -> NoReturn:
        _missing(name)

    return function


__all__ = ["DeQuantStub", "FloatFunctional", "QuantStub", "QuantWrapper"]
