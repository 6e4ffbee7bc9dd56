"""Modules under the paths they have in PyTorch: `import tinytensor.nn.functional as F`.

nn stands beside tinytensor and builds on it, so it is not loaded before somebody asks for it. A
module is loaded once, whichever of its names is used: tinytensor.nn.functional is nn.functional.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import sys
from types import ModuleType
from typing import Any

MODULES = {
    "tinytensor.nn": "nn",
    "tinytensor.nn.modules": "nn",
    "tinytensor.nn.modules.batchnorm": "nn.norm",
    "tinytensor.nn.modules.conv": "nn.convolution",
    "tinytensor.nn.modules.instancenorm": "nn.norm",
    "tinytensor.nn.modules.normalization": "nn.norm",
    "tinytensor.nn.modules.rnn": "nn.recurrent",
    "tinytensor.nn.modules.sparse": "nn.linear",
    "tinytensor.random": "tinytensor.create.random",
    "tinytensor.utils.data.dataloader": "tinytensor.utils.data.loader",
}


def real_name(name: str) -> str | None:
    """The name of the module that `name` or a package above it stands for, or None."""
    head, tail = name, ""
    while head:
        if head in MODULES:
            return MODULES[head] + tail
        head, _, last = head.rpartition(".")
        tail = f".{last}{tail}"
    return None


class AliasFinder:
    """Answers an import of an alias with the module that it stands for."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if not fullname.startswith("tinytensor.") or real_name(fullname) is None:
            return None
        return importlib.machinery.ModuleSpec(fullname, self)  # type: ignore[arg-type]

    def create_module(self, spec: Any) -> ModuleType:
        module = importlib.import_module(real_name(spec.name) or "")
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """It has run already, under its own name; importlib wrote the alias's spec over its own."""
        spec = module.__spec__
        assert spec is not None
        module.__spec__ = spec.loader_state


def install() -> None:
    """First in the line: the ordinary finder would load nn/functional.py a second time."""
    sys.meta_path.insert(0, AliasFinder())  # type: ignore[arg-type]
