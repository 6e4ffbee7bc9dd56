"""torch.onnx, in name only: models are not exported to ONNX."""

from __future__ import annotations

from typing import Any, NoReturn


def export(model: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise NotImplementedError: there is no export to ONNX."""
    raise NotImplementedError(
        f"onnx.export: got {type(model).__name__}, but export to ONNX does not exist here; load "
        "its state_dict in PyTorch and export it there"
    )


def is_in_onnx_export() -> bool:
    """False: a model never runs in order to be exported."""
    return False


__all__ = ["export", "is_in_onnx_export"]
