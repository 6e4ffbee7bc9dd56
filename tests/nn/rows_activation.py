from typing import Any

from .table import Row, T, V

X = T(2, 6)
FULL = V([[-9.0, -3.5, -1.2, -0.3], [0.2, 0.9, 4.5, 8.0]])  # on every branch, off the corners

PLAIN = ["Tanh", "Sigmoid", "LogSigmoid", "Softsign", "Tanhshrink", "GELU"]
IN_PLACE = ["ReLU", "ReLU6", "SELU", "SiLU", "Mish", "Hardswish", "ELU", "CELU",
            "LeakyReLU", "Hardtanh"]  # fmt: skip


def hardsigmoid(package: Any) -> Any:
    """relu6(x + 3) / 6: the gradient of PyTorch's own has 1/6 in float32 only."""

    class Hardsigmoid(package.Module):  # type: ignore[misc,name-defined]
        def forward(self, x: Any) -> Any:
            return package.functional.relu6(x + 3) / 6

    return Hardsigmoid()


ROWS = [
    Row("Hardsigmoid", inputs=[FULL], torch=hardsigmoid),
    Row("Hardsigmoid", inplace=True, inputs=[FULL], torch=hardsigmoid),
    *(Row(name, inputs=[FULL]) for name in PLAIN + IN_PLACE),
    *(Row(name, inplace=True, inputs=[FULL]) for name in IN_PLACE),
    Row("ReLU", inputs=[T(2, 3, 4)]),
    Row("GELU", "tanh", inputs=[X]),
    Row("GELU", approximate="tanh", inputs=[FULL]),
    Row("ELU", 0.5, inputs=[FULL]),
    Row("CELU", alpha=2.0, inputs=[FULL]),
    Row("LeakyReLU", 0.2, inputs=[FULL]),
    Row("PReLU", inputs=[FULL]),
    Row("PReLU", 4, init=0.1, inputs=[FULL]),
    Row("PReLU", 3, inputs=[T(2, 3, 4)]),
    Row("Hardtanh", -2.0, 0.5, inputs=[FULL]),
    Row("Softplus", inputs=[FULL]),
    Row("Softplus", beta=2.0, threshold=5.0, inputs=[FULL]),
    Row("Softshrink", inputs=[FULL]),
    Row("Softshrink", 1.0, inputs=[FULL]),
    Row("Hardshrink", inputs=[FULL]),
    Row("Hardshrink", lambd=1.0, inputs=[FULL]),
    Row("Threshold", 0.5, 3.0, inputs=[FULL]),
    Row("Threshold", 0.5, 3.0, inplace=True, inputs=[FULL]),
    Row("GLU", inputs=[X]),
    Row("GLU", dim=0, inputs=[X]),
    Row("Softmax", dim=1, inputs=[X]),
    Row("Softmax", dim=-2, inputs=[T(2, 3, 4)]),
    Row("LogSoftmax", 1, inputs=[X]),
    Row("LogSoftmax", dim=0, inputs=[X]),
    Row("Softmin", dim=-1, inputs=[X]),
    Row("Softmax2d", inputs=[T(2, 3, 2, 2)]),
    Row("Softmax2d", inputs=[T(3, 2, 2)]),
]
