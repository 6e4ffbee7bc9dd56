"""Choose what a picture shows: modules that are open or closed, ops that are left out.

    scene = collapse(graph, "auto")
    scene.boxes      nodes, closed modules and "+11 more" boxes
    scene.links      arrows between them, each with the gradient that flows back along it

"auto" opens modules from the outside inwards up to about 40 boxes. In a run of alike modules it
draws only the first, and one box for the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ..data.graph import Graph, ModuleInfo, TracedNode
from ..data.values import norm_of

AIM = 40  # boxes that "auto" aims at
CROWD = 80  # with more nodes directly in one module, "auto" leaves out the middle ones
RUN = 3  # at least this many alike modules in a row are drawn as one and "+N more"
# Ops that move numbers without changing them.
SHAPE_OPS = {"Cast", "Clone", "Expand", "Output", "Permute", "Reshape", "Squeeze", "ToDevice",
             "Transpose", "Unsqueeze", "View"}  # fmt: skip

Collapse = str | int | Callable[[ModuleInfo], bool]


@dataclass
class Box:
    """One box of the picture: a node, a closed module, or the rest of a run of alike modules.

    room      the open module around it, "" for none
    uses      of a parameter: the number of its uses
    more      of a run: the number of modules that it stands for
              (a box without node and module stands for the middle of a crowd of ops)
    ops       of a module: the number of ops inside
    weights   of a module: the number of elements of its parameters
    output    of a module: the last op inside
    """

    key: str
    room: str
    node: TracedNode | None = None
    module: ModuleInfo | None = None
    uses: int = 1
    more: int = 0
    ops: int = 0
    weights: int = 0
    output: TracedNode | None = None


@dataclass
class Link:
    """An arrow from one box to another. `gradient` is the norm of the gradient along it."""

    source: str
    target: str
    count: int = 0
    squares: float = 0.0  # of the gradients' norms
    traced: bool = False  # True if there is any gradient

    @property
    def gradient(self) -> float | None:
        return math.sqrt(self.squares) if self.traced else None


@dataclass
class Scene:
    """The content of a picture: boxes by key, links, and open modules, parents first."""

    boxes: dict[str, Box] = field(default_factory=dict)
    links: list[Link] = field(default_factory=list)
    rooms: list[ModuleInfo] = field(default_factory=list)


def collapse(
    graph: Graph,
    how: Collapse = "auto",
    hide_constants: bool = False,
    hide_shape_ops: bool | None = None,
) -> Scene:
    """Choose what is shown of a graph.

    how              "auto", "none" (everything is open), a depth (0: every model is one box), or
                     a function of a ModuleInfo that returns True for a closed box
    hide_shape_ops   leave out ops that only move numbers; None: unless how is "none"
    """
    if hide_shape_ops is None:
        hide_shape_ops = how != "none"
    return _Collapser(graph, hide_constants, hide_shape_ops).scene(how)


class _Collapser:
    def __init__(self, graph: Graph, hide_constants: bool, hide_shape_ops: bool):
        self.graph = graph
        self.hidden = {
            node.id
            for node in graph.nodes
            if (hide_constants and node.kind == "constant")
            or (hide_shape_ops and node.op in SHAPE_OPS and node.id != graph.loss)
        }
        self.direct: dict[str, int] = dict.fromkeys(["", *graph.modules], 0)  # nodes in it
        inside: dict[str, list] = {path: [] for path in graph.modules}
        for node in graph.nodes:
            if node.id not in self.hidden:
                self.direct[node.module] += 1
            for path in self._modules_around(node):
                inside[path].append((node.module[len(path) :], node.op, node.kind, node.shape))
        self.alike = {path: tuple(nodes) for path, nodes in inside.items()}
        self.cut: set[int] = set()  # nodes in the middle of a crowd

    def _modules_around(self, node: TracedNode) -> Iterator[str]:
        """The modules that contain a node, innermost first."""
        path = node.module
        while path:
            yield path
            path = self.graph.modules[path].parent

    # --------------------------------------------------------------------------------------
    # Which modules are open
    # --------------------------------------------------------------------------------------

    def scene(self, how: Collapse) -> Scene:
        """The scene for one way of collapsing."""
        modules = self.graph.modules
        if how == "none":
            self.runs: dict[str, str] = {}
            opened = set(modules)
        else:
            self.runs = self._find_runs()
            if how == "auto":
                opened = self._open_while_it_fits()
                self._cut_crowds(opened)
            elif callable(how):
                opened = {path for path, info in modules.items() if not how(info)}
            elif isinstance(how, int) and not isinstance(how, bool):
                opened = {path for path, info in modules.items() if self._depth(info) < how}
            else:
                raise ValueError(
                    f"collapse: got {how!r}, expected 'auto', 'none', a depth or a function"
                )
        return self._draw(opened)

    def _depth(self, module: ModuleInfo) -> int:
        depth = 0
        while module.parent:
            depth, module = depth + 1, self.graph.modules[module.parent]
        return depth

    def _children(self, path: str) -> list[str]:
        if path:
            return self.graph.modules[path].children
        return [p for p, info in self.graph.modules.items() if not info.parent]

    def _find_runs(self) -> dict[str, str]:
        """{module: the first of the run of alike modules that it continues}."""
        runs: dict[str, str] = {}
        for path in ["", *self.graph.modules]:
            children = self._children(path)
            start = 0
            for i in range(1, len(children) + 1):
                if i < len(children) and self._same(children[start], children[i]):
                    continue
                if i - start >= RUN:
                    runs.update(dict.fromkeys(children[start + 1 : i], children[start]))
                start = i
        return runs

    def _same(self, a: str, b: str) -> bool:
        modules = self.graph.modules
        return modules[a].class_name == modules[b].class_name and self.alike[a] == self.alike[b]

    def _open_while_it_fits(self) -> set[str]:
        """Open modules level by level from the outside, each level as a whole if it fits.

        If a level does not fit, those of its modules that do are opened only while few boxes are
        shown. Alike modules side by side are opened together or not at all.
        """
        opened: set[str] = set()
        seen = self._boxes_in("")
        level = [""]
        while level:
            groups: dict[tuple, list[str]] = {}
            for path in level:
                for child in self._shown_children(path):
                    info = self.graph.modules[child]
                    groups.setdefault((path, info.class_name, self.alike[child]), []).append(child)
            level = []
            cost = {key: len(g) * (self._boxes_in(g[0]) - 1) for key, g in groups.items()}
            if seen + sum(cost.values()) > AIM and seen >= AIM // 4:
                break
            for key in sorted(groups, key=cost.__getitem__):
                if seen + cost[key] <= AIM:
                    seen += cost[key]
                    opened.update(groups[key])
                    level += groups[key]
        return opened

    def _cut_crowds(self, opened: set[str]) -> None:
        """Keep only the first and the last of many nodes directly inside one open module."""
        rooms: dict[str, list[int]] = {}
        for node in self.graph.nodes:
            if node.id not in self.hidden and (not node.module or node.module in opened):
                rooms.setdefault(node.module, []).append(node.id)
        for nodes in rooms.values():
            if len(nodes) > CROWD:
                self.cut.update(nodes[AIM // 2 : -AIM // 2])

    def _shown_children(self, path: str) -> list[str]:
        return [child for child in self._children(path) if child not in self.runs]

    def _boxes_in(self, path: str) -> int:
        """The number of boxes in an open module whose submodules are closed."""
        children = self._shown_children(path)
        heads = set(self.runs.values())
        return self.direct[path] + len(children) + sum(child in heads for child in children)

    # --------------------------------------------------------------------------------------
    # Boxes and links
    # --------------------------------------------------------------------------------------

    def _draw(self, opened: set[str]) -> Scene:
        graph, scene = self.graph, Scene()
        uses = graph.consumers()
        places = {}  # node: the key of the box that it is in
        for node in graph.nodes:
            box = self._box_around(node, opened, scene)
            if box is None:
                if node.id in self.hidden:
                    continue
                box = Box(f"n{node.id}", node.module, node, uses=len(uses[node.id]))
                scene.boxes[box.key] = box
            elif node.kind == "op":
                box.ops += 1
                box.output = node
            elif node.kind == "parameter":
                box.weights += math.prod(node.shape)
            places[node.id] = box.key
        self._link(scene, places)
        rooms = {path for box in scene.boxes.values() for path in self._rooms_of(box.room)}
        scene.rooms = [info for path, info in graph.modules.items() if path in rooms]
        return scene

    def _rooms_of(self, path: str) -> Iterator[str]:
        while path:
            yield path
            path = self.graph.modules[path].parent

    def _box_around(self, node: TracedNode, opened: set[str], scene: Scene) -> Box | None:
        """The outermost closed module around a node, as a box; None if all are open."""
        for path in reversed(list(self._modules_around(node))):
            info = self.graph.modules[path]
            head = self.runs.get(path)
            if head is not None:
                key = f"more_{head}"
                if key not in scene.boxes:
                    count = sum(first == head for first in self.runs.values())
                    box = Box(key, info.parent, module=self.graph.modules[head], more=count)
                    scene.boxes[key] = box
                return scene.boxes[key]
            if path not in opened:
                key = f"module_{path}"
                if key not in scene.boxes:
                    scene.boxes[key] = Box(key, info.parent, module=info)
                return scene.boxes[key]
        if node.id in self.cut:
            key = f"cut_{node.module}"
            return scene.boxes.setdefault(key, Box(key, node.module))
        return None

    def _link(self, scene: Scene, places: dict[int, str]) -> None:
        """Add the links: one for each pair of boxes of which one uses the other."""
        gradients: dict[tuple[int, int], float] = {}  # by (op, position)
        for step in self.graph.steps or ():
            for c in step.contributions:
                gradients[step.node, c.position] = norm_of(c.value)
        links: dict[tuple[str, str], Link] = {}
        for node in self.graph.nodes:
            if node.id not in places:
                continue
            for position, parent in enumerate(node.inputs):
                origin = self._visible(parent, places)
                if origin is None or places[origin] == places[node.id]:
                    continue
                pair = places[origin], places[node.id]
                link = links.setdefault(pair, Link(*pair))
                link.count += 1
                if (node.id, position) in gradients:
                    link.traced = True
                    link.squares += gradients[node.id, position] ** 2
        scene.links = list(links.values())

    def _visible(self, node: int | None, places: dict[int, str]) -> int | None:
        """The node itself; for a hidden op, its first visible ancestor."""
        while node is not None and node not in places:
            node = next(iter(self.graph.nodes[node].parents), None)
        return node
