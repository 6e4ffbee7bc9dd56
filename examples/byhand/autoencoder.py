"""Autoencoders: a network that has to give back its input, through a narrow layer."""

from __future__ import annotations

import nn

from .notation import layer, matrix, table, table_grad
from .sheet import Sheet, main, worksheet


@worksheet("002-13-Autoencoder", "Autoencoder 4-3-2-3-4, squared errors")
def autoencoder(sheet: Sheet) -> None:
    X = sheet.given("X", matrix("1 1 2 1; 2 1 2 0; 3 2 4 1; 1 1 2 1"))
    parts = {
        "encoder 1": layer("1 0 0 1 0; 0 1 1 0 0; -1 0 1 0 -1"),
        "encoder 2": layer("1 0 1 0; -1 1 0 0"),
        "decoder 1": layer("1 0 0; 0 1 1; 1 -1 0"),
        "decoder 2": layer("1 0 -1 0; 1 -1 0 0; 0 0 1 1; 0 1 1 -3"),
    }
    for name, part in parts.items():
        sheet.given(f"[{name} | b]", table(part))
    enc1, enc2, dec1, dec2 = parts.values()
    h = sheet.check("encoder 1, ReLU", enc1(X).relu(), "2 2 4 2; 5 3 6 1; 1 0 1 0")
    h = sheet.check("the narrow layer, ReLU", enc2(h).relu(), "3 2 5 2; 3 1 2 0")
    h = sheet.check("decoder 1, ReLU", dec1(h).relu(), "3 2 5 2; 4 2 3 1; 0 1 3 2")
    Y = sheet.check("Y, no ReLU", dec2(h), "3 1 2 0; -1 0 2 1; 1 2 4 3; 1 0 3 0")
    sheet.check("Y − X", Y - X, "2 0 0 -1; -3 -1 0 1; -2 0 0 2; 0 -1 1 -1")
    Y.retain_grad()
    nn.MSELoss(reduction="sum")(Y, X).backward()
    sheet.check("dL/dY", Y.grad, "4 0 0 -2; -6 -2 0 2; -4 0 0 4; 0 -2 2 -2")
    figures = {
        "decoder 2": "8 14 -4 2; -18 -26 2 -6; -4 -12 8 0; 2 0 0 -2",
        "decoder 1": "-10 -8 -4; 20 22 4; 14 2 4",
        "encoder 2": "4 -6 0 0; 16 36 6 8",
        "encoder 1": "-6 -18 -24 -6 -8; 8 14 22 8 8; 2 0 2 2 0",
    }
    for name, figure in figures.items():
        sheet.check(f"dL/d[{name} | b]", table_grad(parts[name]), figure)
    sheet.misread("dL/dY, row 2", Y.grad[1], "6 2 0 2", "minus signs were lost")
    sheet.note("two values before ReLU are exactly 0, where its slope counts as 0")


@worksheet("X-AE-small", "Autoencoder 4-3-2-3-4 with ReLU at its output")
def small_autoencoder(sheet: Sheet) -> None:
    X = sheet.given("X", matrix("2 -1; -1 0; 2 1; 1 2"))
    parts = [
        layer("1 0 -1 1 1; 0 1 1 0 1; 1 -1 0 0 0"),
        layer("0 1 2 1; -1 0 -3 10"),
        layer("1 1 -2; -1 1 1; 1 0 1"),
        layer("0 -1 0 2; -1 2 0 3; 1 -1 1 2; -1 0 1 5"),
    ]
    value = X
    for number, part in enumerate(parts, start=1):
        sheet.given(f"[W{number} | b{number}]", table(part))
        value = part(value).relu()
    Y = sheet.check("Y", value, "2 0; 0 7; 19 9; 8 0")
    Y.retain_grad()
    loss = sheet.check("mean of squares", nn.MSELoss()(Y, X), "57.125")
    sheet.check("sum of squares", nn.MSELoss(reduction="sum")(Y, X), "457")
    loss.backward()
    sheet.check("dL/dY = 2·(Y − X)/8", Y.grad, "0 0.25; 0.25 1.75; 4.25 2; 1.75 -0.5")
    sheet.slip("dL/dY", Y.grad, "2 -1; -1 0; 2 1; 1 2", "made of X instead of Y − X")


if __name__ == "__main__":
    main()
