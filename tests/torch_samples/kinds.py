"""The kinds of sample, and the check of one sample of each.

`cases(info, kind)` lists an op's samples of a kind as `Case`s; `case.run()` raises `Differs` if the
libraries do not agree on it, and `NotHere` if it needs something that tinytensor does not have.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import random
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

import tinytensor
from tinytensor import ops

from .convert import NotHere, leaves, ours, theirs
from .database import RANDOM, our_function, title
from .judge import Differs, agree, attempt, same_gradients, same_refusal, same_tensor

DTYPES = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
          torch.float16, torch.float32, torch.float64)  # fmt: skip


@dataclass
class Case:
    """One sample; `run` compares the libraries on it."""

    label: str
    run: Callable[[], None]


def cases(info: Any, kind: str) -> Iterator[Case]:
    yield from cases_of(lambda: KINDS[kind](info))


def cases_of(make: Callable[[], Iterator[Case]]) -> Iterator[Case]:
    """The cases that `make` yields: the same ones each time, and without warnings."""
    torch.manual_seed(0)
    random.seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield from make()


def describe(args: tuple, kwargs: dict) -> str:
    """A short line for a sample: (float64[3, 2], 1, dim=0)."""

    def short(value: Any) -> str:
        if isinstance(value, torch.Tensor):
            return f"{str(value.dtype)[6:]}{list(value.shape)}"
        if isinstance(value, (list, tuple)):
            return f"[{', '.join(map(short, value))}]"
        return str(value)[:40]

    named = [f"{key}={short(value)}" for key, value in kwargs.items()]
    return f"({', '.join([*map(short, args), *named])})"


def supported(info: Any, dtype: torch.dtype) -> bool:
    return dtype in info.supported_dtypes("cpu")


def grows(old: Any, new: Any) -> bool:
    """Whether a tensor gets more elements by the size `new`, or by that of the tensor `new`."""
    if not isinstance(old, torch.Tensor):
        return False  # spoilt, as sizes may be
    if isinstance(new, torch.Tensor):
        return new.numel() > old.numel()
    whole = isinstance(new, (tuple, list)) and all(isinstance(n, int) for n in new)
    return whole and math.prod(new) > old.numel()


def is_random(info: Any, kwargs: dict, args: tuple = ()) -> bool:
    dropout = kwargs.get("dropout_p")
    if info.name == "nn.functional.multi_head_attention_forward":
        dropout = args[10]
    if info.name in ("resize_", "resize_as_") and args and grows(*args[:2]):
        return True  # the rest is memory that nobody has written to
    return (
        title(info) in RANDOM or info.name in RANDOM or bool(isinstance(dropout, float) and dropout)
    )


# ------------------------------------------------------------------------------------------
# Samples as they are
# ------------------------------------------------------------------------------------------


def compare(info: Any, args: tuple, kwargs: dict, order: int = 0, types: bool = True) -> None:
    """info's op on the same arguments in both libraries."""
    function = our_function(info)
    if function is None:
        raise NotHere(info.name)
    mine, my_kwargs = ours((args, kwargs))
    found = attempt(function, *mine, **my_kwargs)
    reference = attempt(info.op, *args, **kwargs)
    values = not is_random(info, kwargs, args)
    if info.name in TIES and reference.error is None and found.error is None:
        settle_ties(info.name, args, kwargs, found.result, reference.result)
    if info.name in GAUGE and reference.error is None and found.error is None:
        agree(found, reference, values=False)
        fixed = GAUGE[info.name]
        found.result, reference.result = found.result[fixed], reference.result[fixed]
    agree(found, reference, values, types)
    if info.name == "to_sparse" and reference.error is None:
        found.result, reference.result = found.result.to_dense(), reference.result.to_dense()
    if order and values and reference.error is None:
        inputs = [x for x in leaves((mine, my_kwargs)) if x.requires_grad and x.is_leaf]
        their_inputs = [x for x in leaves((args, kwargs)) if x.requires_grad and x.is_leaf]
        if inputs:
            same_gradients(found.result, inputs, reference.result, their_inputs, order)


# Decompositions whose vectors are free in sign, or in a null space: which result holds the numbers
# that are not, with their gradients. The others are compared in shape and dtype; tests/linalg does
# the rest.
GAUGE = {"linalg.svd": 1, "linalg.eigh": 0, "linalg.eig": 0, "svd": 1}


# PyTorch does not say which of equal elements these choose.
TIES = {"argsort", "kthvalue", "median", "mode", "nanmedian", "sort", "topk"}


