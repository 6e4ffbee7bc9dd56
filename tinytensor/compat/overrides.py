"""torch.overrides: no class overrides functions here, so every question is answered with no."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from .. import create
from ..tensor import Tensor


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """False: a class cannot override functions by __torch_function__."""
    return False


def has_torch_function_unary(arg: Any) -> bool:
    """False, as `has_torch_function`."""
    return False


def has_torch_function_variadic(*args: Any) -> bool:
    """False, as `has_torch_function`."""
    return False


def handle_torch_function(
    public_api: Callable, relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> NoReturn:
    """Raise NotImplementedError: programs call it only after has_torch_function said yes."""
    name = getattr(public_api, "__name__", public_api)
    raise NotImplementedError(
        f"overrides.handle_torch_function: got {name}, but __torch_function__ is not supported; "
        "call the function itself"
    )


def is_tensor_like(inp: Any) -> bool:
    """Whether the argument is a tensor."""
    return isinstance(inp, Tensor)


def _device_constructors() -> set[Callable]:
    """torch.utils._device: the functions that make tensors, which take a device."""
    return {getattr(create, name) for name in create.__all__ if callable(getattr(create, name))}


class TorchFunctionMode:
    """PyTorch's mode that intercepts functions; entering one raises NotImplementedError."""

    def __enter__(self) -> NoReturn:
        raise NotImplementedError(
            "overrides.TorchFunctionMode: functions cannot be intercepted here; "
            "tinytensor.graph.record shows the ops that run"
        )

    def __exit__(self, *exc_info: object) -> None:
        pass


__all__ = [
    "TorchFunctionMode", "handle_torch_function", "has_torch_function", "has_torch_function_unary",
    "has_torch_function_variadic", "is_tensor_like",
]  # fmt: skip
