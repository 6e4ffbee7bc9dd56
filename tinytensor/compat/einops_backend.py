"""einops on tensors: `rearrange(x, "b c h w -> b (h w) c")`.

einops finds the backends of array libraries among the subclasses of its AbstractBackend. Ours is
made when einops is imported, before tinytensor or after it; einops itself is not imported here.
`einops.layers.tinytensor` has the layers, as `einops.layers.torch` has PyTorch's.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import sys
from types import ModuleType
from typing import Any

from ..create.from_data import from_numpy
from ..create.ranges import arange
from ..dtype import int64
from ..ops.einsum import einsum
from ..ops.join import cat, stack
from ..ops.shape import unsqueeze
from ..tensor import Tensor

BACKENDS, LAYERS, OURS = (
    "einops._backends",
    "einops.layers.tinytensor",
    "tinytensor.nn.einops_layers",
)


class Methods:
    """What einops asks of a backend, under its names."""

    framework_name = "tinytensor"

    def is_appropriate_type(self, tensor: Any) -> bool:
        return isinstance(tensor, Tensor)

    def from_numpy(self, x: Any) -> Tensor:
        tensor = from_numpy(x)
        return tensor.requires_grad_() if tensor.is_floating_point() else tensor

    def to_numpy(self, x: Tensor) -> Any:
        return x.detach().cpu().numpy()

    def arange(self, start: int, stop: int) -> Tensor:
        return arange(start, stop, dtype=int64)

    def reduce(self, x: Any, operation: str, axes: tuple) -> Any:
        """operation: min, max, sum, mean, prod, any or all."""
        if operation in ("min", "max", "sum", "mean"):
            name = {"min": "amin", "max": "amax"}.get(operation, operation)
            return getattr(x, name)(dim=tuple(axes))
        if operation not in ("prod", "any", "all"):
            raise NotImplementedError(f"einops: reduction {operation!r} is unknown")
        for axis in sorted(axes, reverse=True):
            x = getattr(x, operation)(dim=axis)
        return x

    def transpose(self, x: Any, axes: tuple) -> Any:
        return x.permute(axes)

    def stack_on_zeroth_dimension(self, tensors: list) -> Any:
        return stack(tensors)

    def add_axis(self, x: Any, new_position: int) -> Any:
        return unsqueeze(x, new_position)

    def add_axes(self, x: Any, n_axes: int, pos2len: dict) -> Any:
        sizes = [-1] * n_axes
        for position, length in pos2len.items():
            x = unsqueeze(x, position)
            sizes[position] = length
        return x.expand(sizes)

    def tile(self, x: Any, repeats: tuple) -> Any:
        return x.repeat(repeats)

    def concat(self, tensors: list, axis: int) -> Any:
        return cat(tensors, axis)

    def is_float_type(self, x: Any) -> bool:
        return x.is_floating_point()

    def layers(self) -> ModuleType:
        return importlib.import_module(LAYERS)

    def einsum(self, pattern: str, *x: Any) -> Any:
        return einsum(pattern, *x)


def register(module: Any) -> None:
    """Make the backend: a subclass of module.AbstractBackend, which einops finds and keeps."""
    module.TinytensorBackend = type("TinytensorBackend", (Methods, module.AbstractBackend), {})


class EinopsFinder:
    """A finder that registers the backend after einops' own is imported, and finds the layers."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if fullname == LAYERS:
            return importlib.machinery.ModuleSpec(fullname, self)  # type: ignore[arg-type]
        if fullname != BACKENDS:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def run_and_register(module: ModuleType) -> None:
                run(module)
                register(module)

            spec.loader.exec_module = run_and_register  # type: ignore[method-assign]
        return spec

    def create_module(self, spec: Any) -> ModuleType:
        module = importlib.import_module(OURS)
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the module's own spec, which importlib replaced; its code has already run."""
        spec = module.__spec__
        assert spec is not None
        module.__spec__ = spec.loader_state


def install() -> None:
    """Register the backend now if einops is imported already, otherwise when it is."""
    sys.meta_path.insert(0, EinopsFinder())
    if BACKENDS in sys.modules:
        register(sys.modules[BACKENDS])