def settle_ties(name: str, args: tuple, kwargs: dict, mine: Any, reference: Any) -> None:
    """Put PyTorch's indices in place of ours where both point at equal elements."""
    x = args[0].detach()
    if name == "argsort":
        a, b, keepdim = mine, reference, True
    elif isinstance(reference, tuple):
        a, b = mine[1], reference[1]
        keepdim = name in ("sort", "topk") or a.ndim == x.ndim
    else:
        return
    if tuple(a.shape) != tuple(b.shape) or not x.ndim:
        return
    given = args[2 if name in ("topk", "kthvalue") else 1 :]
    dim = kwargs.get("dim", given[0] if given else -1)
    indices = torch.from_numpy(a.numpy().copy())
    if not keepdim:
        indices, b = indices.unsqueeze(dim), b.unsqueeze(dim)
    here, there = x.gather(dim, indices), x.gather(dim, b)
    if torch.equal(here.nan_to_num(), there.nan_to_num()):
        a.numpy()[...] = (b if keepdim else b.squeeze(dim)).numpy()


def samples(info: Any, dtype: torch.dtype, requires_grad: bool) -> Iterator[tuple]:
    """(args, kwargs) of each sample."""
    for sample in info.sample_inputs_func(info, "cpu", dtype, requires_grad):
        if info.name == "einsum":
            yield (sample.args[0], *sample.input), sample.kwargs
        else:
            yield (sample.input, *sample.args), sample.kwargs


def plain(info: Any, dtype: torch.dtype, order: int) -> Iterator[Case]:
    if not supported(info, dtype):
        return
    requires_grad = order > 0 and info.supports_autograd
    for args, kwargs in samples(info, dtype, requires_grad):
        label = describe(args, kwargs)
        yield Case(label, lambda args=args, kwargs=kwargs: compare(info, args, kwargs, order))


def float64(info: Any) -> Iterator[Case]:
    yield from plain(info, torch.float64, 1)


def float32(info: Any) -> Iterator[Case]:
    yield from plain(info, torch.float32, 1)


def integers(info: Any) -> Iterator[Case]:
    for dtype in (torch.int64, torch.uint8, torch.bool):
        yield from plain(info, dtype, 0)


def second(info: Any) -> Iterator[Case]:
    if info.supports_autograd and info.supports_gradgrad:
        yield from plain(info, torch.float64, 2)


# ------------------------------------------------------------------------------------------
# 0-d and empty tensors
# ------------------------------------------------------------------------------------------


CRASHES = {"nn.functional.pdist"}  # PyTorch's backward, on a tensor without elements


def small(info: Any) -> Iterator[Case]:
    """Samples with every tensor made 0-d, or without the elements along one dimension."""
    dtype = torch.float64 if supported(info, torch.float64) else torch.int64
    if not supported(info, dtype) or info.name in CRASHES:
        return
    for args, kwargs in samples(info, dtype, info.supports_autograd and dtype.is_floating_point):
        tensors = leaves((args, kwargs))
        if any(t.layout != torch.strided for t in tensors):
            continue
        for change in (to_number, without_first, without_last):
            with contextlib.suppress(Unchanged):
                new_args, new_kwargs = theirs((args, kwargs), change(tensors))
                label = f"{change.__name__} {describe(new_args, new_kwargs)}"
                yield Case(
                    label, lambda a=new_args, k=new_kwargs: compare(info, a, k, 1, types=False)
                )


class Unchanged(Exception):
    """The change leaves a sample as it is."""


def leaf_of(part: torch.Tensor, whole: torch.Tensor) -> torch.Tensor:
    return part.detach().clone().requires_grad_(whole.requires_grad)


def to_number(tensors: list) -> Callable:
    """Each tensor as its first element, 0-d."""
    if not tensors or any(t.numel() == 0 for t in tensors) or all(t.ndim == 0 for t in tensors):
        raise Unchanged
    return lambda t: leaf_of(t.reshape(-1)[0], t)


def without_first(tensors: list) -> Callable:
    """No elements along the first dimension of those that have the size of the first tensor's."""
    if not tensors or tensors[0].ndim == 0 or tensors[0].shape[0] == 0:
        raise Unchanged
    size = tensors[0].shape[0]
    return lambda t: leaf_of(t[:0] if t.ndim and t.shape[0] == size else t, t)


def without_last(tensors: list) -> Callable:
    """No elements along the last dimension of those that have the size of the first tensor's."""
    if not tensors or tensors[0].ndim < 2 or tensors[0].shape[-1] == 0:
        raise Unchanged
    size = tensors[0].shape[-1]
    return lambda t: leaf_of(t[..., :0] if t.ndim and t.shape[-1] == size else t, t)


