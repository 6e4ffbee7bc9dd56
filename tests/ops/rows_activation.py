"""Activations: the smooth ones, those with corners, the gated ones."""

from typing import Any

from .table import Row, T, V


def hardsigmoid(x: Any) -> Any:
    """PyTorch's own has 1/6 rounded to float32 in its backward, also for float64."""
    from torch.nn.functional import relu6

    return relu6(x + 3) / 6


FLAGS = {"empty": True, "scalar": True}
AWAY_FROM_CORNERS = V([[-5.0, -2.3, -0.7], [0.4, 1.7, 7.5]])
WIDE = V([-40.0, -25.0, -8.0, -1.0, 0.0, 1.0, 8.0, 25.0, 40.0])

ROWS = [
    # x times a gate
    Row("gelu", T(2, 3), **FLAGS),
    Row("gelu", T(2, 3), approximate="tanh", **FLAGS),
    Row("gelu", WIDE, label="wide"),
    Row("gelu", WIDE, approximate="tanh", label="wide"),
    Row("silu", T(2, 3), **FLAGS),
    Row("silu", WIDE, label="wide"),
    Row("mish", T(2, 3), **FLAGS),
    Row("mish", V([-20.0, -5.0, 0.0, 5.0, 15.0]), label="wide"),
    # softened corners
    Row("softplus", T(2, 3), **FLAGS),
    Row("softplus", WIDE, label="wide"),
    Row("softplus", T(2, 3), beta=3.0),
    Row("softplus", V([-3.0, 0.5, 1.1, 4.0]), 2.0, 2.0, label="beta and threshold", order=1),
    Row("logsigmoid", T(2, 3), **FLAGS),
    Row("logsigmoid", WIDE, label="wide"),
    Row("elu", T(2, 3), **FLAGS),
    Row("elu", AWAY_FROM_CORNERS, alpha=2.5),
    Row("elu", AWAY_FROM_CORNERS, 0.3, label="alpha positional"),
    Row("selu", AWAY_FROM_CORNERS, **FLAGS),
    Row("celu", AWAY_FROM_CORNERS, **FLAGS),
    Row("celu", AWAY_FROM_CORNERS, alpha=0.5),
    Row("celu", AWAY_FROM_CORNERS, alpha=-2.0),
    Row("softsign", V([[-3.0, -0.5], [0.7, 2.0]]), **FLAGS),
    Row("tanhshrink", T(2, 3), **FLAGS),
    # straight pieces
    Row("relu", AWAY_FROM_CORNERS, **FLAGS),
    Row("relu", T(3, 4, distinct=True, low=-1.99)),
    Row("leaky_relu", AWAY_FROM_CORNERS, **FLAGS),
    Row("leaky_relu", AWAY_FROM_CORNERS, negative_slope=0.3),
    Row("leaky_relu", AWAY_FROM_CORNERS, -0.5, label="negative slope"),
    Row("relu6", AWAY_FROM_CORNERS, **FLAGS),
    Row("hardtanh", AWAY_FROM_CORNERS, **FLAGS),
    Row("hardtanh", AWAY_FROM_CORNERS, min_val=-3.0, max_val=2.0),
    Row("hardsigmoid", AWAY_FROM_CORNERS, torch=hardsigmoid, **FLAGS),
    Row("hardswish", AWAY_FROM_CORNERS, **FLAGS),
    Row("threshold", AWAY_FROM_CORNERS, 0.5, 20.0, **FLAGS),
    Row("hardshrink", AWAY_FROM_CORNERS, **FLAGS),
    Row("hardshrink", AWAY_FROM_CORNERS, lambd=2.0),
    Row("hardshrink", T(3, 4, distinct=True, low=-1.99)),
    Row("softshrink", AWAY_FROM_CORNERS, **FLAGS),
    Row("softshrink", AWAY_FROM_CORNERS, lambd=2.0),
    Row("prelu", AWAY_FROM_CORNERS, V([0.25]), label="one weight"),
    Row("prelu", AWAY_FROM_CORNERS, V([0.25, -0.5, 0.75]), label="one weight for each channel"),
    Row("prelu", T(2, 3, 4, distinct=True, low=-1.99), T(3)),
    Row("prelu", V([-1.0, 2.0]), V(0.3), label="0-d weight"),
    Row("prelu", V(-1.0), V([0.3]), label="0-d input"),
    Row("prelu", T(2, 3, 4, distinct=True, low=-1.99), T(3, grad=False), label="fixed weight"),
    Row("prelu", T(2, 3, distinct=True, low=-1.99, grad=False), T(3), label="weight only"),
    # halves
    Row("glu", T(2, 6), empty=True),
    Row("glu", T(4, 3), dim=0),
    Row("glu", T(2, 4, 3), -2),
]
