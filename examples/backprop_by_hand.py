"""Backpropagation through attention and a small network, written out by hand.

    python examples/backprop_by_hand.py

Four tokens attend to each other, and two linear layers assign each one to one of three classes.
Every gradient is computed three times: by hand, with the chain rule in plain sight; by the engine's
backward; and by finite differences. The gradients by hand are printed. The result is the largest
difference between the three. The gradients by hand then train the network. backward.html shows the
same backward pass step by step.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from harness import Example, run
from plots import heat_map, lines

import tinytensor as tt
from tinytensor import graph

Values = dict[str, tt.Tensor]

TOKENS = ["the", "cat", "sat", "down"]
SIZES = {"x": (4, 3), "Wq": (3, 2), "Wk": (3, 2), "Wv": (3, 3), "W1": (3, 8), "b1": (8,),
         "W2": (8, 3), "b2": (3,)}  # fmt: skip


@dataclass
class Settings(Example):
    measure = "largest_error"
    lower_is_better = True
    quick_run = {"steps": 20}

    lr: float = 0.1
    steps: int = 500  # of gradient descent, with the gradients by hand
    target: float = 1e-7


def forward(leaves: Values, target: tt.Tensor, nudges: Mapping[str, tt.Tensor] = {}) -> Values:
    """All values of one forward pass, by name. nudges: {name: what to add to that value}."""
    v: Values = {}

    def let(name: str, value: tt.Tensor) -> tt.Tensor:
        v[name] = value + nudges[name] if name in nudges else value
        return v[name]

    x, Wq, Wk, Wv, W1, b1, W2, b2 = (let(name, leaves[name]) for name in SIZES)
    Q, K, V = let("Q", x @ Wq), let("K", x @ Wk), let("V", x @ Wv)  # (4, 2), (4, 2), (4, 3)
    S = let("S", Q @ K.T / math.sqrt(2))  # (4, 4): token i looks at token j
    A = let("A", S.softmax(dim=1))  # rows sum to 1
    Y = let("Y", A @ V)  # (4, 3)
    Z = let("Z", Y @ W1 + b1)  # (4, 8)
    H = let("H", Z.relu())
    L = let("L", H @ W2 + b2)  # logits (4, 3)
    P = let("P", L.softmax(dim=1))
    let("loss", -(target * P.log()).sum() / len(P))
    return v


def backward(v: Values, target: tt.Tensor) -> Values:
    """dloss/d… of every value, from last to first: one line for each step of the chain rule."""
    d: Values = {}
    d["P"] = -target / v["P"] / len(v["P"])
    d["L"] = (v["P"] - target) / len(v["P"])  # through the softmax and the logarithm
    d["W2"], d["b2"] = v["H"].T @ d["L"], d["L"].sum(0)
    d["H"] = d["L"] @ v["W2"].T
    d["Z"] = d["H"] * (v["Z"] > 0)  # ReLU passes g where its input was positive
    d["W1"], d["b1"] = v["Y"].T @ d["Z"], d["Z"].sum(0)
    d["Y"] = d["Z"] @ v["W1"].T
    d["A"] = d["Y"] @ v["V"].T  # Y = A·V: one path to the weights, …
    d["V"] = v["A"].T @ d["Y"]  # … and one to the values
    d["S"] = v["A"] * (d["A"] - (d["A"] * v["A"]).sum(1, keepdim=True))  # softmax, row by row
    d["Q"] = d["S"] @ v["K"] / math.sqrt(2)
    d["K"] = d["S"].T @ v["Q"] / math.sqrt(2)
    d["Wq"], d["Wk"], d["Wv"] = (v["x"].T @ d[name] for name in "QKV")
    # x was used three times: its gradient is the sum over the three paths
    d["x"] = d["Q"] @ v["Wq"].T + d["K"] @ v["Wk"].T + d["V"] @ v["Wv"].T
    return d


def by_engine(leaves: Values, target: tt.Tensor) -> Values:
    """The same gradients, by loss.backward()."""
    tracked = {name: leaf.clone().requires_grad_() for name, leaf in leaves.items()}
    values = forward(tracked, target)
    for value in values.values():
        value.retain_grad()
    values["loss"].backward()
    return {name: value.grad for name, value in values.items()}


def by_differences(name: str, leaves: Values, target: tt.Tensor, eps: float = 1e-6) -> tt.Tensor:
    """(loss(v + eps) − loss(v − eps)) / 2·eps for each element of the value `name`."""
    slopes = tt.zeros_like(forward(leaves, target)[name])
    for place in range(slopes.numel()):
        nudge = tt.zeros(slopes.numel(), dtype=tt.float64)
        nudge[place] = eps
        nudge = nudge.reshape(slopes.shape)  # (numel,) → the value's shape
        up, down = (forward(leaves, target, {name: n})["loss"] for n in (nudge, -nudge))
        slopes.view(-1)[place] = (up - down) / (2 * eps)
    return slopes


def learn(leaves: Values, target: tt.Tensor, settings: Settings) -> list[float]:
    """Gradient descent with the gradients by hand; returns the losses."""
    losses = []
    for _ in range(settings.steps):
        values = forward(leaves, target)
        losses.append(values["loss"].item())
        for name, gradient in backward(values, target).items():
            if name in leaves and name != "x":
                leaves[name] = leaves[name] - settings.lr * gradient
    return losses


def main(settings: Settings) -> float:
    leaves = {name: 0.7 * tt.randn(*size, dtype=tt.float64) for name, size in SIZES.items()}
    target = tt.eye(3, dtype=tt.float64)[tt.tensor([0, 1, 2, 1])]  # one-hot, (4, 3)
    values, engine = forward(leaves, target), by_engine(leaves, target)
    by_hand = backward(values, target)
    print(f"loss = {values['loss'].item():.6f}")
    errors = {}
    for name, gradient in by_hand.items():
        numeric = by_differences(name, leaves, target)
        errors[name] = max((gradient - other).abs().max() for other in (engine[name], numeric))
        print(f"\nd loss / d {name}    largest difference {errors[name]:.1e}\n{gradient.numpy()}")

    with tt.no_grad():
        losses = learn(dict(leaves), target, settings)
    if losses:
        print(f"\nloss after {settings.steps} steps by hand: {losses[-1]:.6f}")
        curve = {"loss": (range(len(losses)), losses)}
        lines(settings.folder / "loss.svg", curve, "Trained by hand", "step", "loss", log_y=True)
    for file, title, matrix in (
        ("weights", "Attention A", values["A"]),
        ("weight_gradients", "d loss / d A", by_hand["A"]),
        ("score_gradients", "d loss / d S: each row sums to 0", by_hand["S"]),
    ):
        heat_map(settings.folder / f"{file}.svg", matrix, TOKENS, TOKENS, title)
    tracked = {name: leaf.clone().requires_grad_() for name, leaf in leaves.items()}
    graph.explore(lambda: forward(tracked, target)["loss"], settings.folder / "backward.html")
    return max(errors.values())


if __name__ == "__main__":
    run(main, Settings)
