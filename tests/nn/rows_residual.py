"""Rows of the residual forms and of graph convolution: PyTorch has neither, so both are written
down here with torch.nn, in the obvious way."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from .table import M, Row, T, V


def written_out(forward: Callable, **parts: Callable) -> Callable:
    """A function of torch.nn that makes a module with these parts and this forward."""

    def make(package: Any) -> Any:
        class WrittenOut(package.Module):  # type: ignore[misc]
            def forward(self, *inputs: Any) -> Any:
                return forward(self, *inputs)

        module = WrittenOut()
        for name, part in parts.items():
            setattr(module, name, part(package))
        return module

    return make


def mlp(package: Any) -> Any:
    return package.Sequential(package.Linear(4, 3), package.Tanh(), package.Linear(3, 4))


def concatenated(module: Any, x: Any, dim: int = -1) -> Any:
    return importlib.import_module("torch").cat([module.block(x), x], dim)


def two_skips(module: Any, x: Any) -> Any:
    h = module.first(x).relu()
    return (module.second(h) + x + h).relu()


MLP = M("Sequential", M("Linear", 4, 3), M("Tanh"), M("Linear", 3, 4))
X = T(5, 4)


def graph(mixing: Callable, activation: str = "", messages: bool = False, bias: bool = True) -> Any:
    """PyTorch's GraphConvolution(4, 3), written out; mixing makes Â of A."""

    def forward(self: Any, x: Any, adjacency: Any) -> Any:
        def act(value: Any) -> Any:
            return getattr(value, activation)() if activation else value

        offset = self.bias if bias else 0
        mix = mixing(adjacency.to(x.dtype))
        if messages:
            return mix @ act(x @ self.weight.T + offset)
        return act(mix @ (x @ self.weight.T) + offset)

    def make(package: Any) -> Any:
        module = written_out(forward)(package)
        layer = package.Linear(4, 3, bias=bias)
        module.weight, module.bias = layer.weight, layer.bias
        return module

    return make


def with_self(a: Any) -> Any:
    return a + a.new_ones(a.shape[-1]).diag()


def symmetric(a: Any) -> Any:
    a = with_self(a)
    scale = a.sum(-1).pow(-0.5).diag_embed()
    return scale @ a @ scale


# A triangle with a tail, and a node that is alone
A = V([[0, 1, 1, 0, 0], [1, 0, 1, 0, 0], [1, 1, 0, 1, 0], [0, 0, 1, 0, 0], [0, 0, 0, 0, 0]])
WEIGHTED = T(2, 5, 5, low=0.1, high=1)

ROWS = [
    Row("AddBeforeActivation", MLP, inputs=[X],
        torch=written_out(lambda m, x: (m.block(x) + x).relu(), block=mlp)),
    Row("AddBeforeActivation", M("Conv2d", 2, 2, 3, padding=1), M("Tanh"), inputs=[T(1, 2, 3, 4)],
        torch=written_out(lambda m, x: (m.block(x) + x).tanh(),
                          block=lambda nn: nn.Conv2d(2, 2, 3, padding=1))),
    Row("AddAfterActivation", MLP, inputs=[X],
        torch=written_out(lambda m, x: m.block(x).relu() + x, block=mlp)),
    Row("ConcatenateSkip", M("Linear", 4, 3), inputs=[X],
        torch=written_out(concatenated, block=lambda nn: nn.Linear(4, 3))),
    Row("ConcatenateSkip", M("Conv2d", 2, 3, 3, padding=1), 1, inputs=[T(1, 2, 3, 3)],
        torch=written_out(lambda m, x: concatenated(m, x, 1),
                          block=lambda nn: nn.Conv2d(2, 3, 3, padding=1))),
    Row("StackedSkip", M("Sequential", M("Linear", 4, 3), M("Tanh")), M("Linear", 3, 4), inputs=[X],
        torch=written_out(lambda m, x: (m.output(m.hidden(x)) + x).relu(),
                          hidden=lambda nn: nn.Sequential(nn.Linear(4, 3), nn.Tanh()),
                          output=lambda nn: nn.Linear(3, 4))),
    Row("StackedSkip", M("Linear", 4, 4), M("Linear", 4, 4, bias=False), M("Identity"),
        inputs=[T(2, 3, 4)],
        torch=written_out(lambda m, x: m.output(m.hidden(x)) + x,
                          hidden=lambda nn: nn.Linear(4, 4),
                          output=lambda nn: nn.Linear(4, 4, bias=False))),
    Row("TwoSkips", M("Linear", 4, 4), M("Linear", 4, 4), inputs=[X],
        torch=written_out(two_skips, first=lambda nn: nn.Linear(4, 4),
                          second=lambda nn: nn.Linear(4, 4))),
    Row("GraphConvolution", 4, 3, inputs=[X, A], torch=graph(symmetric)),
    Row("GraphConvolution", 4, 3, normalize=False, inputs=[T(2, 5, 4), A], torch=graph(with_self)),
    Row("GraphConvolution", 4, 3, self_loops=False, normalize=False, bias=False,
        inputs=[T(2, 5, 4), WEIGHTED], torch=graph(lambda a: a, bias=False)),
    Row("GraphConvolution", 4, 3, activation=M("Tanh"), inputs=[T(2, 5, 4), WEIGHTED],
        torch=graph(symmetric, "tanh")),
    Row("GraphConvolution", 4, 3, activation=M("ReLU"), activate_messages=True, normalize=False,
        inputs=[X, A], torch=graph(with_self, "relu", messages=True)),
]  # fmt: skip
