"""Two experts, of which each token goes through the one with the higher gate."""

from __future__ import annotations

import nn
import nn.functional as F
import tinytensor as tt

from .notation import linear, matrix, table
from .sheet import Sheet, main, worksheet


@worksheet("002-1-MoE", "Mixture of two experts, top 1")
def mixture_of_experts(sheet: Sheet) -> None:
    X = sheet.given("X", matrix("2 3; 1 1; 3 2"))
    experts = [
        linear("1 0 1 0; 1 1 0 0; 0 0 1 0; -1 0 1 0"),
        linear("0 1 1 0; 1 1 0 0; 1 -1 0 0; 1 0 1 0"),
    ]
    # normalize: the one expert that is chosen has weight 1, as on the sheet
    mixture = nn.MixtureOfExperts(3, experts, normalize=True, gate_bias=True, dtype=tt.float64)
    mixture.gate.load_state_dict(linear("1 1 0 0; 0 1 1 0").state_dict())
    sheet.given("[gate | b]", table(mixture.gate))
    for number, expert in enumerate(experts, start=1):
        sheet.given(f"[expert {number} | b]", table(expert))

    Z = mixture(X.mT).mT
    routing = mixture.routing
    assert routing is not None
    sheet.check("gate", routing.logits.mT, "3 4; 4 3")
    chosen = routing.experts.flatten()  # (T, 1) → (T)
    sheet.check("choice", F.one_hot(chosen, 2).mT, "0 1; 1 0")
    routes = [f"X{token} → expert {e + 1}" for token, e in enumerate(chosen.tolist(), start=1)]
    sheet.words("routes", routes, ["X1 → expert 2", "X2 → expert 1"])
    sheet.check("Z", Z, "4 5; 3 4; 1 2; 5 -1")
    sheet.check("Y = ReLU(Z)", Z.relu(), "4 5; 3 4; 1 2; 5 0")


if __name__ == "__main__":
    main()
