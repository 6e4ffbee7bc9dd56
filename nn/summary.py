"""summary(model, *inputs): a table of the layers of a network.

    print(summary(nn.Sequential(nn.Linear(4, 8), nn.ReLU()), tt.ones(2, 4)))

    Layer (type)  Output shape  Parameters  FLOPs  Memory
    -----------------------------------------------------
    Sequential    (2, 8)                 0      0    64 B
    0 (Linear)    (2, 8)                40    128    64 B
    1 (ReLU)      (2, 8)                 0      0    64 B
    -----------------------------------------------------
    Total                               40    128   128 B

The network runs once, and the FLOPs are read off the graph: matrix products and convolutions count
2 FLOPs for each multiply-add, everything else counts 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import tinytensor as tt
from tinytensor.autograd.mode import state
from tinytensor.autograd.walk import collect
from tinytensor.ops.attention import Attention, AttentionWeights
from tinytensor.ops.convolution import Convolution, ConvTranspose
from tinytensor.ops.einsum import Einsum
from tinytensor.ops.linear import Addmm, Linear
from tinytensor.ops.matmul import Matmul
from tinytensor.ops.recurrent_sequence import GruSequence, LstmSequence, RnnSequence
from tinytensor.tensor import Tensor
from tinytensor.text import one_line

from .module import Module

LONGEST = 60  # characters shown of a path or a type

# ------------------------------------------------------------------------------------------
# The table
# ------------------------------------------------------------------------------------------


@dataclass
class LayerSummary:
    """One module: its own parameters and FLOPs, without those of its submodules.

    output_shapes  shapes of the tensors that its last call returned
    memory         bytes of the tensors that all its calls returned
    """

    path: str
    type: str
    parameters: int = 0
    flops: int = 0
    memory: int = 0
    calls: int = 0
    output_shapes: list[tuple] = field(default_factory=list)

    def cells(self) -> tuple[str, ...]:
        path, kind = one_line(self.path, LONGEST), one_line(self.type, LONGEST)
        name = f"{path} ({kind})" if path else kind
        name += f" ×{self.calls}" if self.calls > 1 else ""
        shapes = ", ".join(map(str, self.output_shapes))
        memory = readable(self.memory) if self.calls else ""
        return name, shapes, f"{self.parameters:,}", f"{self.flops:,}", memory


@dataclass
class Summary:
    """The layers of a network and their totals; its str is the table.

    A parameter that several layers share counts once, in the first of them. A tensor that several
    layers return counts in each of them, but once in the total.
    """

    layers: list[LayerSummary]
    total_parameters: int
    trainable_parameters: int
    total_flops: int
    total_memory: int

    def __str__(self) -> str:
        heads = ("Layer (type)", "Output shape", "Parameters", "FLOPs", "Memory")
        total = ("Total", "", f"{self.total_parameters:,}", f"{self.total_flops:,}",
                 readable(self.total_memory))  # fmt: skip
        rows = [layer.cells() for layer in self.layers]
        widths = [max(len(row[i]) for row in (heads, total, *rows)) for i in range(len(heads))]

        def line(cells: tuple[str, ...]) -> str:
            left = [cell.ljust(width) for cell, width in zip(cells[:2], widths[:2])]
            right = [cell.rjust(width) for cell, width in zip(cells[2:], widths[2:])]
            return "  ".join(left + right)

        rule = "-" * len(line(heads))
        frozen = self.total_parameters - self.trainable_parameters
        notes = [f"of which not trainable: {frozen:,}"] if frozen else []
        return "\n".join([line(heads), rule, *map(line, rows), rule, line(total), *notes])

    __repr__ = __str__


def readable(size: float) -> str:
    """1536 → "1.5 KiB"."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            break
        size /= 1024
    return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"


# ------------------------------------------------------------------------------------------
# Running the network
# ------------------------------------------------------------------------------------------


def summary(model: Module, *inputs: Any, **kwargs: Any) -> Summary:
    """Run model(*inputs, **kwargs) and list its layers, with their sizes and costs.

    inputs: tensors, or shapes (tuples of ints), which become tensors of zeros. The model runs in
    evaluation mode; its modes and requires_grad flags are restored afterwards.
    """
    like = next(iter(model.parameters()), None)
    tensors = [_input(value, like) for value in inputs]
    modes = {module: module.training for module in model.modules()}
    flags = {parameter: parameter.requires_grad for parameter in model.parameters()}
    run = _Run(model)
    try:
        model.eval()
        model.requires_grad_()  # so that frozen layers are in the graph too
        with tt.enable_grad(), run:
            model(*tensors, **kwargs)
    finally:
        for module, training in modes.items():
            module.training = training
        for parameter, flag in flags.items():
            parameter.requires_grad_(flag)
    layers = run.layers()
    return Summary(
        layers=layers,
        total_parameters=sum(layer.parameters for layer in layers),
        trainable_parameters=sum(p.numel() for p, flag in flags.items() if flag),
        total_flops=sum(layer.flops for layer in layers),
        total_memory=sum(run.memory.values()),
    )


