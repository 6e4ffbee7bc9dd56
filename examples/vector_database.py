"""A vector database finds sentences by their meaning, not by their words.

    python examples/vector_database.py
    python examples/vector_database.py --cells 128 --probes 4

A small encoder embeds the words, transforms each, takes their mean and projects it. It learns from
pairs of sentences that mean the same in other words. Thousands of sentences then go into a
database. To find the nearest vectors without comparing with all of them, it sorts vectors into
cells around centres found by k-means, and a query searches only the few cells with the nearest
centres. The database can be saved and loaded.

The result is the recall: the fraction of the ten nearest sentences that this search finds.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness import Example, run
from paraphrases import WORDS, meanings, put_into_words
from plots import bars, lines

import nn
import nn.functional as F
import tinytensor as tt
from tinytensor import optim
from tinytensor.train.progress import Progress

NEAREST = 10


@dataclass
class Settings(Example):
    measure = "recall"
    quick_run = {"steps": 40, "sentences": 1500, "target": 0.8}

    sentences: int = 6000  # in the database
    cells: int = 64
    probes: int = 8  # cells that a query searches
    width: int = 32
    batch: int = 128
    lr: float = 0.01
    steps: int = 200
    target: float = 0.85


class Encoder(nn.Module):
    """normalize(project(mean over words of ReLU(transform(embed(word))))), (N, width)"""

    def __init__(self, width: int):
        super().__init__()
        self.embed = nn.Embedding(len(WORDS), width)
        self.transform = nn.Linear(width, 2 * width)
        self.project = nn.Linear(2 * width, width)

    def forward(self, sentences: list[str]) -> tt.Tensor:
        words = tt.tensor([[WORDS.index(word) for word in s.split()] for s in sentences])  # (N, L)
        pooled = F.relu(self.transform(self.embed(words))).mean(dim=1)
        return F.normalize(self.project(pooled), dim=-1)


class VectorDatabase:
    """Vectors (N, D) of length 1 in cells, and a text for each."""

    def __init__(self, vectors: tt.Tensor, texts: list[str], cells: int):
        self.centres = k_means(vectors, cells)  # (cells, D)
        self.vectors, self.texts = vectors, texts
        self.cell_of = (vectors @ self.centres.T).argmax(dim=1)  # (N)

    def add(self, vectors: tt.Tensor, texts: list[str]) -> None:
        """Add vectors; the centres stay the same."""
        self.vectors, self.texts = tt.cat([self.vectors, vectors]), self.texts + texts
        self.cell_of = tt.cat([self.cell_of, (vectors @ self.centres.T).argmax(dim=1)])

    def query(self, vector: tt.Tensor, k: int, probes: int) -> tt.Tensor:
        """The indices of the k nearest vectors in the `probes` nearest cells."""
        near = (self.centres @ vector).topk(min(probes, len(self.centres))).indices
        inside = tt.isin(self.cell_of, near).nonzero().squeeze(1)
        scores = self.vectors[inside] @ vector
        return inside[scores.topk(min(k, len(inside))).indices]

    def save(self, path: Path) -> None:
        tt.save(vars(self), path)

    @classmethod
    def load(cls, path: Path) -> VectorDatabase:
        made = cls.__new__(cls)
        vars(made).update(tt.load(path))
        return made


def k_means(vectors: tt.Tensor, count: int, rounds: int = 10) -> tt.Tensor:
    """Centres (count, D) of length 1, each in the direction of the mean of its vectors."""
    centres = vectors[tt.randperm(len(vectors))[:count]]
    for _ in range(rounds):
        member = F.one_hot((vectors @ centres.T).argmax(dim=1), len(centres)).float()  # (N, count)
        empty = member.sum(dim=0) == 0
        centres = tt.where(empty.unsqueeze(1), centres, F.normalize(member.T @ vectors, dim=-1))
    return centres


def train(encoder: Encoder, settings: Settings) -> None:
    """Train the encoder to place sentences with the same meaning close together."""
    loss_of = nn.CLIPLoss()
    optimizer = optim.Adam([*encoder.parameters(), *loss_of.parameters()], lr=settings.lr)
    with Progress(True, 0, settings.steps) as progress:
        for step in range(1, settings.steps + 1):
            meaning = meanings(settings.batch)
            said, again = put_into_words(meaning), put_into_words(meaning)
            loss = loss_of(encoder(said), encoder(again))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            progress.update(step, {"loss": loss.item()})


def recall(database: VectorDatabase, queries: tt.Tensor, probes: int) -> float:
    """The fraction of the exact nearest vectors that a query finds."""
    exact = (queries @ database.vectors.T).topk(NEAREST).indices.tolist()
    found = (database.query(query, NEAREST, probes).tolist() for query in queries)
    shared = sum(len(set(a) & set(b)) for a, b in zip(exact, found))
    return shared / (NEAREST * len(queries))


def main(settings: Settings) -> float:
    encoder, meaning = Encoder(settings.width), meanings(settings.sentences)
    texts, asked = put_into_words(meaning), put_into_words(meaning[:200])
    reached = {}
    for name in ("before training", "after training"):
        if name == "after training":
            train(encoder, settings)
        with tt.no_grad():
            vectors, queries = encoder(texts), encoder(asked)
        best = (queries @ vectors.T).argmax(dim=1)
        same = (meaning[best] == meaning[:200]).all(dim=1).float().mean().item()
        print(f"{name}: the nearest sentence means the same for {same:.1%} of the queries")
        reached[name] = same
    bars(settings.folder / "found.svg", reached, "The nearest sentence means the same", "share")

    half = len(texts) // 2
    database = VectorDatabase(vectors[:half], texts[:half], settings.cells)
    database.add(vectors[half:], texts[half:])
    database.save(settings.folder / "database.safetensors")
    database = VectorDatabase.load(settings.folder / "database.safetensors")
    for query, text in zip(queries[:3], asked):
        answers = database.query(query, 3, settings.probes).tolist()
        print(f"{text!r}:", *(f"    {database.texts[answer]}" for answer in answers), sep="\n")

    probes = [p for p in (1, 2, 4, 8, 16, 32, 64) if p <= settings.cells]
    curve = {"recall": (probes, [recall(database, queries, p) for p in probes])}
    title = f"The ten nearest of {len(texts)} that a look into a few of the cells finds"
    lines(settings.folder / "recall.svg", curve, title, f"of {settings.cells} cells", "recall")
    return recall(database, queries, settings.probes)


if __name__ == "__main__":
    run(main, Settings)
