"""An MLP as PyTorch code writes it: three Linear layers, the middle one without bias."""

from __future__ import annotations

import nn

from .notation import layer, matrix, table
from .sheet import Sheet, main, worksheet


@worksheet("002-6-MLP-pytorch", "MLP: Linear, ReLU, Linear without bias, ReLU, Linear, Sigmoid")
def mlp(sheet: Sheet) -> None:
    model = nn.Sequential(
        layer("1 -1 1 -5; 1 1 0 0; 0 1 1 1; 1 0 1 -2"),
        nn.ReLU(),
        layer("1 -1 1 0; 0 1 -1 1", bias=False),
        nn.ReLU(),
        layer("1 -1 2; -1 1 1; 1 -2 -2; 2 1 0; -3 0 1"),
        nn.Sigmoid(),
    )
    figures = {
        "z1": "-1; 3; 5; 3",
        "a1": "0; 3; 5; 3",
        "z2": "2; 1",
        "a2": "2; 1",
        "z3": "3; 0; -2; 5; -5",
        "y": "0.952574; 0.5; 0.119203; 0.993307; 0.00669285",
    }
    x = sheet.given("x", matrix("2; 1; 3"))
    for part, (name, figure) in zip(model, figures.items()):
        if not isinstance(part, (nn.ReLU, nn.Sigmoid)):
            sheet.given("weights of " + name, table(part))
        x = sheet.check(name, part(x), figure)
    sheet.printed("y in two digits", x, "0.95; 0.5; 0.12; 0.99; 0.01", within=0.0051)


if __name__ == "__main__":
    main()