def _input(value: Any, like: Tensor | None) -> Any:
    """A tensor to call the model with: tracked, but not a leaf, so that layers may write to it."""
    if isinstance(value, (tuple, list)) and value and all(isinstance(n, int) for n in value):
        device, dtype = (None, None) if like is None else (like.device, like.dtype)
        value = tt.zeros(*value, device=device, dtype=dtype)
    if isinstance(value, Tensor) and value.is_floating_point():
        with tt.enable_grad():
            return value.detach().requires_grad_().clone()
    return value


class _Run:
    """One run of a model: forward hooks note what every module returns."""

    def __init__(self, model: Module):
        self.model = model
        self.root = type(model).__name__
        self.found: dict[str, LayerSummary] = {}  # by scope, the path that nodes carry
        self.outputs: list[Tensor] = []  # kept alive, so that no address is reused
        self.memory: dict[int, int] = {}  # address → bytes
        counted: set[int] = set()
        for path, module in model.named_modules():
            layer = LayerSummary(path, type(module).__name__)
            for parameter in module.parameters(recurse=False):
                layer.parameters += 0 if id(parameter) in counted else parameter.numel()
                counted.add(id(parameter))
            self.found[f"{self.root}.{path}" if path else self.root] = layer

    def __enter__(self) -> None:
        modules = self.model.modules()
        self.handles = [module.register_forward_hook(self.note) for module in modules]

    def __exit__(self, *error: Any) -> None:
        for handle in self.handles:
            handle.remove()

    def note(self, module: Module, args: Any, output: Any) -> None:
        """The forward hook; the scope is still that of the module."""
        scope = state.mode.scope
        layer = self.layer_at(scope, type(module).__name__)
        tensors = list(_tensors(output))
        self.outputs += tensors
        layer.calls += 1
        layer.output_shapes = [tuple(t.shape) for t in tensors]
        layer.memory += sum(t.nbytes for t in tensors)
        self.memory |= {t.data_ptr(): t.nbytes for t in tensors if t.nbytes}

    def layer_at(self, scope: str, kind: str) -> LayerSummary:
        """The layer at a path; a new one for a module that is not registered in the model."""
        if scope not in self.found:
            self.found[scope] = LayerSummary(scope.removeprefix(f"{self.root}."), kind)
        return self.found[scope]

    def layers(self) -> list[LayerSummary]:
        """All layers, with the FLOPs of the products that each one computed."""
        nodes = [t.grad_fn for t in self.outputs if t.grad_fn is not None]
        for node in collect(nodes):
            count = FLOPS.get(type(node))
            if count is None or not node.scope:
                continue
            layer = self.layer_at(node.scope, node.scope.rpartition(".")[2])
            layer.flops += 2 * count(node)
        return list(self.found.values())


def _tensors(value: Any) -> Iterator[Tensor]:
    """The tensors in a module's output."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _tensors(item)


# ------------------------------------------------------------------------------------------
# Multiplications, by op
# ------------------------------------------------------------------------------------------


def _shape(node: Any, place: int) -> tuple:
    """The shape of argument `place` of an op, from its edge or from its saved value."""
    edge = node._edges[place]
    if edge is not None:
        return edge._shape
    names = [saved_place for saved_place, _, _ in node._plan]
    return node._saved[names.index(place)][0].shape


def _attention(node: Any) -> int:
    """Q·Kᵀ and A·V, for each query and key."""
    width, keys, value_width = _shape(node, 0)[-1], _shape(node, 1)[-2], node._shape[-1]
    return math.prod(node._shape[:-1]) * keys * (width + value_width)


def _einsum(node: Any) -> int:
    """One multiplication for each combination of label values."""
    in_a, in_b, _ = node.labels
    sizes = dict(zip(in_a, _shape(node, 0))) | dict(zip(in_b, _shape(node, 1)))
    return math.prod(sizes.values())


def _sequence(node: Any, place: int) -> int:
    """w_ih·x and w_hh·h, for each step and sample; w_ih is argument `place`, w_hh the next."""
    steps, samples, _ = _shape(node, 0)
    return steps * samples * (math.prod(_shape(node, place)) + math.prod(_shape(node, place + 1)))


FLOPS: dict[type, Callable[[Any], int]] = {
    Linear: lambda node: math.prod(node._shape) * _shape(node, 1)[1],
    Matmul: lambda node: math.prod(node._shape) * node.shapes[0][-1],
    Addmm: lambda node: math.prod(node._shape) * node.shapes[0][-1],
    Einsum: _einsum,
    AttentionWeights: lambda node: math.prod(node._shape) * _shape(node, 0)[-1],
    Attention: _attention,
    Convolution: lambda node: math.prod(node._shape) * math.prod(_shape(node, 1)[1:]),
    ConvTranspose: lambda node: math.prod(_shape(node, 0)) * math.prod(_shape(node, 1)[1:]),
    LstmSequence: lambda node: _sequence(node, 3),
    GruSequence: lambda node: _sequence(node, 2),
    RnnSequence: lambda node: _sequence(node, 2),
}

__all__ = ["LayerSummary", "Summary", "summary"]
