"""Graph convolution: each node mixes its own features with those of its neighbours."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import tinytensor as tt
from tinytensor.errors import ShapeError
from tinytensor.tensor import Tensor

from .. import functional as F
from .. import init
from ..module import Module
from ..parameter import Parameter


def add_self_loops(adjacency: Tensor) -> Tensor:
    """A + I: every node is its own neighbour. adjacency (…, n, n)."""
    _check_square("add_self_loops", adjacency)
    n = adjacency.shape[-1]
    return adjacency + tt.eye(n, dtype=adjacency.dtype, device=adjacency.device)


def normalize_adjacency(adjacency: Tensor) -> Tensor:
    """D^(−½)·A·D^(−½), D the degrees Σⱼ Aᵢⱼ: entry ij is divided by √(degree i · degree j).

    adjacency (…, n, n), floats; a node without neighbours keeps its row of zeros.
    """
    _check_square("normalize_adjacency", adjacency)
    degree = adjacency.sum(dim=-1)
    alone = degree == 0
    scale = degree.masked_fill(alone, 1).rsqrt().masked_fill(alone, 0)  # (…, n)
    return scale.unsqueeze(-1) * adjacency * scale.unsqueeze(-2)


def _check_square(name: str, adjacency: Tensor) -> None:
    if adjacency.ndim < 2 or adjacency.shape[-1] != adjacency.shape[-2]:
        raise ShapeError(
            f"{name}: adjacency has shape {tuple(adjacency.shape)}, expected (…, n, n), a row and "
            "a column for each node"
        )


class GraphConvolution(Module):
    """H = φ(Â·X·Wᵀ + b):  X (…, n, in_features), A (…, n, n) → H (…, n, out_features)

    Nodes are rows. Â = D^(−½)·(A + I)·D^(−½), or A + I without normalize; D holds the degrees of
    the nodes, including self-loops. A is 1, or the weight of the edge, where two nodes are
    neighbours. The result of a node does not depend on how the nodes are numbered.

    self_loops:  whether to add I, which makes each node its own neighbour
    normalize:   whether to divide by the degrees
    activation:  φ; none by default
    activate_messages: H = Â·φ(X·Wᵀ + b) instead: φ applies to what nodes send, not to what arrives.
                 With nodes as columns, this is the φ(W·X + b)·(A + I) of the worksheets.
    """

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, self_loops: bool = True,
        normalize: bool = True, activation: Callable | None = None,
        activate_messages: bool = False, device: Any = None, dtype: Any = None,
    ):  # fmt: skip
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.self_loops = self_loops
        self.normalize = normalize
        self.activation = activation
        self.activate_messages = activate_messages
        self.weight = Parameter(tt.empty(out_features, in_features, device=device, dtype=dtype))
        self.register_parameter(
            "bias", Parameter(tt.empty(out_features, device=device, dtype=dtype)) if bias else None
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Uniform in ±1/√in_features, as in Linear."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features)
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor, adjacency: Tensor) -> Tensor:
        mixing = self._mixing(input, adjacency)
        if self.activate_messages:
            return mixing @ self._activate(F.linear(input, self.weight, self.bias))
        output = mixing @ F.linear(input, self.weight)  # (…, n, n) times (…, n, out)
        return self._activate(output if self.bias is None else output + self.bias)

    def _activate(self, x: Tensor) -> Tensor:
        return x if self.activation is None else self.activation(x)

    def _mixing(self, input: Tensor, adjacency: Tensor) -> Tensor:
        """Â, in the dtype of the features."""
        _check_square("GraphConvolution", adjacency)
        if input.ndim < 2 or input.shape[-2] != adjacency.shape[-1]:
            raise ShapeError(
                f"GraphConvolution: X has shape {tuple(input.shape)}, A {tuple(adjacency.shape)}, "
                "expected (…, n, in_features) and (…, n, n) with the same number n of nodes"
            )
        mixing = adjacency.to(input.dtype)
        if self.self_loops:
            mixing = add_self_loops(mixing)
        return normalize_adjacency(mixing) if self.normalize else mixing

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}, self_loops={self.self_loops}, "
            f"normalize={self.normalize}"
        )


__all__ = ["GraphConvolution", "add_self_loops", "normalize_adjacency"]
