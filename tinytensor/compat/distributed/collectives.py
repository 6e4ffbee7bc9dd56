"""Collectives of one process: what every process contributes is what this one has.

Each returns None, or a finished Work with async_op=True. Before init_process_group they raise
ValueError, and for another rank than 0 RuntimeError.
"""

from __future__ import annotations

import copy
from typing import Any

from ...autograd.arguments import require_tensor
from ...autograd.settings import no_grad
from .group import ReduceOp, Work, check_ranks, default_group


def _done(async_op: bool) -> Work | None:
    return Work() if async_op else None


def _check(name: str, *tensors: Any, rank: Any = 0) -> None:
    default_group(name)
    check_ranks(name, [0 if rank is None else rank])
    for tensor in tensors:
        require_tensor(f"distributed.{name}", tensor)


def _only(name: str, tensors: Any) -> Any:
    """The one item of a list."""
    items = [] if tensors is None else list(tensors)
    if len(items) != 1:
        raise RuntimeError(f"distributed.{name}: got a list of {len(items)}, expected 1 item")
    return items[0]


def _write(name: str, target: Any, source: Any) -> None:
    """target ← source, of the same number of elements."""
    if target.numel() != source.numel():
        raise RuntimeError(
            f"distributed.{name}: got an output of shape {tuple(target.shape)} for an input of "
            f"shape {tuple(source.shape)}, expected as many elements"
        )
    with no_grad():
        target.copy_(source.detach().reshape(target.shape))


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None) -> Work | None:
    """Return at once; also before init_process_group."""
    return _done(async_op)


def monitored_barrier(group: Any = None, timeout: Any = None, wait_all_ranks: bool = False) -> None:
    """Return at once."""
    _check("monitored_barrier")


def all_reduce(
    tensor: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """The tensor stays as it is: it is the sum, mean and maximum of itself."""
    _check("all_reduce", tensor)
    return _done(async_op)


def reduce(
    tensor: Any, dst: Any = None, op: Any = ReduceOp.SUM, group: Any = None,
    async_op: bool = False, group_dst: Any = None,
) -> Work | None:  # fmt: skip
    """The tensor stays as it is."""
    _check("reduce", tensor, rank=dst)
    return _done(async_op)


def broadcast(
    tensor: Any, src: Any = None, group: Any = None, async_op: bool = False, group_src: Any = None
) -> Work | None:
    """The tensor stays as it is."""
    _check("broadcast", tensor, rank=src)
    return _done(async_op)


def all_gather(
    tensor_list: Any, tensor: Any, group: Any = None, async_op: bool = False
) -> Work | None:
    """tensor_list[0] ← tensor"""
    _check("all_gather", tensor)
    _write("all_gather", _only("all_gather", tensor_list), tensor)
    return _done(async_op)


def gather(
    tensor: Any, gather_list: Any = None, dst: Any = None, group: Any = None,
    async_op: bool = False, group_dst: Any = None,
) -> Work | None:  # fmt: skip
    """gather_list[0] ← tensor"""
    _check("gather", tensor, rank=dst)
    _write("gather", _only("gather", gather_list), tensor)
    return _done(async_op)


def scatter(
    tensor: Any, scatter_list: Any = None, src: Any = None, group: Any = None,
    async_op: bool = False, group_src: Any = None,
) -> Work | None:  # fmt: skip
    """tensor ← scatter_list[0]"""
    _check("scatter", tensor, rank=src)
    _write("scatter", tensor, _only("scatter", scatter_list))
    return _done(async_op)


def reduce_scatter(
    output: Any, input_list: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """output ← input_list[0]"""
    _check("reduce_scatter", output)
    _write("reduce_scatter", output, _only("reduce_scatter", input_list))
    return _done(async_op)


def all_to_all(
    output_tensor_list: Any, input_tensor_list: Any, group: Any = None, async_op: bool = False
) -> Work | None:
    """output_tensor_list[0] ← input_tensor_list[0]"""
    _check("all_to_all")
    source = _only("all_to_all", input_tensor_list)
    _write("all_to_all", _only("all_to_all", output_tensor_list), source)
    return _done(async_op)


def all_gather_into_tensor(
    output_tensor: Any, input_tensor: Any, group: Any = None, async_op: bool = False
) -> Work | None:
    """output_tensor ← input_tensor"""
    _check("all_gather_into_tensor", output_tensor, input_tensor)
    _write("all_gather_into_tensor", output_tensor, input_tensor)
    return _done(async_op)


def reduce_scatter_tensor(
    output: Any, input: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """output ← input"""
    _check("reduce_scatter_tensor", output, input)
    _write("reduce_scatter_tensor", output, input)
    return _done(async_op)


def all_to_all_single(
    output: Any, input: Any, output_split_sizes: Any = None, input_split_sizes: Any = None,
    group: Any = None, async_op: bool = False,
) -> Work | None:  # fmt: skip
    """output ← input"""
    _check("all_to_all_single", output, input)
    _write("all_to_all_single", output, input)
    return _done(async_op)


def all_gather_object(object_list: list, obj: Any, group: Any = None) -> None:
    """object_list[0] ← a copy of obj"""
    _check("all_gather_object")
    _only("all_gather_object", object_list)
    object_list[0] = copy.deepcopy(obj)


def gather_object(
    obj: Any, object_gather_list: list | None = None, dst: Any = None, group: Any = None,
    group_dst: Any = None,
) -> None:  # fmt: skip
    """object_gather_list[0] ← a copy of obj"""
    _check("gather_object", rank=dst)
    _only("gather_object", object_gather_list)
    assert object_gather_list is not None
    object_gather_list[0] = copy.deepcopy(obj)


def broadcast_object_list(
    object_list: list, src: Any = None, group: Any = None, device: Any = None,
    group_src: Any = None,
) -> None:  # fmt: skip
    """The objects stay as they are."""
    _check("broadcast_object_list", rank=src)


def scatter_object_list(
    scatter_object_output_list: list, scatter_object_input_list: list | None = None,
    src: Any = None, group: Any = None, group_src: Any = None,
) -> None:  # fmt: skip
    """scatter_object_output_list[0] ← scatter_object_input_list[0]"""
    _check("scatter_object_list", rank=src)
    scatter_object_output_list[0] = _only("scatter_object_list", scatter_object_input_list)


def _to_itself(name: str) -> Any:
    default_group(name)
    raise ValueError(f"distributed.{name}: there is one process, which cannot send to itself")


def send(tensor: Any, dst: Any = None, group: Any = None, tag: int = 0) -> None:
    """Raise ValueError: there is no other process."""
    _to_itself("send")


def recv(tensor: Any, src: Any = None, group: Any = None, tag: int = 0) -> int:
    """Raise ValueError: there is no other process."""
    return _to_itself("recv")


def isend(tensor: Any, dst: Any = None, group: Any = None, tag: int = 0) -> Work:
    """Raise ValueError: there is no other process."""
    return _to_itself("isend")


def irecv(tensor: Any, src: Any = None, group: Any = None, tag: int = 0) -> Work:
    """Raise ValueError: there is no other process."""
    return _to_itself("irecv")


__all__ = [
    "all_gather", "all_gather_into_tensor", "all_gather_object", "all_reduce", "all_to_all",
    "all_to_all_single", "barrier", "broadcast", "broadcast_object_list", "gather",
    "gather_object", "irecv", "isend", "monitored_barrier", "recv", "reduce", "reduce_scatter",
    "reduce_scatter_tensor", "scatter", "scatter_object_list", "send",
]  # fmt: skip
