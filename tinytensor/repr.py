"""How a tensor prints."""

from __future__ import annotations

from typing import Any


def tensor_repr(tensor: Any) -> str:
    return f"tensor({tensor.array.tolist()})"


def tensor_html(tensor: Any) -> str:
    return f"<pre>{tensor_repr(tensor)}</pre>"
