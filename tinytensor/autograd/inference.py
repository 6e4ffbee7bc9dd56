"""Inference tensors: what `inference_mode` makes. They never take part in a graph.

A tensor made in inference mode has an `InferenceWrites` as its `_writes`. It is false, like the
None that other tensors start with, so the core finds out in the test that it makes anyway. As in
PyTorch, such a tensor cannot be saved for backward and cannot be written to in normal mode; views
of it are inference tensors, results of other ops in normal mode are not.
"""

from __future__ import annotations

from typing import Any, NoReturn

from .mode import state


class InferenceWrites(list):
    """[version, storage] of an inference tensor; empty until it is needed."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return False

    def of(self, variable: Any) -> InferenceWrites:
        """The list for `variable`, filled on first use."""
        return self if len(self) else InferenceWrites((0, variable.array))

    def save(self) -> NoReturn:
        """Raise: called when an op saves the tensor."""
        raise RuntimeError(
            "backward: inference tensors cannot be saved for backward; clone() the tensor outside "
            "of inference_mode()"
        )


INFERENCE = InferenceWrites()  # the `_writes` of a new tensor in inference mode


def is_inference(input: Any) -> bool:
    """Whether a tensor was made in `inference_mode`, or is a view of such a tensor."""
    return type(input._writes) is InferenceWrites


def check_write(name: str, target: Any) -> None:
    """Raise if an inference tensor is written to outside of inference mode."""
    if type(target._writes) is InferenceWrites and state.mode.inference is None:
        raise RuntimeError(
            f"{name}: in-place update of an inference tensor of shape {tuple(target._shape)} "
            "outside of inference_mode(), which is not allowed; clone() it first"
        )
