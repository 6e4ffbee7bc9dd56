"""A graph convolution network: H = ReLU(W·X + b)·(A + I), twice, then a network for each node.

The graph and two rows of the second convolution are worked out from the other figures; its third
row cannot be, so the network starts again from what the sheet shows of its first layer.
"""

from __future__ import annotations

import nn
import tinytensor as tt

from .notation import layer, linear, matrix, table
from .sheet import Sheet, main, worksheet


def convolution(text: str) -> nn.GraphConvolution:
    """Without division by degrees, and with ReLU on what nodes send."""
    plain = linear(text)
    made = nn.GraphConvolution(
        plain.in_features, plain.out_features, normalize=False, activation=nn.ReLU(),
        activate_messages=True, dtype=tt.float64,
    )  # fmt: skip
    made.load_state_dict(plain.state_dict())
    return made


@worksheet("002-17-GCN", "GCN: five nodes, two convolutions, two layers")
def gcn(sheet: Sheet) -> None:
    X = sheet.given("X", matrix("2 0 1 0 1; 1 1 0 0 0; 0 0 -1 1 1; 0 3 0 1 0"))
    loops = matrix("1 0 1 0 0; 0 1 0 1 0; 1 0 1 0 1; 0 1 0 1 1; 0 0 1 1 1")
    loops = sheet.given("A + I", loops)
    A = loops - tt.eye(5, dtype=tt.float64)
    weights = "1 1 0 0 0; 0 1 0 -1 0; 1 0 0 1 -1"
    first, second = convolution(weights), convolution("0 0 2 -1; 1 0 0 -2")
    dense, last = layer("1 0 0 -2; 0 1 0 -2; 0 0 1 -5; 1 -1 0 0; 1 0 -1 0"), layer("1 1 1 1 1 -9")
    sheet.given("[GCN1 | b]", table(linear(weights)))
    sheet.given("[GCN2 | b], rows 1 and 2", matrix("0 0 2 -1; 1 0 0 -2"))
    sheet.given("[FC1 | b]", table(dense))
    sheet.given("[FC2 | b]", table(last))

    z = sheet.check("messages", layer(weights)(X), "3 1 1 0 1; 1 -2 0 -1 0; 1 2 0 0 0")
    sheet.check("ReLU", z.relu(), "3 1 1 0 1; 1 0 0 0 0; 1 2 0 0 0")
    H = sheet.check("GCN1", first(X.mT, A).mT, "4 1 5 2 2; 1 0 1 0 0; 1 2 1 2 0")
    sheet.check("GCN1, row 3", H[2], "1 2 1 2 0")
    two = second(H.mT, A).mT
    sheet.check("GCN2, rows 1 and 2", two, "2 6 2 6 4; 5 0 5 0 3")

    block = "0 4 0 4 2; 3 -2 3 -2 1; 2 -4 3 -1 1; -3 6 -3 6 1; -7 3 8 2 4"
    shown = sheet.given("FC1, as printed", matrix(block))
    implied = shown[:2] + 2  # rows 1 and 2 of FC1 take off 2
    sheet.check("GCN2 that FC1 implies", implied, "2 6 2 6 4; 5 0 5 0 3")
    unknown = tt.zeros(1, 5, dtype=tt.float64)  # row 3 of GCN2: rows 3 and 5 of FC1 need it
    computed = dense(tt.cat([two, unknown]))
    sheet.check("FC1, rows 1 and 2", computed[:2], "0 4 0 4 2; 3 -2 3 -2 1")
    sheet.check("FC1, row 4", computed[3], "-3 6 -3 6 1")
    z = sheet.check("FC2 of ReLU(FC1)", last(shown.relu()), "-4 4 5 3 0")
    out = sheet.check("σ", z.sigmoid(), "0.0179862 0.982014 0.993307 0.952574 0.5")
    sheet.printed("σ in one digit", out, "0 1 1 1 0.5", within=0.05)

    cause = "messages and weights of GCN2 run into one another"
    messages = first(X.mT, tt.zeros_like(A)).mT  # each node hears only itself
    sheet.misread("messages, ReLU", messages, "1 1 0 0 0; 0 1 1 -2 0; 1 2 0 0 0", cause)
    third = shown[2] + 5  # what row 3 of FC1 says of row 3 of GCN2; row 5 says f1 − it
    sheet.slip("FC1, row 5", two[0] - third, "-7 3 8 2 4", "no GCN2 gives both rows 3 and 5")


if __name__ == "__main__":
    main()
