"""What must be equal after a program has run in both libraries."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

import tinytensor

from .program import Run, ends_program, run, same_kind

TOLERANCE = {"float64": 1e-9, "float32": 1e-3}
TOO_LARGE = 1e7  # values grown beyond this lose too many digits to be compared


def check(dtype: str, lines: list[str], theirs: Run | None = None) -> str | None:
    """The first difference between the two libraries in words, or None."""
    theirs = theirs or run(torch, dtype, lines)
    ours = run(tinytensor, dtype, lines)
    last = len(theirs.errors) - 1
    if ends_program(lines[last], theirs.errors[last]) and ours.errors[last:][:1] == [None]:
        theirs = run_leniently(theirs, lines)
    return difference(ours, theirs, lines)


def run_leniently(theirs: Run, lines: list[str]) -> Run:
    """The program in PyTorch once more, with what a refused backward pass asked for.

    PyTorch refuses if a tensor was changed that a rule has saved, and if a graph was freed, also
    where the rule needs no more than the tensor's shape. tinytensor may then go on, but with the
    gradients of the values before the change, which PyTorch has too if it is told to copy them.
    """
    error = str(theirs.errors[-1])
    if "second time" not in error and "modified by an inplace operation" not in error:
        return theirs
    lines = [line.replace("retain_graph=False", "retain_graph=True") for line in lines]
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        return run(torch, theirs.dtype, lines)


def difference(ours: Run, theirs: Run, lines: list[str]) -> str | None:
    """The first difference between two runs in words, or None."""
    for text, mine, reference in zip(lines, ours.errors, theirs.errors):
        if not same_kind(mine, reference):
            return f"error at `{text}`: {_describe(mine)}, expected {_describe(reference)}"
    found, tensors = ours.tensors(), theirs.tensors()
    if found.keys() != tensors.keys():
        return f"None among gradients: {sorted(found)}, expected {sorted(tensors)}"
    last = len(theirs.errors) - 1
    whole = last < 0 or not ends_program(lines[last], theirs.errors[last])
    scale = _scale(tensors.values())
    if not scale < TOO_LARGE:
        return None
    inside = _made_without_grad(lines)
    gradients = {_storage(x) for name, x in tensors.items() if name[0] == "g"}
    for name, expected in tensors.items():
        mine = found[name]
        for what in _properties(expected, name in inside, _storage(expected) in gradients):
            a, b = PROPERTIES[what](mine), PROPERTIES[what](expected)
            if a != b:
                return f"{name}.{what}: {a}, expected {b}"
        wrong = _values(mine, expected, TOLERANCE[ours.dtype] * scale)
        if wrong:
            return f"{name}: {wrong}"
        if not whole or not _has_grad(expected):
            continue
        if (mine.grad is None) != (expected.grad is None):
            return f"{name}.grad: {mine.grad}, expected {expected.grad}"
        if expected.grad is not None:
            wrong = _values(mine.grad, expected.grad, TOLERANCE[ours.dtype] * scale)
            if wrong:
                return f"{name}.grad: {wrong}"
    return None


PROPERTIES: dict[str, Any] = {
    "shape": lambda x: tuple(x.shape),
    "_version": lambda x: x._version,
    "requires_grad": lambda x: x.requires_grad,
    "is_leaf": lambda x: x.is_leaf,
    "retains_grad": lambda x: x.retains_grad,
    # Strides where they matter: along dimensions of more than one element.
    "stride": lambda x: tuple(s for s, n in zip(x.stride(), x.shape) if n > 1 and x.numel()),
    "storage_offset": lambda x: x.storage_offset() if x.numel() else 0,
    "is_contiguous": lambda x: x.is_contiguous(),
}


def _storage(x: Any) -> int:
    return x.untyped_storage().data_ptr()


def _properties(x: Any, inside_no_grad: bool, is_gradient: bool) -> list[str]:
    """What is compared of a tensor beside its values."""
    if inside_no_grad and x._base is not None:
        # PyTorch calls a view that was made under no_grad() tracked, but has no grad_fn for it.
        return ["shape", *([] if is_gradient else ["_version", "stride", "storage_offset"])]
    if is_gradient:  # left open: how often it was written to, its layout, if zeros have a history
        return ["shape"]
    return list(PROPERTIES)


def _made_without_grad(lines: list[str]) -> set[str]:
    start = "with L.no_grad(): "
    made = [line[len(start) :].split(" = ")[0] for line in lines if line.startswith(start)]
    return {name for names in made for name in names.split(", ")}


def _has_grad(x: Any) -> bool:
    try:
        return x.is_leaf or x.retains_grad
    except RuntimeError:  # a view made under no_grad() whose base was written to
        return False


def _scale(tensors: Any) -> float:
    """The largest value of the program: rounding errors are as large as that makes them."""
    scale = 1.0
    for x in tensors:
        for value in (x, x.grad if _has_grad(x) else None):
            if value is not None and value.numel():
                largest = float(np.abs(value.detach().numpy(force=True)).max())
                scale = largest if largest > scale else scale  # unless it is NaN
    return scale


def _values(mine: Any, expected: Any, tolerance: float) -> str | None:
    a, b = mine.detach().numpy(), expected.detach().numpy(force=True)
    if a.shape != b.shape:
        return f"shape {a.shape}, expected {b.shape}"
    if a.dtype != b.dtype:
        return f"dtype {a.dtype}, expected {b.dtype}"
    if not a.size or np.abs(a - b).max() <= tolerance:
        return None
    equal = np.allclose(a, b, rtol=0, atol=tolerance, equal_nan=True)
    return None if equal else f"{a.tolist()}, expected {b.tolist()}"


def _describe(error: Exception | None) -> str:
    return (
        "no error" if error is None else f"{type(error).__name__}({str(error).splitlines()[0]!r})"
    )
