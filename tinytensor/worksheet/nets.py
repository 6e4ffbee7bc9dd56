"""Networks over time and over graphs: a recurrent network, a graph convolution network."""

from __future__ import annotations

from .kinds import FORWARD_ONLY, Backward, kind
from .named import ADD, AFFINE, MASK, PRODUCT, RELU
from .sheet import Grid, Sheet

DIGITS = "₀₁₂₃"


@kind("rnn", "Recurrent network, and backpropagation through time")
def rnn(sheet: Sheet, size: str) -> Backward:
    width, inputs, times = {"small": (2, 1, 3), "medium": (2, 2, 2), "large": (3, 2, 3)}[size]
    W = sheet.given("[A | B]", sheet.signs(width, width + inputs), "weight")
    C = sheet.given("C", sheet.signs(1, width), "weight")
    states = [sheet.given("h₀", [[0.0]] * width)]
    tops, sums = [], []
    for t in DIGITS[1 : times + 1]:
        text = f"h{t} = ReLU(A·h + B·x{t}), with the same weights at every time."
        sheet.section(f"Time {DIGITS.index(t)}", text)
        x = sheet.given(f"x{t}", sheet.whole(inputs, 1, -1, 3))
        tops.append(states[-1].over(x))
        sums.append(sheet.step(f"z{t}", PRODUCT, tops[-1], left=W, role="value"))
        states.append(sheet.step(f"h{t}", RELU, sums[-1]))
    y = sheet.step("y", PRODUCT, states[-1], left=C)
    if size == "small":
        return
    G = sheet.given("dL/dy", [[sheet.draw.choice((-2, -1, 1, 2))]], "gradient")
    yield (y.tensor * G.tensor).sum()

    sheet.section("Back from y", "dL/dy is given.")
    sheet.step("dL/dC", PRODUCT, states[-1].T, left=G, gradient_of=C)
    dh = sheet.step(f"dL/dh{t}", PRODUCT, G, left=C.T, gradient_of=states[-1])
    total: Grid | None = None
    for number in range(times, 0, -1):
        t = DIGITS[number]
        sheet.section(f"Back through time {number}", "Each time adds its share to dL/d[A | B].")
        z = sums[number - 1]
        dz = sheet.step(f"dL/dz{t}", MASK, dh, left=z, gradient_of=z)
        share = sheet.step(f"share {number}", PRODUCT, tops[number - 1].T, left=dz, role="gradient")
        if total is not None:
            last = number == 1
            name = "dL/d[A | B]" if last else f"shares {number} … {times}"
            share = sheet.step(name, ADD, share, left=total, gradient_of=W if last else None)
        total = share
        if number > 1:
            A, before = W.columns("A", width), states[number - 1]
            dh = sheet.step(f"dL/d{before.name}", PRODUCT, dz, left=A.T, gradient_of=before)


@kind("gcn", "Graph convolution: every node hears its neighbours")
def gcn(sheet: Sheet, size: str) -> Backward:
    nodes, widths = {"small": (3, (2, 2)), "medium": (4, (2, 3, 2)), "large": (5, (3, 3, 2, 1))}[
        size
    ]
    X = sheet.given("X", sheet.whole(widths[0], nodes, -1, 3))
    A = sheet.given("A + I", _graph(sheet, nodes))
    H = X
    for number, (before, width) in enumerate(zip(widths, widths[1:]), 1):
        mark = DIGITS[number]
        text = "Each column is a node. A + I has a 1 for each neighbour, and for the node itself."
        sheet.section(f"Layer {number}", text if number == 1 else "")
        table = sheet.layer(f"W{mark}", width, before)
        Z = sheet.step(f"Z{mark}", AFFINE, H.with_ones(), left=table, role="value")
        messages = sheet.step(f"M{mark}", RELU, Z)
        H = sheet.step(f"H{mark}", PRODUCT, A, left=messages, role="value")
    return FORWARD_ONLY


def _graph(sheet: Sheet, nodes: int) -> list[list[float]]:
    """A chain of nodes with one extra edge and a self-loop at each node."""
    linked = [[float(abs(i - j) < 2) for j in range(nodes)] for i in range(nodes)]
    i = sheet.draw.randrange(nodes - 2)
    j = sheet.draw.randrange(i + 2, nodes)
    linked[i][j] = linked[j][i] = 1.0
    return linked


__all__ = ["gcn", "rnn"]