# ------------------------------------------------------------------------------------------
# In place
# ------------------------------------------------------------------------------------------


def in_place(info: Any) -> Iterator[Case]:
    function = info.get_inplace()
    name = getattr(function, "__name__", "")  # not of a partial: F.mish(…, inplace=True)
    if not hasattr(tinytensor.Tensor, name or "missing"):
        return
    for dtype in (torch.float64, torch.int64):
        if not supported(info, dtype):
            continue
        requires_grad = dtype.is_floating_point and info.supports_autograd
        for sample in info.sample_inputs_func(info, "cpu", dtype, requires_grad):
            if sample.broadcasts_input or not isinstance(sample.input, torch.Tensor):
                continue
            args, kwargs = (sample.input, *sample.args), sample.kwargs
            yield Case(
                describe(args, kwargs),
                lambda args=args, kwargs=kwargs: write_in_both(info, args, kwargs),
            )


def write_in_both(info: Any, args: tuple, kwargs: dict) -> None:
    their_method = info.get_inplace()
    method = getattr(tinytensor.Tensor, their_method.__name__)
    mine, my_kwargs = ours((args, kwargs))
    x, y = mine[0].clone(), args[0].clone()
    found = attempt(method, x, *mine[1:], **my_kwargs)
    reference = attempt(their_method, y, *args[1:], **kwargs)
    values = not is_random(info, kwargs)
    agree(found, reference, values)
    if reference.error is not None:
        return
    if found.result is not x:
        raise Differs("the result is not the tensor that was written to")
    if values:
        same_gradients(
            found.result,
            [t for t in leaves((mine, my_kwargs)) if t.requires_grad and t.is_leaf],
            reference.result,
            [t for t in leaves((args, kwargs)) if t.requires_grad and t.is_leaf],
        )


# ------------------------------------------------------------------------------------------
# out=
# ------------------------------------------------------------------------------------------


def outs(info: Any) -> Iterator[Case]:
    """Samples with out=: of all kinds that PyTorch accepts, and some that it refuses."""
    checked = info.name in CHECKED or info.name.startswith(CHECKED_MODULES)
    if not info.supports_out or not checked or info.name in WRITES_BEYOND:
        return
    dtype = torch.float32 if supported(info, torch.float32) else torch.int64
    for args, kwargs in samples(info, dtype, False):
        expected = attempt(info.op, *args, **kwargs)
        if expected.error is not None or not leaves(expected.result):
            continue
        for change in (empty_out, strided_out, wide_out, integer_out, tracked_out, larger_out):
            label = f"{change.__name__} {describe(args, kwargs)}"
            targets = theirs(expected.result, change)
            if isinstance(targets, tuple):
                targets = tuple(targets)  # not a named one
            yield Case(label, lambda a=args, k=kwargs, t=targets: write_into(info, a, k, t))


def is_elementwise(name: str) -> bool:
    rule = getattr(getattr(ops, name), "out_rule", None)
    return rule is not None and rule.elementwise


# PyTorch's other functions do not all check out: some write beyond its memory.
CHECKED = {
    *(name for name in ops.NAMES if is_elementwise(name)), "addmm", "all", "amax", "amin", "any",
    "arange", "argmax", "argmin", "baddbmm", "bmm", "cat", "cumprod", "cumsum", "eye", "full",
    "gather", "hstack", "index_select", "linspace", "logcumsumexp", "logsumexp", "masked_select",
    "matmul", "max", "mean", "min", "mm", "mv", "nanmean", "nansum", "norm", "ones", "outer",
    "prod", "sort", "stack", "std", "sum", "topk", "var", "vstack", "zeros",
    "cholesky", "cholesky_inverse", "cholesky_solve", "complex", "conj_physical", "frexp", "geqrf",
    "lu_solve", "narrow_copy", "polar", "svd", "triangular_solve",
}  # fmt: skip
CHECKED_MODULES = ("fft.", "linalg.", "special.")
WRITES_BEYOND = {"linalg.lu", "linalg.lu_factor", "linalg.lu_factor_ex"}  # PyTorch ends the process


def empty_out(t: torch.Tensor) -> torch.Tensor:
    return torch.empty(0, dtype=t.dtype)


def strided_out(t: torch.Tensor) -> torch.Tensor:
    return torch.zeros(tuple(reversed(t.shape)), dtype=t.dtype).permute(
        tuple(reversed(range(t.ndim)))
    )


def wide_out(t: torch.Tensor) -> torch.Tensor:
    return torch.zeros(t.shape, dtype=torch.float64 if t.dtype.is_floating_point else t.dtype)


