"""Seven layers without bias: ReLU after each but the last."""

from __future__ import annotations

import tinytensor as tt

from .notation import layer, matrix, table
from .sheet import Sheet, main, worksheet

# The weights of each layer, and what comes out of it.
LAYERS = [
    ("0 0 1; 0 1 0; 1 0 0; 1 1 0; 0 1 1", "5 3; 4 4; 3 5; 7 9; 9 7"),
    ("1 1 -1 0 0; 0 0 1 1 -1", "6 2; 1 7"),
    ("1 1; 1 -1; 1 2", "7 9; 5 0; 8 16"),
    ("1 -1 0; 0 -1 1", "2 9; 3 16"),
    ("0 1; 1 0", "3 16; 2 9"),
    ("1 -1; 1 1", "1 7; 5 25"),
    ("1 -1", "-4 -18"),
]


@worksheet("002-V", "Seven layers")
def seven_layers(sheet: Sheet) -> None:
    a = sheet.given("X", matrix("3 5; 4 4; 5 3"))
    outputs: list[tt.Tensor] = []
    for number, (weights, figure) in enumerate(LAYERS, start=1):
        step = layer(weights, bias=False)
        sheet.given(f"W{number}", table(step))
        z = step(a)
        a = sheet.check(f"a{number}", z if number == len(LAYERS) else z.relu(), figure)
        outputs.append(a)
    sheet.misread("a3, row 2 column 2", outputs[2][1, 1], "5", "the minus of −5 was lost; ReLU: 0")
    sheet.slip("a5, row 1 column 2", outputs[4][0, 1], "21", "16 + 5: the −5 above, without ReLU")
    sheet.slip("a6, column 2", outputs[5][:, 1], "12 30", "follows from the 21")
    sheet.note("a7 is right all the same: (p − q) − (p + q) = −2q does not depend on p")


if __name__ == "__main__":
    main()
