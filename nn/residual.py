"""Skip connections: five ways to combine a block's output with its input.

    AddBeforeActivation   y = φ(F(x) + x)            the residual block of ResNet
    AddAfterActivation    y = φ(F(x)) + x
    ConcatenateSkip       y = [F(x), x]              the next layer gets wider
    StackedSkip           y = φ([I | W | b]·[x; h; 1])   the first one, as one matrix product
    TwoSkips              y = φ(F₂(h) + x + h), h = φ(F₁(x))

F is the block, φ an activation (ReLU by default). Samples are rows and features the last dimension,
as everywhere in nn. Worksheets computed by hand write samples as columns: there x and y are
transposed, and every product is reversed. `stacked_features` supports both.
"""

from __future__ import annotations

from collections.abc import Callable

import tinytensor as tt
from tinytensor.errors import ShapeError
from tinytensor.tensor import Tensor

from .activation import ReLU
from .module import Module


def add_skip(name: str, output: Tensor, *skips: Tensor) -> Tensor:
    """output + skips, all of the same shape: a skip is never broadcast."""
    for skip in skips:
        if skip.shape != output.shape:
            raise ShapeError(
                f"{name}: the block returns shape {tuple(output.shape)}, the skip has "
                f"{tuple(skip.shape)}, expected the same; make the block's output as wide as its "
                "input, or join them with ConcatenateSkip"
            )
        output = output + skip
    return output


class AddBeforeActivation(Module):
    """y = φ(F(x) + x):  dx = Fᵀ(g·φ') + g·φ', where the second term comes from the identity

    block: returns a tensor of its input's shape. activation: φ, ReLU by default.
    """

    def __init__(self, block: Callable, activation: Callable | None = None):
        super().__init__()
        self.block = block
        self.activation = ReLU() if activation is None else activation

    def forward(self, input: Tensor) -> Tensor:
        return self.activation(add_skip(type(self).__name__, self.block(input), input))


class AddAfterActivation(Module):
    """y = φ(F(x)) + x:  with ReLU, y ≥ x in every element

    block: returns a tensor of its input's shape. activation: φ, ReLU by default.
    """

    def __init__(self, block: Callable, activation: Callable | None = None):
        super().__init__()
        self.block = block
        self.activation = ReLU() if activation is None else activation

    def forward(self, input: Tensor) -> Tensor:
        return add_skip(type(self).__name__, self.activation(self.block(input)), input)


class ConcatenateSkip(Module):
    """y = [F(x), x] along `dim`: x (…, n), F(x) (…, m) → y (…, m + n)

    The next layer takes m + n features: Linear(m + n, …). dim: 1 for the channels of images; −2 if
    samples are columns.
    """

    def __init__(self, block: Callable, dim: int = -1):
        super().__init__()
        self.block = block
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return tt.cat([self.block(input), input], dim=self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


# ------------------------------------------------------------------------------------------
# Addition as one matrix product
# ------------------------------------------------------------------------------------------


def stacked_weight(weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """[I | W | b]: weight (n, m), bias (n) → (n, n + m + 1); without a bias, b = 0."""
    n = weight.shape[0]
    identity = tt.eye(n, dtype=weight.dtype, device=weight.device)
    column = weight.new_zeros(n, 1) if bias is None else bias.reshape(n, 1)
    return tt.cat([identity, weight, column], dim=1)


def stacked_features(input: Tensor, hidden: Tensor, columns: bool = False) -> Tensor:
    """[x, h, 1]: input (…, n), hidden (…, m) → (…, n + m + 1), samples as rows.

    columns=True: samples as columns, x (n, N) above h (m, N) above a row of ones.
    """
    dim = -2 if columns else -1
    shape = list(hidden.shape)
    shape[dim] = 1
    return tt.cat([input, hidden, hidden.new_ones(shape)], dim=dim)


class StackedSkip(Module):
    """y = φ([I | W | b]·[x; h; 1]), h = hidden(x):  equal to φ(W·h + b + x), term for term

    AddBeforeActivation written as one matrix product, with the same gradients. The results are
    equal bit for bit where no sum is rounded (small integers and binary fractions); otherwise they
    may differ in the last digit or two, as the terms are added in another order.

    hidden: all layers of the block but the last; output: the last, a Linear. Input and output have
    the same number of features.
    """

    def __init__(self, hidden: Callable, output: Module, activation: Callable | None = None):
        super().__init__()
        self.hidden = hidden
        self.output = output
        self.activation = ReLU() if activation is None else activation

    def forward(self, input: Tensor) -> Tensor:
        out_features = self.output.weight.shape[0]
        if input.shape[-1] != out_features:
            raise ShapeError(
                f"StackedSkip: x has {input.shape[-1]} features, the block returns {out_features}, "
                "expected the same; make the block's output as wide as its input"
            )
        weight = stacked_weight(self.output.weight, self.output.bias)
        features = stacked_features(input, self.hidden(input))
        # (…, n + m + 1) times (n + m + 1, n) → (…, n)
        return self.activation(features @ weight.T)


# ------------------------------------------------------------------------------------------
# Two skips
# ------------------------------------------------------------------------------------------


class TwoSkips(Module):
    """y = φ(F₂(h) + x + h), h = φ(F₁(x)):  one skip from the input, one from the hidden layer

    first, second: F₁ and F₂. The hidden layer must be as wide as the input.
    """

    def __init__(self, first: Callable, second: Callable, activation: Callable | None = None):
        super().__init__()
        self.first = first
        self.second = second
        self.activation = ReLU() if activation is None else activation

    def forward(self, input: Tensor) -> Tensor:
        hidden = self.activation(self.first(input))
        return self.activation(add_skip("TwoSkips", self.second(hidden), input, hidden))


__all__ = [
    "AddAfterActivation",
    "AddBeforeActivation",
    "ConcatenateSkip",
    "StackedSkip",
    "TwoSkips",
    "stacked_features",
    "stacked_weight",
]
