from typing import Any

from .table import M, Row, T


def module_list(package: Any) -> Any:
    class Net(package.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.layers = package.ModuleList([package.Linear(4, 4) for _ in range(3)])

        def forward(self, x: Any) -> Any:
            for layer in self.layers:
                x = x + layer(x).tanh()
            return x

    return Net()


def module_dict(package: Any) -> Any:
    class Net(package.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.parts = package.ModuleDict({"b": package.Linear(4, 4), "a": package.LayerNorm(4)})

        def forward(self, x: Any, which: str) -> Any:
            return self.parts[which](x)

    return Net()


def parameter_list(package: Any) -> Any:
    class Net(package.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            linear = package.Linear(4, 4)
            self.weights = package.ParameterList([linear.weight, linear.bias])

        def forward(self, x: Any) -> Any:
            return x @ self.weights[0] + self.weights[-1]

    return Net()


def parameter_dict(package: Any) -> Any:
    class Net(package.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            linear = package.Linear(4, 4)
            self.weights = package.ParameterDict({"w": linear.weight, "b": linear.bias})

        def forward(self, x: Any) -> Any:
            return x @ self.weights["w"] + self.weights["b"]

    return Net()


def shared(package: Any) -> Any:
    """One layer at two places, and one weight in two layers."""
    layer = package.Linear(4, 4)
    tied = package.Linear(4, 4, bias=False)
    tied.weight = layer.weight
    return package.Sequential(layer, package.ReLU(), layer, tied)


ROWS = [
    Row("Sequential", M("Linear", 4, 3), M("Tanh"), M("Linear", 3, 2), inputs=[T(2, 4)]),
    Row("Sequential", M("Sequential", M("Linear", 4, 3)), M("BatchNorm1d", 3), inputs=[T(5, 4)]),
    Row("Sequential", inputs=[T(2, 4)]),
    Row("Sequential", make=shared, inputs=[T(2, 4)], label="shared layers"),
    Row("ModuleList", make=module_list, inputs=[T(2, 4)], label="three layers"),
    Row("ModuleDict", make=module_dict, inputs=[T(2, 4), "a"], label="a"),
    Row("ModuleDict", make=module_dict, inputs=[T(2, 4), "b"], label="b"),
    Row("ParameterList", make=parameter_list, inputs=[T(2, 4)], label="weight and bias"),
    Row("ParameterDict", make=parameter_dict, inputs=[T(2, 4)], label="weight and bias"),
    Row("DataParallel", M("Linear", 4, 3), inputs=[T(2, 4)]),
    Row("Identity", 5, extra=True, inputs=[T(2, 4)]),
    Row("Flatten", inputs=[T(2, 3, 4)]),
    Row("Flatten", 0, 1, inputs=[T(2, 3, 4)]),
    Row("Flatten", start_dim=-2, inputs=[T(2, 3, 4)]),
    Row("Unflatten", 1, (2, 3), inputs=[T(4, 6)]),
    Row("Unflatten", -2, [2, -1], inputs=[T(4, 6, 2)]),
]
