"""torch._subclasses.fake_tensor, in name only: tensors without memory do not exist here.

Programs enter FakeTensorMode to measure or load a model that is larger than memory.
"""

from __future__ import annotations

from typing import Any, NoReturn

__path__: list[str] = []  # a package to importlib: compat.PATHS has modules below it


class FakeTensor:
    """A tensor without values. There are no instances, so isinstance(x, FakeTensor) is False."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _missing(type(self).__name__)


class FakeTensorMode(FakeTensor):
    """Raise NotImplementedError: every tensor has memory."""


class FakeTensorConverter(FakeTensor):
    """Raise NotImplementedError: every tensor has memory."""


def _missing(name: str) -> NoReturn:
    raise NotImplementedError(
        f"_subclasses.{name}: tensors without memory do not exist here; use the tensors themselves"
    )


__all__ = ["FakeTensor", "FakeTensorConverter", "FakeTensorMode"]
