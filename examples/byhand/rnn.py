"""Recurrent nets: a state that each step mixes with its input."""

from __future__ import annotations

import nn
import nn.functional as F
import tinytensor as tt

from .notation import linear, matrix, table, vector
from .sheet import Sheet, main, worksheet


@worksheet("002-2-RNN", "RNN: h ← ReLU(A·h + B·x), y = C·h")
def relu_network(sheet: Sheet) -> None:
    X = sheet.given("X", vector("3 4 5 6"))
    h = sheet.given("h0", vector("0 0"))
    cell = nn.RNNCell(1, 2, bias=False, nonlinearity="relu", dtype=tt.float64)
    cell.load_state_dict({"weight_hh": matrix("1 -1; 1 1"), "weight_ih": matrix("1; 2")})
    output = linear("-1 1", bias=False)
    sheet.given("A", cell.weight_hh)
    sheet.given("B", cell.weight_ih)
    sheet.given("C", table(output))

    before, states = [], []
    for x in X.unsqueeze(1):  # (4) → (4, 1), a number in each step
        before.append(F.linear(h, cell.weight_hh) + F.linear(x, cell.weight_ih))
        h = cell(x, h)
        states.append(h)
    sheet.check("A·h + B·x", tt.stack(before, dim=1), "3 1 -11 -22; 6 17 28 40")
    H = sheet.check("H", tt.stack(states, dim=1), "3 1 0 0; 6 17 28 40")
    sheet.check("Y", output(H.mT).mT, "3 16 28 40")

    whole = nn.RNN(1, 2, bias=False, nonlinearity="relu", dtype=tt.float64)
    whole.load_state_dict({f"{name}_l0": value for name, value in cell.state_dict().items()})
    sheet.holds("nn.RNN gives the same", tt.equal(whole(X.unsqueeze(1))[0].mT, H))


@worksheet("X-RNN-tanh", "RNN with tanh, and a sigmoid at its output")
def tanh_network(sheet: Sheet) -> None:
    X = sheet.given("X", matrix("2 1 1 1; -1 0 1 2; 0 1 0 -1; 1 0 0 2"))
    network = nn.RNN(4, 3, dtype=tt.float64)
    network.load_state_dict(
        {
            "weight_ih_l0": matrix("1 0 -1 1; 0 2 1 0; 1 2 1 0"),
            "weight_hh_l0": matrix("1 0 1; 0 1 1; 0 1 0"),
            "bias_ih_l0": vector("1 -1 -1"),
            "bias_hh_l0": vector("0 0 0"),
        }
    )
    output = linear("3 0 -1 3")
    sheet.given("Wx", network.weight_ih_l0)
    sheet.given("Wh", network.weight_hh_l0)
    sheet.given("bh", network.bias_ih_l0)
    sheet.given("[Wy | by]", table(output))
    H, _ = network(X.mT)
    sheet.check(
        "H",
        H.mT,
        "0.999329 0.844808 0.993327 0.999997; -0.995055 -0.942128 0.0627352 0.993298; "
        "-0.761594 0.00494521 0.784848 0.995637",
    )
    sheet.check("Y = σ([Wy | by]·[H; 1])", output(H).sigmoid().mT,
                "0.998842 0.996048 0.994487 0.993336")  # fmt: skip
    sheet.gradcheck("Y", lambda x: output(network(x)[0]).sigmoid(), X.mT)


if __name__ == "__main__":
    main()