def integer_out(t: torch.Tensor) -> torch.Tensor:
    return torch.zeros(t.shape, dtype=torch.int64)


def tracked_out(t: torch.Tensor) -> torch.Tensor:
    return torch.zeros(t.shape, dtype=t.dtype, requires_grad=t.dtype.is_floating_point)


def larger_out(t: torch.Tensor) -> torch.Tensor:
    return torch.zeros((*t.shape, 2), dtype=t.dtype)


def narrow(tensor: Any) -> Any:
    return tensor.float() if tensor.dtype.is_floating_point else tensor


def write_into(info: Any, args: tuple, kwargs: dict, targets: Any) -> None:
    function = our_function(info)
    if function is None:
        raise NotHere(info.name)
    mine, my_kwargs, my_targets = ours((args, kwargs, targets))
    found = attempt(function, *mine, **my_kwargs, out=my_targets)
    reference = attempt(info.op, *args, **kwargs, out=targets)
    if reference.error is None and found.error is None:
        # Computed in float32, whatever out is: compare in that precision.
        for x, y in zip(leaves(my_targets), leaves(targets)):
            fixed = info.name not in GAUGE and not is_random(info, kwargs)
            same_tensor(narrow(x), narrow(y), "out", fixed)
    agree(found, reference, False)
    pairs = zip(leaves(found.result), leaves(my_targets))
    if reference.error is None and any(a is not b for a, b in pairs):
        raise Differs("the result is not out itself")


# ------------------------------------------------------------------------------------------
# What is refused
# ------------------------------------------------------------------------------------------


def refused(info: Any) -> Iterator[Case]:
    if info.error_inputs_func is None:
        return
    for error in info.error_inputs_func(info, "cpu"):
        sample = error.sample_input
        args, kwargs = (sample.input, *sample.args), sample.kwargs
        if info.name == "einsum":
            args = (sample.args[0], *sample.input)
        label = f"{describe(args, kwargs)}: {error.error_type.__name__} {error.error_regex[:60]}"
        yield Case(label, lambda args=args, kwargs=kwargs: refuse(info, args, kwargs))


def refuse(info: Any, args: tuple, kwargs: dict) -> None:
    function = our_function(info)
    if function is None:
        raise NotHere(info.name)
    mine, my_kwargs = ours((args, kwargs))
    reference = attempt(info.op, *args, **kwargs)
    if reference.error is None:
        return  # an error only in other ways to call it
    found = attempt(function, *mine, **my_kwargs)
    if found.error is None:
        raise Differs(f"computed where PyTorch refuses: {str(reference.error)[:100]}")
    same_refusal(found.error, reference.error)


# ------------------------------------------------------------------------------------------
# Result dtypes
# ------------------------------------------------------------------------------------------

PAIRED = {"where", "lerp", "addcmul", "addcdiv", "cat", "stack", "hstack", "matmul", "clamp"}


def operand(dtype: torch.dtype, shape: tuple) -> torch.Tensor:
    return (
        torch.tensor([1, 2, 1, 2, 1, 1]).reshape(2, 3).to(dtype)[(slice(None),) * len(shape)]
        if shape
        else torch.tensor(1).to(dtype)
    )


def pairs(info: Any) -> Iterator[Case]:
    """All pairs of dtypes: two tensors, a tensor and a 0-d tensor, a tensor and a number."""
    binary = type(info).__name__ == "BinaryUfuncInfo"
    if not binary or info.name == "jiterator_binary":
        return
    for a, b in itertools.product(DTYPES, DTYPES):
        for first, other in (((2, 3), (2, 3)), ((2, 3), ()), ((), (2, 3))):
            args = (operand(a, first), operand(b, other))
            yield Case(describe(args, {}), lambda args=args: compare(info, args, {}))
    for dtype, number in itertools.product(DTYPES, (True, 2, 1.5)):
        for shape in ((2, 3), ()):
            args = (operand(dtype, shape), number)
            yield Case(describe(args, {}), lambda args=args: compare(info, args, {}))
            if info.name.startswith("__"):
                continue  # a method, which Python calls only on a tensor
            args = (number, operand(dtype, shape))
            yield Case(describe(args, {}), lambda args=args: compare(info, args, {}))


KINDS: dict[str, Callable[[Any], Iterator[Case]]] = {
    "float64": float64,
    "float32": float32,
    "integers": integers,
    "0-d and empty": small,
    "second derivatives": second,
    "in place": in_place,
    "out=": outs,
    "refused": refused,
    "dtype pairs": pairs,
}
