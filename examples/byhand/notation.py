"""How sheets write things: samples in columns, the bias as the last column of a weight.

    z = [W | b]·[x; 1]

In nn a sample is a row; `Columns` turns a module round.
"""

from __future__ import annotations

import nn
import tinytensor as tt
from tinytensor import Tensor


def matrix(text: str) -> Tensor:
    """The text "1 -2; 1/3 0.5" as the matrix with rows (1, −2) and (1/3, 0.5), in float64."""
    rows = [[_number(word) for word in row.split()] for row in text.split(";")]
    return tt.tensor(rows, dtype=tt.float64)


def vector(text: str) -> Tensor:
    """The text "1 -2 3" as the vector (1, −2, 3), in float64."""
    return matrix(text).squeeze(0)


def _number(word: str) -> float:
    numerator, _, denominator = word.partition("/")
    return float(numerator) / float(denominator or 1)


# ------------------------------------------------------------------------------------------
# Layers
# ------------------------------------------------------------------------------------------


def linear(text: str, bias: bool = True) -> nn.Linear:
    """The Linear of nn whose weight and bias a sheet writes as [W | b], or as W without bias."""
    table = matrix(text)
    rows, columns = table.shape
    layer = nn.Linear(columns - bias, rows, bias=bias, dtype=table.dtype)
    with tt.no_grad():
        layer.weight.copy_(table[:, : layer.in_features])
        if bias:
            layer.bias.copy_(table[:, -1])
    return layer


class Columns(nn.Module):
    """Y = module(Xᵀ)ᵀ: a module of nn on a sheet, where samples are columns; X (d, n), Y (m, n)"""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, X: Tensor) -> Tensor:
        return self.module(X.mT).mT


def layer(text: str, bias: bool = True) -> Columns:
    """[W | b]·[X; 1] of a sheet: `linear` on columns."""
    return Columns(linear(text, bias))


def table(layer: Columns | nn.Linear) -> Tensor:
    """[W | b] of a layer, as the sheet writes it."""
    module = layer.module if isinstance(layer, Columns) else layer
    return _beside(module.weight, module.bias)


def table_grad(layer: Columns | nn.Linear) -> Tensor:
    """[dL/dW | dL/db] of a layer, as the sheet writes it."""
    module = layer.module if isinstance(layer, Columns) else layer
    return _beside(module.weight.grad, None if module.bias is None else module.bias.grad)


def _beside(weight: Tensor, bias: Tensor | None) -> Tensor:
    if bias is None:
        return weight.detach()
    return tt.cat([weight, bias.unsqueeze(1)], dim=1).detach()  # (m, d), (m, 1) → (m, d + 1)


def one_head(weight: Tensor) -> nn.MultiheadAttention:
    """Attention with one head whose four projections all are `weight`."""
    width = len(weight)
    attention = nn.MultiheadAttention(width, 1, bias=False, dtype=weight.dtype)
    attention.load_state_dict(
        {"in_proj_weight": weight.repeat(3, 1), "out_proj.weight": weight.clone()}
    )
    return attention


def retain_grad(*tensors: Tensor) -> None:
    """Keep the gradients of values on the way, which backward would let go."""
    for tensor in tensors:
        tensor.retain_grad()
