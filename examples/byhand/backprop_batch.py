"""Backpropagation of a batch: the network of `backprop` on two samples, gradients summed."""

from __future__ import annotations

import nn.functional as F

from .backprop import forward, gradients
from .notation import layer, matrix
from .sheet import Sheet, main, worksheet

GRADIENTS = {
    "dL/dz3": "0.00335766 0.244728; 0.498321 -0.334759; -0.501679 0.0900306",
    "dL/d[W3 | b3]": "0 0.992345 0.999060 0.492815 0.248086; "
    "0 0.654248 1.65089 -0.171197 0.163562; 0 -1.64659 -2.64995 -0.321618 -0.411648",
    "dL/da2": "0.00335766 0.244728; -0.00335766 -0.244728; -0.505036 -0.154698; "
    "0.00671532 0.489457",
    "dL/dz2": "0 0; -0.00335766 -0.244728; -0.505036 -0.154698; 0.00671532 0.489457",
    "dL/d[W2 | b2]": "0 0 0 0; -0.251444 -0.747616 -0.00335766 -0.248086; "
    "-1.16477 -2.48424 -0.505036 -0.659734; 0.502888 1.49523 0.00671532 0.496172",
    "dL/da1": "-0.00335766 -0.244728; -0.508394 -0.399426; -0.505036 -0.154698",
    "dL/dz1": "-0.00335766 -0.244728; -0.508394 -0.399426; -0.505036 0",
    "dL/d[W1 | b1]": "0.238013 -0.248086 -0.251444 -0.492815 -0.248086; "
    "-0.617362 -0.907821 -1.41621 -1.30725 -0.907821; "
    "-1.01007 -0.505036 -1.01007 -0.505036 -0.505036",
}


@worksheet("X-Backprop-batch2", "Backpropagation of two samples, gradients summed")
def two_samples(sheet: Sheet) -> None:
    X = sheet.given("X", matrix("2 -1; 1 1; 2 1; 1 2"))
    target = sheet.given("target", matrix("0 0; 0 1; 1 0"))
    layers = [
        layer("1 0 -1 1 1; 0 1 1 0 1; 1 -1 0 0 0"),
        layer("0 -1 2 1; -1 1 0 2; 0 1 1 1; -1 0 0 3"),
        layer("0 -1 -1 2 5; -1 0 0 0 2; -1 0 1 0 -4"),
    ]
    figures = {"z1": "2 1; 4 3; 1 -2", "a1": "2 1; 4 3; 1 0", "z2": "-1 -2; 4 4; 6 4; 1 2",
               "a2": "0 0; 4 4; 6 4; 1 2", "z3": "-3 1; 2 2; 2 0"}  # fmt: skip
    values = forward(sheet, layers, X, figures)
    figure = "0.00335766 0.244728; 0.498321 0.665241; 0.498321 0.0900306"
    sheet.check("y = softmax(z3)", values[-1].softmax(dim=0), figure)
    loss = F.cross_entropy(values[-1].mT, target.mT, reduction="sum")
    sheet.check("loss, summed", loss, "1.10412")
    loss.backward()
    found = gradients(layers, values)
    for name, gradient in found.items():
        sheet.check(name, gradient, GRADIENTS[name])
    cause = "the ReLU of z2 is forgotten, and what lies below is wrong too"
    sheet.slip("dL/dz2, row 1", found["dL/dz2"][0], "0.00335766 0.244728", cause)


if __name__ == "__main__":
    main()
