"""A switch layer: three experts with room for two tokens each, after attention pooling."""

from __future__ import annotations

import nn
import tinytensor as tt

from .notation import linear, matrix, table
from .sheet import Sheet, main, worksheet

NAMES = "ABC"


@worksheet("002-19-Switch", "Switch transformer: one expert for each token, capacity 2")
def switch(sheet: Sheet) -> None:
    X = sheet.given("X", matrix("5 6 0 7 0; 0 2 4 0 3; 1 0 1 1 0"))
    A = sheet.given("A", matrix("1 0 0 0 1; 1 1 0 0 0; 0 1 1 0 0; 0 0 1 1 0; 0 0 0 1 1"))
    experts = [
        linear("1 0 -1 0; 0 1 0 0; 0 0 -1 1"),
        linear("0 0 -1 0; 1 0 0 0; 1 1 -1 1"),
        linear("1 0 0 0; 0 1 1 1; 0 1 0 0"),
    ]
    # scale=False: outputs are not multiplied by the gate's probability
    layer = nn.SwitchLayer(3, experts, capacity=2, scale=False, dtype=tt.float64)
    layer.gate.load_state_dict(linear("1 -1 0; 1 0 -2; 0 1 1", bias=False).state_dict())
    sheet.given("switch", table(layer.gate))
    for name, expert in zip(NAMES, experts):
        sheet.given(f"[expert {name} | b]", table(expert))
    sheet.given("capacity", layer.capacity)

    Z = sheet.check("Z = X·A", nn.attention_pooling(X, A), "11 6 7 7 5; 2 6 4 3 3; 1 1 2 1 1")
    out = layer(Z.mT).mT
    routing, overflowed = layer.routing, layer.overflowed
    assert routing is not None and overflowed is not None
    sheet.check("gates", routing.logits.mT, "9 0 3 4 2; 9 4 3 5 3; 3 7 6 4 4")
    chosen = [NAMES[e] for e in routing.experts.flatten().tolist()]
    sheet.words("experts", chosen, ["A", "C", "C", "B", "C"])
    sheet.check("passed through", overflowed, "0 0 0 0 1")
    sheet.check("out", out, "10 6 7 -1 5; 2 8 7 7 3; 0 6 4 10 1")
    sheet.note("the first token's gates of A and B are equal: the first expert takes it")


if __name__ == "__main__":
    main()
