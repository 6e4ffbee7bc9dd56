"""What the real cupy offers (cupy_names.json), and calls checked against it."""

from __future__ import annotations

import functools
import inspect
import json
from pathlib import Path
from typing import Any

NAMES: dict[str, Any] = json.loads((Path(__file__).parent / "cupy_names.json").read_text())


@functools.cache
def signature(text: str) -> inspect.Signature:
    """inspect.Signature of a text such as "a, axis=, *, dtype="."""
    P = inspect.Parameter
    kind: Any = P.POSITIONAL_OR_KEYWORD
    found: list[inspect.Parameter] = []
    for part in text.split(", ") if text else ():
        if part == "/":
            found = [p.replace(kind=P.POSITIONAL_ONLY) for p in found]
        elif part == "*":
            kind = P.KEYWORD_ONLY
        elif part.startswith("**"):
            found.append(P(part[2:], P.VAR_KEYWORD))
        elif part.startswith("*"):
            found.append(P(part[1:], P.VAR_POSITIONAL))
            kind = P.KEYWORD_ONLY
        else:
            name, optional, _ = part.partition("=")
            found.append(P(name, kind, default=None if optional else P.empty))
    return inspect.Signature(found)


def check_call(name: str, text: str, args: tuple, kwargs: dict) -> None:
    """A TypeError unless the real function takes these arguments."""
    try:
        signature(text).bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{name}({text}): {error}") from None
