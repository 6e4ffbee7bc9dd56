"""PyTorch's tensors, dtypes, devices and nested arguments as ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import tinytensor
from tinytensor.autograd.variable import wrap


class NotHere(Exception):
    """An argument that tinytensor has no counterpart of: a sparse tensor, a quantised dtype."""


def our_dtype(dtype: torch.dtype) -> Any:
    name = str(dtype).removeprefix("torch.")
    found = getattr(tinytensor, name, None)
    if found is None or name == "bfloat16":
        raise NotHere(f"dtype {name}")
    return found


def our_tensor(tensor: torch.Tensor, memories: dict) -> Any:
    """A copy with the same strides, which requires grad if the tensor does.

    memories: what was copied so far. Tensors that share memory do so in the copy.
    """
    if tensor.layout != torch.strided or tensor.is_quantized:
        raise NotHere(f"layout {tensor.layout}")
    if tensor.is_nested or tensor.device.type != "cpu":
        raise NotHere(f"device {tensor.device}")
    if tensor.ndim > 64:
        raise NotHere("more than 64 dimensions")
    our_dtype(tensor.dtype)
    plain = tensor.detach().resolve_conj().resolve_neg()
    key = plain.untyped_storage().data_ptr(), plain.dtype
    if key not in memories or not key[0]:
        whole = torch.empty(0, dtype=plain.dtype).set_(plain.untyped_storage())
        memories[key] = whole.clone().numpy()
    memory = memories[key]
    size = memory.itemsize
    array = np.lib.stride_tricks.as_strided(
        memory[plain.storage_offset() :], plain.shape, [s * size for s in plain.stride()]
    )
    return wrap(array).requires_grad_(tensor.requires_grad)


def ours(value: Any, make: dict | None = None) -> Any:
    """A sample's arguments for tinytensor."""
    make = {} if make is None else make
    if isinstance(value, torch.Tensor):
        key = "tensor", id(value)  # one tensor given twice is one tensor here, too
        if key not in make:
            make[key] = our_tensor(value, make)
        return make[key]
    if isinstance(value, torch.Size):
        return tinytensor.Size(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(ours(item, make) for item in value))
    if isinstance(value, (list, tuple)):
        return type(value)(ours(item, make) for item in value)
    if isinstance(value, dict):
        return {key: ours(item, make) for key, item in value.items()}
    if isinstance(value, torch.dtype):
        return our_dtype(value)
    if isinstance(value, torch.device):
        return tinytensor.device(str(value))
    if isinstance(value, (torch.layout, torch.memory_format, torch.Generator)):
        found = getattr(tinytensor, str(value).removeprefix("torch."), None)
        if found is None:
            raise NotHere(str(value))
        return found
    if isinstance(value, torch.nn.Module):  # PairwiseDistance(), for example
        return getattr(tinytensor.nn, type(value).__name__)()
    if isinstance(value, complex) and not hasattr(tinytensor, "complex64"):
        raise NotHere("a complex number")
    return value


def theirs(value: Any, make: Callable) -> Any:
    """A sample's arguments for PyTorch, with each tensor through `make`."""
    if isinstance(value, torch.Tensor):
        return make(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(theirs(item, make) for item in value))
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        return type(value)(theirs(item, make) for item in value)
    if isinstance(value, dict):
        return {key: theirs(item, make) for key, item in value.items()}
    return value


def leaves(value: Any, kinds: tuple = (torch.Tensor, tinytensor.Tensor)) -> list:
    """The tensors in nested arguments or results, in order."""
    if isinstance(value, kinds):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in leaves(item, kinds)]
    return []
