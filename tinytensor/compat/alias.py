"""Import a module under a second path: `import tinytensor.nn.functional` is `import nn.functional`.

The module is loaded on first use, and only once, whichever of its paths is used.

A user's own nn.py or folder nn hides the package `nn`. Then `tinytensor.nn` still leads to the
package, which is loaded under that name, and a warning says which file hides it.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import sys
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

NN = Path(__file__).resolve().parents[2] / "nn" / "__init__.py"  # installed beside tinytensor


def real_name(name: str, paths: dict[str, str]) -> str | None:
    """The real name of a module whose path, or that of a package above it, is in `paths`."""
    head, tail = name, ""
    while head:
        if head in paths:
            return paths[head] + tail
        head, _, last = head.rpartition(".")
        tail = f".{last}{tail}"
    return None


def other_nn() -> str | None:
    """The file or folder that `import nn` finds, if it is not the package `nn` of this project."""
    try:
        spec: Any = getattr(sys.modules.get("nn"), "__spec__", None) or importlib.util.find_spec(
            "nn"
        )
    except (ImportError, ValueError):
        return None
    if spec is None or (spec.origin and Path(spec.origin).resolve() == NN) or not NN.exists():
        return None
    return spec.origin or next(iter(spec.submodule_search_locations or []), spec.name)


class AliasFinder:
    """A finder and loader that returns the real module for an import of an alias."""

    def __init__(self, paths: dict[str, str], hidden: bool):
        self.paths, self.hidden = paths, hidden

    def real(self, name: str) -> str | None:
        """The name under which a module is loaded; None if it is its own name, or unknown."""
        if self.hidden and name.startswith("nn."):
            return f"tinytensor.{name}"  # a pickle may name it, and the user's own nn has no such
        found = real_name(name, self.paths)
        if found is None or not self.hidden or found.partition(".")[0] != "nn":
            return found
        found = real_name(found, self.paths) or f"tinytensor.{found}"
        return None if found == name else found

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if not fullname.startswith(("tinytensor.", "nn.")):
            return None
        if self.hidden and fullname.startswith("nn."):
            theirs = importlib.machinery.PathFinder.find_spec(fullname, path)
            if theirs is not None:
                return theirs
        if self.hidden and fullname == "tinytensor.nn":
            return importlib.util.spec_from_file_location(
                fullname, NN, submodule_search_locations=[str(NN.parent)]
            )
        if self.real(fullname) is None:
            return None
        return importlib.machinery.ModuleSpec(fullname, self)  # type: ignore[arg-type]

    def create_module(self, spec: Any) -> ModuleType:
        module = importlib.import_module(self.real(spec.name) or "")
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
    other = other_nn()
    if other is not None:
        warnings.warn(
            f"tinytensor: `import nn` finds {other}, not the layers; write "
            "`import tinytensor.nn as nn`, or rename that file",
            stacklevel=3,
        )
    sys.meta_path.insert(0, AliasFinder(paths, other is not None))
