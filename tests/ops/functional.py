"""Rows that are compared with torch.nn.functional, whatever torch itself has under the name."""

from __future__ import annotations

import importlib
from typing import Any

from .table import Row


def functional(name: str, *args: Any, **options: Any) -> Row:
    """A Row whose PyTorch counterpart is torch.nn.functional.NAME, looked up when it is called."""

    def counterpart(*arguments: Any, **keywords: Any) -> Any:
        module = importlib.import_module("torch.nn.functional")
        return getattr(module, name)(*arguments, **keywords)

    return Row(name, *args, torch=counterpart, **options)
