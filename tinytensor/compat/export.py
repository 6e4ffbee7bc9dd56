"""torch.export, in name only: programs are not traced into graphs that can be saved."""

from __future__ import annotations

from typing import Any, NoReturn


def _missing(name: str) -> NoReturn:
    raise NotImplementedError(
        f"export.{name}: programs are not exported here; save the weights with torch.save, or draw "
        "the graph with tinytensor.graph"
    )


def export(mod: Any, args: Any, kwargs: Any = None, **options: Any) -> NoReturn:
    """Raise NotImplementedError: programs are not exported here."""
    _missing("export")


def export_for_training(mod: Any, args: Any, kwargs: Any = None, **options: Any) -> NoReturn:
    """Raise NotImplementedError: programs are not exported here."""
    _missing("export_for_training")


def save(ep: Any, f: Any, **options: Any) -> NoReturn:
    """Raise NotImplementedError: programs are not exported here."""
    _missing("save")


def load(f: Any, **options: Any) -> NoReturn:
    """Raise NotImplementedError: programs are not exported here."""
    _missing("load")


class Dim:
    """A named size, for annotations: `Dim("batch", min=1)`."""

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None):
        self.__name__, self.min, self.max = name, min, max


class ExportedProgram:
    """The class of exported programs, of which there are none."""


__all__ = ["Dim", "ExportedProgram", "export", "export_for_training", "load", "save"]
