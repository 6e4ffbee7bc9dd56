"""The modules of a graph: their paths, classes and parameters.

There are three sources: the notes of a recording, a model that is passed in, and the modules that
have been called and still exist. Without any of them only the paths are known.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .graph import Graph, ModuleInfo
from .parameter_names import called_modules, named_tensors, runs_itself
from .record import Notes


class ModuleTree:
    """The tree of modules, built from the paths of ops."""

    def __init__(self, graph: Graph, notes: Iterable[Notes], model: Any):
        used = dict.fromkeys(node.module for node in graph.nodes if node.module)
        self.classes: dict[str, str] = {}
        self.calls: dict[str, int] = {}
        self.parameters: dict[int, tuple[str, str]] = {}  # by id: name, path of the owner
        roots: dict[str, Any] = {}
        for note in (note for n in notes for note in n.modules.items()):
            path, known = note
            self.classes[path] = known.class_name
            self.calls[path] = self.calls.get(path, 0) + known.calls
            roots[path] = known.module
        if model is not None:
            roots.setdefault(type(model).__name__, model)
        unknown = {path.partition(".")[0] for path in used} - set(roots)
        called = [(type(module).__name__, module) for module in called_modules(unknown)]
        for path, module in sorted([*roots.items(), *called], key=lambda root: len(root[0])):
            self._add_model(path, module)  # the outermost, which is first, gives the full name
        self.paths: dict[str, None] = {}
        for path in used:
            self._add(path)

    def _add_model(self, path: str, model: Any) -> None:
        """Add the classes and parameters of a model that was called at `path`."""
        for below, module in model.named_modules():
            if runs_itself(module):
                self.classes.setdefault(f"{path}.{below}" if below else path, type(module).__name__)
        for tensor, name, owner in named_tensors(path, model):
            self.parameters.setdefault(id(tensor), (name, owner))

    def _add(self, path: str) -> None:
        """Add a path, after the modules that contain it."""
        parts = path.split(".")
        known = parts[0] in self.classes
        for n in range(1, len(parts)):
            above = ".".join(parts[:n])
            # A list of modules, such as "blocks" in "GPT.blocks.0", is never called.
            if above in self.classes or (not known and (n == 1 or not parts[n].isdigit())):
                self.paths[above] = None
        self.paths[path] = None

    def parent(self, path: str) -> str:
        """The innermost module that contains `path`, "" if there is none."""
        while path:
            path = path.rpartition(".")[0]
            if path in self.paths:
                break
        return path

    def parameter(self, leaf: Any) -> tuple[str, str]:
        """(name, path of its module) of a parameter; ("", "") if unknown."""
        name, owner = self.parameters.get(id(leaf), ("", ""))
        return name, owner if owner in self.paths else self.parent(owner)

    def common(self, paths: list[str]) -> str:
        """The innermost module that contains all the paths."""
        if not paths:
            return ""
        first = paths[0]
        while first and not all(p == first or p.startswith(f"{first}.") for p in paths):
            first = self.parent(first)
        return first

    def infos(self) -> dict[str, ModuleInfo]:
        """{path: ModuleInfo}, parents before their children."""
        infos: dict[str, ModuleInfo] = {}
        for path in self.paths:
            chain = [path]
            while self.parent(chain[-1]):
                chain.append(self.parent(chain[-1]))
            for here, parent in zip(reversed(chain), ["", *reversed(chain)]):
                if here in infos:
                    continue
                class_name = self.classes.get(here, "" if parent else here)
                infos[here] = ModuleInfo(here, class_name, parent, [], self.calls.get(here, 1))
                if parent:
                    infos[parent].children.append(here)
        return infos
