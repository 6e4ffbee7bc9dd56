"""A graph convolution finds the communities of a graph from its edges and a few labelled nodes.

    python examples/gcn.py
    python examples/gcn.py --communities 6 --labelled 2

There are two graphs. In Zachary's karate club only the two leaders' sides are known; which side did
each of the other 32 members take when the club split? In a generated graph four communities have
many edges inside and some between them; a few members of each are labelled. No node has features:
each starts as a one-hot vector. Two graph convolutions mix the features of neighbours. The same
network without the edges can only guess.

The result is the lower of the two accuracies, on nodes without a label.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness import Example, run
from plots import bars, scatter

import nn
import nn.functional as F
import tinytensor as tt
from tinytensor import optim
from tinytensor.train.progress import Progress

FRIENDS = {  # W. W. Zachary, 1977: member → friends outside the club with a higher number
    1: [2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 18, 20, 22, 32], 2: [3, 4, 8, 14, 18, 20, 22, 31],
    3: [4, 8, 9, 10, 14, 28, 29, 33], 4: [8, 13, 14], 5: [7, 11], 6: [7, 11, 17], 7: [17],
    9: [31, 33, 34], 10: [34], 14: [34], 15: [33, 34], 16: [33, 34], 19: [33, 34], 20: [34],
    21: [33, 34], 23: [33, 34], 24: [26, 28, 30, 33, 34], 25: [26, 28, 32], 26: [32], 27: [30, 34],
    28: [34], 29: [32, 34], 30: [33, 34], 31: [33, 34], 32: [33, 34], 33: [34],
}  # fmt: skip
WITH_TEACHER = [*range(1, 10), 11, 12, 13, 14, 17, 18, 20, 22]  # the others went with the officer


@dataclass
class Settings(Example):
    quick_run = {"steps": 60, "members": 30, "target": 0.85}

    communities: int = 4
    members: int = 50  # of each community
    labelled: int = 4  # of each community
    width: int = 16
    lr: float = 0.02
    steps: int = 200
    target: float = 0.9


@dataclass
class Network:
    name: str
    adjacency: tt.Tensor  # (n, n), 1 where two nodes are neighbours
    classes: tt.Tensor  # (n)
    known: list[int]  # the labelled nodes


def karate_club() -> Network:
    adjacency = tt.zeros(34, 34)
    for member, friends in FRIENDS.items():
        for friend in friends:
            adjacency[member - 1, friend - 1] = adjacency[friend - 1, member - 1] = 1.0
    classes = tt.tensor([0 if member in WITH_TEACHER else 1 for member in range(1, 35)])
    return Network("karate club", adjacency, classes, known=[0, 33])


def communities(settings: Settings) -> Network:
    """A random graph: a node has about 8 edges inside its community and 2 to all others."""
    members, count = settings.members, settings.communities
    classes = tt.arange(count).repeat_interleave(members)
    inside = classes.unsqueeze(0) == classes.unsqueeze(1)  # (n, n)
    between = 2.0 / max(1, members * (count - 1))
    chance = tt.where(inside, 8.0 / members, between)
    upper = (tt.rand(*chance.shape) < chance).float().triu(1)
    known = [c * members + i for c in range(count) for i in range(settings.labelled)]
    return Network("communities", upper + upper.T, classes, known)


class GCN(nn.Module):
    """logits = Â·ReLU(Â·X·W₁ᵀ + b₁)·W₂ᵀ + b₂"""

    def __init__(self, nodes: int, width: int, classes: int):
        super().__init__()
        self.first = nn.GraphConvolution(nodes, width, activation=F.relu)
        self.second = nn.GraphConvolution(width, classes)

    def forward(self, x: tt.Tensor, adjacency: tt.Tensor) -> tt.Tensor:
        return self.second(self.first(x, adjacency), adjacency)


def learn(name: str, network: Network, adjacency: tt.Tensor, settings: Settings) -> tt.Tensor:
    """Train on the known nodes; return the logits of every node (n, classes)."""
    features = tt.eye(len(adjacency))  # one-hot: nodes have no features of their own
    known = tt.tensor(network.known)
    model = GCN(len(adjacency), settings.width, int(network.classes.max()) + 1)
    optimizer = optim.Adam(model.parameters(), lr=settings.lr, weight_decay=0.005)
    with Progress(True, 0, settings.steps) as progress:
        for step in range(1, settings.steps + 1):
            loss = F.cross_entropy(model(features, adjacency)[known], network.classes[known])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            progress.update(step, {"network": name, "loss": loss.item()})
    with tt.no_grad():
        return model(features, adjacency)


def accuracy(logits: tt.Tensor, network: Network) -> float:
    """The accuracy on the nodes without a label."""
    hidden = tt.ones(len(logits), dtype=tt.bool)
    hidden[tt.tensor(network.known)] = False
    return (logits.argmax(dim=1) == network.classes)[hidden].float().mean().item()


def places(adjacency: tt.Tensor, steps: int = 60) -> tt.Tensor:
    """Where to draw the nodes, (n, 2): edges pull them together, all nodes repel each other.

    Two eigenvectors of the graph give the initial places, which keeps neighbours close.
    """
    mixing = nn.normalize_adjacency(nn.add_self_loops(adjacency))
    points = 20 * tt.linalg.eigh(mixing)[1][:, -3:-1]  # the last one is almost constant
    points = points.clone().requires_grad_()
    optimizer = optim.Adam([points], lr=0.1)
    for _ in range(steps):
        apart = points.unsqueeze(0) - points.unsqueeze(1)  # (n, n, 2)
        squared = apart.square().sum(dim=-1)
        loss = (adjacency * squared).sum() - 2 * (squared + 0.1).log().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return points.detach()


def show(network: Network, logits: tt.Tensor, settings: Settings) -> None:
    """Draw every node with its predicted class."""
    found, right = logits.argmax(dim=1).tolist(), network.classes.tolist()
    names = [f"class {c}" if c == truth else "mistaken" for c, truth in zip(found, right)]
    edges = network.adjacency.triu(1).nonzero().tolist()
    title = f"{network.name}: the class found for each node"
    file = f"{network.name.replace(' ', '_')}.svg"
    scatter(settings.folder / file, places(network.adjacency), names, title, edges=edges)


def main(settings: Settings) -> float:
    reached = {}
    for network in (karate_club(), communities(settings)):
        logits = learn(network.name, network, network.adjacency, settings)
        reached[network.name] = accuracy(logits, network)
        alone = f"{network.name}, without edges"
        nothing = tt.zeros_like(network.adjacency)
        reached[alone] = accuracy(learn(alone, network, nothing, settings), network)
        show(network, logits, settings)
    for name, value in reached.items():
        print(f"{name}: accuracy {value:.3f} on nodes without a label")
    bars(settings.folder / "accuracy.svg", reached, "Accuracy on unknown nodes", "accuracy")
    return min(reached["karate club"], reached["communities"])


if __name__ == "__main__":
    run(main, Settings)
