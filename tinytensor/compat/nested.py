"""torch.nested, in name only: there are no tensors of rows with different lengths."""

from __future__ import annotations

from typing import Any, NoReturn


def _missing(name: str) -> NoReturn:
    raise NotImplementedError(
        f"nested.{name}: nested tensors do not exist here; pad with nn.utils.rnn.pad_sequence and "
        "pass a mask"
    )


def nested_tensor(tensor_list: Any, **options: Any) -> NoReturn:
    """Raise NotImplementedError: nested tensors do not exist here."""
    _missing("nested_tensor")


def as_nested_tensor(ts: Any, *args: Any, **options: Any) -> NoReturn:
    """Raise NotImplementedError: nested tensors do not exist here."""
    _missing("as_nested_tensor")


def nested_tensor_from_jagged(values: Any, *args: Any, **options: Any) -> NoReturn:
    """Raise NotImplementedError: nested tensors do not exist here."""
    _missing("nested_tensor_from_jagged")


def to_padded_tensor(input: Any, padding: float, output_size: Any = None) -> NoReturn:
    """Raise NotImplementedError: nested tensors do not exist here."""
    _missing("to_padded_tensor")


__all__ = ["as_nested_tensor", "nested_tensor", "nested_tensor_from_jagged", "to_padded_tensor"]
