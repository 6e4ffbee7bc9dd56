"""From one node to two layers on three inputs: each sheet adds one thing to the one before."""

from __future__ import annotations

from .notation import layer, matrix, table
from .sheet import Sheet, main, worksheet

FOUR_NODES = "1 -1 1 -5; 1 1 0 0; 0 1 1 1; 1 0 1 -2"
TWO_NODES = "1 1 -1 0 0; 0 0 1 -1 1"


@worksheet("002-I", "One node")
def one_node(sheet: Sheet) -> None:
    x = sheet.given("x", matrix("2; 1; 3"))
    node = layer("1 -1 1 -5")
    sheet.given("[w | b]", table(node))
    z = sheet.check("z = [w | b]·[x; 1]", node(x), "-1")
    sheet.check("y = ReLU(z)", z.relu(), "0")


@worksheet("002-II", "Four nodes")
def four_nodes(sheet: Sheet) -> None:
    x = sheet.given("x", matrix("2; 1; 3"))
    nodes = layer(FOUR_NODES)
    sheet.given("[W | b]", table(nodes))
    z = sheet.check("z", nodes(x), "-1; 3; 5; 3")
    sheet.check("y = ReLU(z)", z.relu(), "0; 3; 5; 3")
    sheet.check("parameters", sum(p.numel() for p in nodes.parameters()), "16")


@worksheet("002-III", "A hidden layer")
def hidden_layer(sheet: Sheet) -> None:
    x = sheet.given("x", matrix("2; 1; 3"))
    first, second = layer(FOUR_NODES), layer(TWO_NODES)
    sheet.given("[W1 | b1]", table(first))
    sheet.given("[W2 | b2]", table(second))
    z1 = sheet.check("z1", first(x), "-1; 3; 5; 3")
    h = sheet.check("h = ReLU(z1)", z1.relu(), "0; 3; 5; 3")
    z2 = sheet.check("z2", second(h), "-2; 3")
    sheet.check("y = ReLU(z2)", z2.relu(), "0; 3")
    count = sum(p.numel() for part in (first, second) for p in part.parameters())
    sheet.check("parameters", count, "26")


@worksheet("002-IV", "Three inputs")
def three_inputs(sheet: Sheet) -> None:
    X = sheet.given("X", matrix("2 1 0; 1 1 1; 3 0 1"))
    first, second = layer(FOUR_NODES), layer(TWO_NODES)
    sheet.given("[W1 | b1]", table(first))
    sheet.given("[W2 | b2]", table(second))
    z1 = sheet.check("z1", first(X), "-1 -5 -5; 3 2 1; 5 2 3; 3 -1 -1")
    h = sheet.check("h = ReLU(z1)", z1.relu(), "0 0 0; 3 2 1; 5 2 3; 3 0 0")
    z2 = sheet.check("z2", second(h), "-2 0 -2; 3 3 4")
    sheet.check("y = ReLU(z2)", z2.relu(), "0 0 0; 3 3 4")


if __name__ == "__main__":
    main()
