"""The graph under PyTorch's names, `torch.autograd.graph`.

GradientEdge, get_gradient_edge    a place in the graph, without its tensor
saved_tensors_hooks                functions that pack saved values and unpack them in backward
save_on_cpu, allow_mutation_on_saved_tensors, disable_saved_tensors_hooks
register_multi_grad_hook           one hook for the gradients of several tensors
increment_version                  count a write that the engine did not see
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np

from .hooks import RemovableHandle, add_hook
from .mode import outside, state
from .nesting import callbacks
from .next_functions import AccumulateGrad
from .op import Node, Op
from .outputs import Output
from .variable import Variable, edge_of, made_by, writes_of


class GradientEdge(NamedTuple):
    """Output `output_nr` of a node. It can stand for a tensor in `backward` and `grad`."""

    node: Any
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor: Any) -> GradientEdge:
    """The edge that the gradient of `tensor` flows along."""
    edge = edge_of(tensor)
    if edge is None:
        raise RuntimeError(
            f"get_gradient_edge: the tensor of shape {tuple(tensor.shape)} does not require grad"
        )
    if isinstance(edge, Variable):
        return GradientEdge(AccumulateGrad.of(edge), 0)
    node, number = edge.function_and_index()
    return GradientEdge(node, number, edge)


def as_tensors(values: Any) -> tuple:
    """An iterable of tensors and GradientEdges, or one GradientEdge, as a tuple of tensors."""
    if isinstance(values, GradientEdge):
        values = (values,)
    return tuple(_stand_in(v) if isinstance(v, GradientEdge) else v for v in values)


def _stand_in(edge: GradientEdge) -> Any:
    """A tensor without values at a place in the graph."""
    node = edge.node
    if isinstance(node, AccumulateGrad):
        return node.variable
    if isinstance(edge.ownership_token, Op):
        node = edge.ownership_token
    elif isinstance(node._shape, list):
        shape, dtype = node._shape[edge.output_nr], node._dtype[edge.output_nr]
        node = Output(node, edge.output_nr, np.broadcast_to(np.zeros((), dtype), shape))
    return made_by(node, np.broadcast_to(np.zeros((), node._dtype), node._shape))


def increment_version(tensor: Any) -> None:
    """Count a write into the memory of a tensor, or of each of several."""
    for t in (tensor,) if isinstance(tensor, Variable) else tensor:
        writes_of(t)[0] += 1


# ------------------------------------------------------------------------------------------
# Hooks for saved values
# ------------------------------------------------------------------------------------------


def _set_packing(hooks: tuple[Callable, Callable] | None) -> None:
    mode = state.mode
    mode.pack = hooks
    mode.anomaly = mode.anomaly  # sets `watched`


class saved_tensors_hooks:
    """In this block, ops store pack_hook(tensor) instead of each tensor that backward needs.

    unpack_hook turns it back into a tensor when backward asks for it. Of nested blocks the
    innermost counts.
    """

    def __init__(self, pack_hook: Callable, unpack_hook: Callable):
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        message = state.stacks.get("saved_tensors_hooks disabled")
        if message is not None:
            raise RuntimeError(message)
        stack = state.stacks.setdefault("saved_tensors_hooks", [])
        stack.append(state.mode.pack)
        _set_packing((self.pack_hook, self.unpack_hook))

    def __exit__(self, *exc_info: object) -> None:
        stack = state.stacks.get("saved_tensors_hooks")
        _set_packing(stack.pop() if stack else None)
        if not stack:
            state.stacks.pop("saved_tensors_hooks", None)


class save_on_cpu(saved_tensors_hooks):
    """In this block, ops keep the tensors that backward needs in the memory of the CPU."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda"):
        super().__init__(lambda t: (t.device, t.detach().cpu()), lambda p: p[1].to(p[0]))


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """In this block, `saved_tensors_hooks` raises a RuntimeError with this message."""
    if state.mode.pack is not None:
        raise RuntimeError(error_message)
    stacks, key = state.stacks, "saved_tensors_hooks disabled"
    before = stacks.get(key)
    stacks[key] = error_message
    try:
        yield
    finally:
        if before is None:
            del stacks[key]
        else:
            stacks[key] = before


class _Handle:
    """Stands for one version of a saved tensor."""

    __slots__ = ("__weakref__", "tensor")

    def __init__(self, tensor: Any):
        self.tensor = tensor


