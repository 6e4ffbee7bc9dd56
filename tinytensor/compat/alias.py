"""Import a module under a second path: `import tinytensor.nn.functional` is `import nn.functional`.

The module is loaded on first use, and only once, whichever of its paths is used.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import sys
from types import ModuleType
from typing import Any


def real_name(name: str, paths: dict[str, str]) -> str | None:
    """The real name of a module whose path, or that of a package above it, is in `paths`."""
    head, tail = name, ""
    while head:
        if head in paths:
            return paths[head] + tail
        head, _, last = head.rpartition(".")
        tail = f".{last}{tail}"
    return None


class AliasFinder:
    """A finder and loader that returns the real module for an import of an alias."""

    def __init__(self, paths: dict[str, str]):
        self.paths = paths

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if (
            not fullname.startswith(("tinytensor.", "nn."))
            or real_name(fullname, self.paths) is None
        ):
            return None
        return importlib.machinery.ModuleSpec(fullname, self)  # type: ignore[arg-type]

    def create_module(self, spec: Any) -> ModuleType:
        module = importlib.import_module(real_name(spec.name, self.paths) or "")
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the module's own spec, which importlib replaced; its code has already run."""
        spec = module.__spec__
        assert spec is not None
        module.__spec__ = spec.loader_state


def install(paths: dict[str, str]) -> None:
    """Let imports find the modules of `paths`, {alias: real name}.

    The finder comes first: the usual one would load nn/functional.py a second time.
    """
    sys.meta_path.insert(0, AliasFinder(paths))
