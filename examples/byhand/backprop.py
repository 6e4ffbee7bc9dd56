"""Backpropagation through three layers, softmax and cross-entropy; [dW | db] = dz·[a; 1]ᵀ."""

from __future__ import annotations

from typing import Any

import nn.functional as F
import tinytensor as tt

from .notation import Columns, layer, matrix, retain_grad, table, table_grad
from .sheet import Sheet, main, worksheet


def forward(
    sheet: Sheet, layers: list[Columns], X: tt.Tensor, figures: dict[str, str]
) -> list[tt.Tensor]:
    """z1, a1, z2, a2, z3, each checked."""
    first, second, third = layers
    for number, part in enumerate(layers, start=1):
        sheet.given(f"[W{number} | b{number}]", table(part))
    z1 = first(X)
    a1 = z1.relu()
    z2 = second(a1)
    a2 = z2.relu()
    z3 = third(a2)
    values = [z1, a1, z2, a2, z3]
    for value, (name, figure) in zip(values, figures.items()):
        sheet.check(name, value, figure)
    retain_grad(*values)
    return values


def gradients(layers: list[Columns], values: list[tt.Tensor]) -> dict[str, Any]:
    """What backward has left, from the last layer to the first, and all set back."""
    z1, a1, z2, a2, z3 = (value.grad for value in values)
    d1, d2, d3 = map(table_grad, layers)
    for tensor in values + [p for part in layers for p in part.parameters()]:
        tensor.grad = None
    return {"dL/dz3": z3, "dL/d[W3 | b3]": d3, "dL/da2": a2, "dL/dz2": z2, "dL/d[W2 | b2]": d2,
            "dL/da1": a1, "dL/dz1": z1, "dL/d[W1 | b1]": d1}  # fmt: skip


# Everything below dL/da2 is the same with the exact softmax and with the one rounded by hand.
BELOW = {
    "dL/da2": "1; -1",
    "dL/dz2": "1; -1",
    "dL/d[W2 | b2]": "0 3 5 3 1; 0 -3 -5 -3 -1",
    "dL/da1": "1; -2; 2; -1",
    "dL/dz1": "0; -2; 2; -1",
    "dL/d[W1 | b1]": "0 0 0 0; -4 -2 -6 -2; 4 2 6 2; -2 -1 -3 -1",
}
EXACT = {
    "dL/dz3": "0.495463; -0.504537; 0.00907471",
    "dL/d[W3 | b3]": "0.990925 1.98185 0.495463; -1.00907 -2.01815 -0.504537; "
    "0.0181494 0.0362989 0.00907471",
} | BELOW
BY_HAND = {
    "dL/dz3": "0.5; -0.5; 0",
    "dL/d[W3 | b3]": "1 2 0.5; -1 -2 -0.5; 0 0 0",
} | BELOW


@worksheet("002-7-Backprop", "Backpropagation of one sample")
def one_sample(sheet: Sheet) -> None:
    X = sheet.given("X", matrix("2; 1; 3"))
    target = sheet.given("target", matrix("0; 1; 0"))
    layers = [
        layer("1 -1 1 -5; 1 1 0 0; 0 1 1 1; 1 0 1 -2"),
        layer("1 -1 1 0 0; 0 1 -1 1 3"),
        layer("2 0 -1; 0 2 -5; 1 1 -7"),
    ]
    figures = {"z1": "-1; 3; 5; 3", "a1": "0; 3; 5; 3", "z2": "2; 4", "a2": "2; 4",
               "z3": "3; 3; -1"}  # fmt: skip
    values = forward(sheet, layers, X, figures)
    z3 = values[-1]
    y = sheet.check("y = softmax(z3)", z3.softmax(dim=0), "0.495463; 0.495463; 0.00907471")
    rounded = sheet.check("by hand: y in one digit", (10 * y).round() / 10, "0.5; 0.5; 0")
    loss = F.cross_entropy(z3.mT, target.mT)
    sheet.check("loss", loss, "0.702263")

    loss.backward(retain_graph=True)
    for name, gradient in gradients(layers, values).items():
        sheet.check(name, gradient, EXACT[name])
    z3.backward(rounded.detach() - target)  # the walk from the dL/dz3 of the sheet
    for name, gradient in gradients(layers, values).items():
        sheet.check(f"by hand: {name}", gradient, BY_HAND[name])
    sheet.note("softmax − target is (0.5, −0.5, 0) by hand; W3ᵀ times either is (1, −1)")
    sheet.misread("b3, row 3", table(layers[2])[2, 2], "-1", "2 + 4 − 7 = −1 needs a −7")


if __name__ == "__main__":
    main()