class _AllowMutation:
    """The state of `allow_mutation_on_saved_tensors`, under PyTorch's names.

    tid_to_weakhandle  {(storage, version, place in it): handle} for each saved tensor
    cloned             {handle: copy} for those that were written to since
    Both forget a handle once no node refers to it.
    """

    def __init__(self) -> None:
        self.tid_to_weakhandle: WeakValueDictionary[tuple, _Handle] = WeakValueDictionary()
        self.cloned: WeakKeyDictionary[_Handle, Any] = WeakKeyDictionary()
        self.open = True

    def __call__(self, tensor: Any) -> _Handle:
        """The pack hook."""
        writes, array = writes_of(tensor), tensor.array
        key = (id(writes), writes[0], tensor.data_ptr(), array.shape, array.strides, array.dtype)
        handle = self.tid_to_weakhandle.get(key)
        if handle is None:
            handle = self.tid_to_weakhandle[key] = _Handle(tensor.detach())
        return handle

    def unpack(self, handle: _Handle) -> Any:
        """The unpack hook."""
        if not self.open:
            raise AssertionError(
                "allow_mutation_on_saved_tensors: backward outside of the block in which the "
                "graph was made; call it inside"
            )
        return self.cloned.get(handle, handle.tensor)

    def before_write(self, target: Any) -> None:
        """Copy the saved tensors that share memory with `target`, which is about to be written."""
        for handle in list(self.tid_to_weakhandle.values()):
            if handle.tensor is not None and handle.tensor._writes is target._writes:
                self.cloned[handle] = handle.tensor.detach().clone()
                handle.tensor = None


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[_AllowMutation]:
    """In this block, tensors that backward needs may be written to: they are copied before.

    backward must be called in the block, too.
    """
    key = "allow_mutation_on_saved_tensors"
    if key in state.stacks:
        raise RuntimeError("allow_mutation_on_saved_tensors: contexts cannot be nested")
    state.stacks[key] = True
    context = _AllowMutation()
    try:
        with saved_tensors_hooks(context, context.unpack):
            yield context
    finally:
        context.open = False
        context.cloned.clear()
        del state.stacks[key]


# ------------------------------------------------------------------------------------------
# One hook for several tensors
# ------------------------------------------------------------------------------------------


class _Arrived:
    """The gradients that reached a group of tensors in one walk; called when the walk ends."""

    def __init__(self, group: _Group):
        self.group = group
        self.grads: list[Any] = [None] * group.size

    def __call__(self) -> None:
        if self.group.mode == "all":
            self.group.hook(self.grads)


class _Group:
    """A hook on several tensors."""

    def __init__(self, hook: Callable, size: int, mode: str):
        self.hook, self.size, self.mode = hook, size, mode

    def arrive(self, i: int, gradient: Any) -> None:
        """Note the gradient of tensor i."""
        queue = callbacks()
        mine = [c for c in queue if isinstance(c, _Arrived) and c.group is self]
        if not mine:
            mine = [_Arrived(self)]
            queue.extend(mine)
            if self.mode == "any":
                self.hook(gradient)
        mine[0].grads[i] = gradient


class _Handles:
    """Removes a group of hooks."""

    def __init__(self, handles: list[RemovableHandle]):
        self._handles = handles

    def remove(self) -> None:
        for handle in self._handles:
            handle.remove()

    def __enter__(self) -> _Handles:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.remove()


def register_multi_grad_hook(
    tensors: Sequence[Any], fn: Callable, *, mode: str = "all"
) -> _Handles:
    """Call fn once for each backward in which a gradient reaches one of `tensors`.

    mode "all": fn(grads) when the backward ends, with None for tensors that no gradient reached.
    mode "any": fn(grad) with the first gradient that arrives.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"register_multi_grad_hook: got mode {mode!r}, expected 'all' or 'any'")
    group = _Group(fn, len(tensors), mode)
    handles = []
    for i, tensor in enumerate(tensors):
        edge = edge_of(tensor)
        if edge is None:
            raise RuntimeError(f"register_multi_grad_hook: tensor {i} does not require grad")
        handles.append(add_hook(edge, lambda gradient, i=i: group.arrive(i, gradient)))
    return _Handles(handles)


outside.as_tensors = as_tensors

# fmt: off
__all__ = [
    "GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks",
    "get_gradient_edge", "increment_version", "register_multi_grad_hook", "save_on_cpu",
    "saved_tensors_hooks",
]
# fmt: on
