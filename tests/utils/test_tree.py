"""utils/tree.py against torch.utils._pytree."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from typing import Any

import pytest
import tinytensor.utils._pytree as ours

import tinytensor as tt
from tinytensor.utils import tree

Point = namedtuple("Point", "x y")


class Nearer(Point):
    pass


class MyDict(dict):
    pass


class MyList(list):
    pass


TREES: dict[str, Any] = {
    "leaf": 3,
    "None": None,
    "empty tuple": (),
    "empty dict": {},
    "empty list in a tuple": ([], 1),
    "dict in order of insertion": {"b": 1, "a": [2, (3,)]},
    "tuple": (1, [2, {"x": 3}], None),
    "named tuple": Point(1, [2, 3]),
    "subclass of a named tuple": Nearer(1, (2,)),
    "OrderedDict": OrderedDict([("z", 1), ("a", (2, 3))]),
    "defaultdict": defaultdict(list, {"k": [1, 2]}),
    "deque": deque([1, (2, 3)], maxlen=5),
    "subclasses are leaves": (MyDict(a=1), MyList([2])),
    "strings and sets are leaves": ["ab", {1}, b"c"],
    "deep": [[[[[1]]]], {"a": {"b": {"c": (2,)}}}],
}


@pytest.mark.parametrize("name", TREES)
def test_against_pytorch(name: str) -> None:
    theirs = pytest.importorskip("torch.utils._pytree")
    value = TREES[name]
    leaves, spec = ours.tree_flatten(value)
    their_leaves, their_spec = theirs.tree_flatten(value)
    assert leaves == their_leaves == ours.tree_leaves(value) == list(ours.tree_iter(value))
    assert spec.num_leaves == their_spec.num_leaves and spec.num_nodes == their_spec.num_nodes
    assert spec.is_leaf() == their_spec.is_leaf() and spec.num_children == their_spec.num_children
    again = ours.tree_unflatten(leaves, spec)
    assert again == value and type(again) is type(theirs.tree_unflatten(leaves, their_spec))
    for function in (repr, type):
        mapped, expected = ours.tree_map(function, value), theirs.tree_map(function, value)
        assert mapped == expected and type(mapped) is type(expected)
    only = ours.tree_map_only(int, lambda n: n + 1, value)
    assert only == theirs.tree_map_only(int, lambda n: n + 1, value)
    some = ours.tree_map_only((int, str), repr, value)
    assert some == theirs.tree_map_only((int, str), repr, value)
    even = ours.tree_map_only(lambda n: n == 2, repr, value)
    assert even == theirs.tree_map_only(lambda n: n == 2, repr, value)
    is_list = lambda node: isinstance(node, list)  # noqa: E731
    assert ours.tree_leaves(value, is_list) == theirs.tree_leaves(value, is_list)
    assert ours.tree_map(len, [value], is_leaf=is_list) == 1
    assert spec == ours.tree_structure(value) and hash(spec) == hash(ours.tree_structure(value))
    assert ours.tree_all(lambda n: n == 1, value) == theirs.tree_all(lambda n: n == 1, value)
    assert ours.tree_any(lambda n: n == 1, value) == theirs.tree_any(lambda n: n == 1, value)


def test_sizes_and_results_of_ops() -> None:
    assert ours.tree_map(lambda n: n, tt.Size([2, 3])) == (2, 3)
    doubled = ours.tree_map(lambda x: x * 2, tt.tensor([1, 5]).max(0))
    assert type(doubled) is tt.return_types.max and doubled.values == 10


SEVERAL: dict[str, tuple] = {
    "the same structure": ((1, [2]), (10, [20])),
    "the first is a prefix": ([5, 6], [[7, 9], [1, 2]]),
    "keys in another order": ({"a": 1, "b": 2}, {"b": 20, "a": 10}),
    "kinds of dict": ({"a": 1}, OrderedDict(a=2), defaultdict(int, a=3)),
    "deques of other lengths": (deque([1], maxlen=1), deque([2], maxlen=3)),
    "named": (Point(1, 2), Point(3, (4, 5))),
    "wrong: list and tuple": ([1], (2,)),
    "wrong: number of values": ([1], [2, 3]),
    "wrong: keys": ({"a": 1}, {"b": 1}),
    "wrong: other named tuple": (Point(1, 2), Nearer(1, 2)),
    "wrong: leaf": ([1], 2),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_several_trees(name: str) -> None:
    theirs = pytest.importorskip("torch.utils._pytree")
    together: Callable = lambda *values: values  # noqa: E731
    if name.startswith("wrong"):
        for library in (ours, theirs):
            with pytest.raises(ValueError):
                library.tree_map(together, *SEVERAL[name])
    else:
        mapped = ours.tree_map(together, *SEVERAL[name])
        assert mapped == theirs.tree_map(together, *SEVERAL[name])


def test_for_the_effect() -> None:
    seen: list = []
    value = {"a": 1, "b": ["x"]}
    assert ours.tree_map_(seen.append, value) is value
    assert ours.tree_map_only_(str, seen.append, value) is value
    assert seen == [1, "x", "x"]


def test_a_class_of_ones_own() -> None:
    class Pair:
        def __init__(self, a: Any, b: Any):
            self.a, self.b = a, b

    undo = lambda values, label: Pair(*values)  # noqa: E731
    ours.register_pytree_node(Pair, lambda p: ([p.a, p.b], None), undo)
    try:
        mapped = ours.tree_map(lambda n: n + 1, [Pair(1, (2, 3))])
        assert mapped[0].a == 2 and mapped[0].b == (3, 4)
        with pytest.raises(ValueError, match="register_pytree_node: .*Pair.* already registered"):
            ours.register_pytree_node(Pair, lambda p: ([], None), undo)
    finally:
        del tree.SUPPORTED_NODES[Pair]


def test_errors() -> None:
    _, spec = ours.tree_flatten((1, 2))
    with pytest.raises(ValueError, match="tree_unflatten: got 1 leaves, expected 2 for TreeSpec"):
        ours.tree_unflatten([1], spec)
    with pytest.raises(TypeError, match="tree_unflatten: got list, expected a TreeSpec"):
        ours.tree_unflatten([1], [1])  # type: ignore[arg-type]


def test_flatten_takes_subclasses_apart() -> None:
    leaves, rebuild = tree.flatten([MyDict(a=1, b=MyList([2, 3]))])
    again = rebuild([n * 10 for n in leaves])
    assert leaves == [1, 2, 3] and again == [{"a": 10, "b": [20, 30]}]
    assert type(again[0]) is MyDict and type(again[0]["b"]) is MyList
