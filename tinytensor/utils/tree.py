"""Flatten nested containers of values, and rebuild them (torch.utils._pytree).

The containers are dict, list, tuple, named tuples, OrderedDict, defaultdict, deque, and classes
that `register_pytree_node` names. Everything else is a leaf: also None, and subclasses of these
classes (`flatten` alone takes subclasses apart).
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..size import Size

Rebuild = Callable[[Sequence[Any]], Any]
IsLeaf = Callable[[Any], bool] | None


class NodeDef(NamedTuple):
    """How a container is taken apart into (children, context), and put together from them."""

    type: type
    flatten_fn: Callable[[Any], tuple[list, Any]]
    unflatten_fn: Callable[[Iterable[Any], Any], Any]


SUPPORTED_NODES: dict[Any, NodeDef] = {}


def register_pytree_node(
    cls: type,
    flatten_fn: Callable[[Any], tuple[list, Any]],
    unflatten_fn: Callable[[Iterable[Any], Any], Any],
    **names: Any,
) -> None:
    """Make cls a container. flatten_fn(x) returns (children, context), unflatten_fn undoes it."""
    if cls in SUPPORTED_NODES:
        raise ValueError(f"register_pytree_node: {cls!r} is already registered")
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn)


# A defaultdict's context is [its default, its keys]; named tuples of all classes share one entry.
register_pytree_node(tuple, lambda x: (list(x), None), lambda values, _: tuple(values))
register_pytree_node(Size, lambda x: (list(x), None), lambda values, _: tuple(values))
register_pytree_node(list, lambda x: (x, None), lambda values, _: list(values))
register_pytree_node(
    dict, lambda x: (list(x.values()), list(x)), lambda values, keys: dict(zip(keys, values))
)
register_pytree_node(
    OrderedDict,
    lambda x: (list(x.values()), list(x)),
    lambda values, keys: OrderedDict(zip(keys, values)),
)
register_pytree_node(
    defaultdict,
    lambda x: (list(x.values()), [x.default_factory, list(x)]),
    lambda values, context: defaultdict(context[0], zip(context[1], values)),
)
register_pytree_node(
    deque, lambda x: (list(x), x.maxlen), lambda values, length: deque(values, maxlen=length)
)
register_pytree_node(
    namedtuple,  # type: ignore[arg-type]  # a function that stands for all classes it makes
    lambda x: (list(x), type(x)),
    lambda values, cls: cls(*values),
)
# Subclasses of dict, and of list and tuple, which only `flatten` takes apart
SUBCLASSES = {
    Mapping: NodeDef(
        Mapping,
        lambda x: (list(x.values()), (type(x), list(x))),
        lambda values, context: context[0](zip(context[1], values)),
    ),
    Sequence: NodeDef(Sequence, lambda x: (list(x), type(x)), lambda values, cls: cls(values)),
}
DICTS = (dict, OrderedDict, defaultdict)


def node_type(tree: Any) -> Any:
    """The key of SUPPORTED_NODES for a container; None for a leaf."""
    cls = type(tree)
    if cls in SUPPORTED_NODES:
        return cls
    is_named = issubclass(cls, tuple) and isinstance(getattr(cls, "_fields", None), tuple)
    return namedtuple if is_named else None


def _subclass(tree: Any) -> Any:
    """The key of SUBCLASSES for an instance of a subclass; None for a leaf."""
    if isinstance(tree, dict):
        return Mapping
    return Sequence if isinstance(tree, (list, tuple)) else None


def _node(kind: Any) -> NodeDef:
    return SUPPORTED_NODES[kind] if kind in SUPPORTED_NODES else SUBCLASSES[kind]


class TreeSpec:
    """The structure of a tree: the type of its root, its context, and the specs of its children.

    type None is a leaf.
    """

    __slots__ = ("type", "context", "_children", "num_leaves", "num_nodes")

    def __init__(self, type: Any, context: Any, children_specs: list[TreeSpec]):
        self.type, self.context, self._children = type, context, children_specs
        self.num_leaves: int = 1 if type is None else sum(c.num_leaves for c in children_specs)
        self.num_nodes: int = 1 + sum(c.num_nodes for c in children_specs)

    @property
    def num_children(self) -> int:
        return len(self._children)

    def is_leaf(self) -> bool:
        return self.type is None

    def children(self) -> list[TreeSpec]:
        return list(self._children)

    def child(self, index: int) -> TreeSpec:
        return self._children[index]

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """A tree of this structure with the given leaves."""
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"tree_unflatten: got {len(leaves)} leaves, expected {self.num_leaves} for {self}"
            )
        return self._build(iter(leaves))

    def _build(self, leaves: Iterator[Any]) -> Any:
        if self.type is None:
            return next(leaves)
        children = [child._build(leaves) for child in self._children]
        return _node(self.type).unflatten_fn(children, self.context)

    def flatten_up_to(self, tree: Any) -> list:
        """The subtrees of `tree` at the leaves of this structure, of which it is an extension.

        Dicts of all kinds match each other if their keys do, in any order.
        """
        if self.type is None:
            return [tree]
        kind = node_type(tree)
        if kind is not self.type and not (kind in DICTS and self.type in DICTS):
            raise ValueError(
                f"tree: got {type(tree).__name__}, expected {self.type.__name__} as in the first "
                "tree"
            )
        children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
        if self.type in DICTS:
            keys = self.context[1] if self.type is defaultdict else self.context
            if set(tree) != set(keys):
                raise ValueError(f"tree: got keys {list(tree)}, expected {list(keys)}")
            children = [tree[key] for key in keys]
        elif len(children) != len(self._children):
            raise ValueError(
                f"tree: got {len(children)} values, expected {len(self._children)} in this "
                f"{self.type.__name__}"
            )
        elif self.type is not deque and context != self.context:
            raise ValueError(f"tree: got context {context!r}, expected {self.context!r}")
        parts = [spec.flatten_up_to(child) for spec, child in zip(self._children, children)]
        return [subtree for part in parts for subtree in part]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeSpec):
            return NotImplemented
        mine = (self.type, self.context, self._children)
        return mine == (other.type, other.context, other._children)

    def __hash__(self) -> int:
        return hash((self.type, tuple(self._children)))

    def __repr__(self) -> str:
        if self.type is None:
            return "*"
        return f"TreeSpec({self.type.__name__}, {self.context}, {self._children})"


_LEAF = TreeSpec(None, None, [])


def tree_flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list, TreeSpec]:
    """The leaves of `tree` in order, and its structure. is_leaf(node): take this node as a leaf."""
    leaves: list = []
    return leaves, _flatten_into(leaves, tree, is_leaf)


def _flatten_into(leaves: list, tree: Any, is_leaf: IsLeaf, subclasses: bool = False) -> TreeSpec:
    kind = node_type(tree)
    if kind is None and subclasses:
        kind = _subclass(tree)
    if kind is None or (is_leaf is not None and is_leaf(tree)):
        leaves.append(tree)
        return _LEAF
    children, context = _node(kind).flatten_fn(tree)
    specs = [_flatten_into(leaves, child, is_leaf, subclasses) for child in children]
    return TreeSpec(kind, context, specs)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """The tree of this structure with these leaves."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"tree_unflatten: got {type(treespec).__name__}, expected a TreeSpec")
    return treespec.unflatten(leaves)


def flatten(tree: Any) -> tuple[list, Rebuild]:
    """The leaves of `tree`, and a function that builds the same structure from new leaves.

    Unlike in `tree_flatten`, subclasses of dict, list and tuple are containers too.
    """
    leaves: list = []
    return leaves, _flatten_into(leaves, tree, None, subclasses=True).unflatten


def tree_leaves(tree: Any, is_leaf: IsLeaf = None) -> list:
    """The leaves of `tree` in order."""
    return tree_flatten(tree, is_leaf)[0]


def tree_iter(tree: Any, is_leaf: IsLeaf = None) -> Iterator[Any]:
    """An iterator over the leaves."""
    return iter(tree_leaves(tree, is_leaf))


def tree_structure(tree: Any, is_leaf: IsLeaf = None) -> TreeSpec:
    """The structure of `tree`."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable, tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """`tree` with func(leaf, …) in place of each leaf.

    Each tree of `rests` has the structure of the first, or has subtrees where that has leaves.
    """
    leaves, treespec = tree_flatten(tree, is_leaf)
    return treespec.unflatten(map(func, leaves, *map(treespec.flatten_up_to, rests)))


def tree_map_(func: Callable, tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """Call func(leaf, …) for each leaf, for its effect; returns `tree`."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _chosen(types: Any) -> Callable[[Any], bool]:
    """A test for `types`: a type, a tuple of types, or already a function."""
    if isinstance(types, (type, tuple)) or not callable(types):
        return lambda leaf: isinstance(leaf, types)
    return types


def tree_map_only(
    type_or_types_or_pred: Any, func: Callable, tree: Any, is_leaf: IsLeaf = None
) -> Any:
    """tree_map for the leaves of a type, of a tuple of types, or that a function selects."""
    chosen = _chosen(type_or_types_or_pred)
    return tree_map(lambda leaf: func(leaf) if chosen(leaf) else leaf, tree, is_leaf=is_leaf)


def tree_map_only_(
    type_or_types_or_pred: Any, func: Callable, tree: Any, is_leaf: IsLeaf = None
) -> Any:
    """Like tree_map_only, for the effect of func; returns `tree`."""
    tree_map_only(type_or_types_or_pred, func, tree, is_leaf)
    return tree


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether pred holds for every leaf."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether pred holds for some leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


# fmt: off
__all__ = [
    "TreeSpec", "register_pytree_node", "tree_all", "tree_any", "tree_flatten", "tree_iter",
    "tree_leaves", "tree_map", "tree_map_", "tree_map_only", "tree_map_only_", "tree_structure",
    "tree_unflatten",
]
# fmt: on
