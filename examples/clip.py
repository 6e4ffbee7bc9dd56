"""CLIP: embeds pictures and captions in one space, in which matching pairs are close.

    python examples/clip.py
    python examples/clip.py --batch 96 --steps 800

A picture shows a shape of some colour, size and place; its caption describes it. A small
convolutional network reads pictures, a recurrent one captions. In each batch of pairs, a picture
should be closer to its caption than to all others, and a caption to its picture. A sixth of all
descriptions is held out of training: known words in new combinations.

The result is the retrieval accuracy among all descriptions, from picture to caption or from caption
to picture, whichever is lower.
"""

from __future__ import annotations

from dataclasses import dataclass

from captioned_shapes import DESCRIPTIONS, WORDS, as_numbers, caption, draw
from harness import Example, run
from plots import heat_map, images, lines

import nn
import tinytensor as tt
from tinytensor import optim
from tinytensor.train.progress import Progress


@dataclass
class Settings(Example):
    measure = "retrieval"
    quick_run = {"steps": 40, "target": 0.1}

    width: int = 32  # of the shared space
    batch: int = 48
    lr: float = 0.003
    steps: int = 350
    target: float = 0.85


class PictureTower(nn.Module):
    """(N, 3, 16, 16) → (N, width)"""

    def __init__(self, width: int):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 16, 4, stride=2, padding=1),  # 16 × 16 → 8 × 8
            nn.ReLU(),
            nn.Conv2d(16, 32, 4, stride=2, padding=1),  # 8 × 8 → 4 × 4
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(32 * 4 * 4, width),
        )

    def forward(self, pictures: tt.Tensor) -> tt.Tensor:
        return self.layers(pictures)


class TextTower(nn.Module):
    """Words (N, L) → (N, width): the last state of a recurrent network"""

    def __init__(self, width: int):
        super().__init__()
        self.words = nn.Embedding(len(WORDS), width)
        self.reader = nn.GRU(width, width, batch_first=True)
        self.project = nn.Linear(width, width)

    def forward(self, words: tt.Tensor) -> tt.Tensor:
        _, last = self.reader(self.words(words))  # (1, N, width)
        return self.project(last[0])


def main(settings: Settings) -> float:
    order = tt.randperm(len(DESCRIPTIONS)).tolist()
    unseen = order[: len(order) // 6]
    train = tt.stack([draw(DESCRIPTIONS[i]) for i in order[len(unseen) :] * 20])
    words = as_numbers([caption(DESCRIPTIONS[i]) for i in order[len(unseen) :]])  # (n, L)

    pictures, texts, clip_loss = (
        PictureTower(settings.width), TextTower(settings.width), nn.CLIPLoss()
    )  # fmt: skip
    model = nn.ModuleList([pictures, texts, clip_loss])
    optimizer = optim.Adam(model.parameters(), lr=settings.lr)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, max(settings.steps, 1))
    losses: list[float] = []
    with Progress(True, 0, settings.steps) as progress:
        for step in range(1, settings.steps + 1):
            chosen = tt.randperm(len(words))[: settings.batch]  # no description twice in a batch
            which = chosen + len(words) * tt.randint(20, chosen.shape)  # a picture of each
            loss = clip_loss(pictures(train[which]), texts(words[chosen]))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
            progress.update(step, {"loss": losses[-1]})
    if losses:
        curve = {"loss": (range(1, len(losses) + 1), losses)}
        lines(settings.folder / "loss.svg", curve, "Loss of both choices", "step", "loss")

    test = tt.stack([draw(description) for description in DESCRIPTIONS])
    captions = [caption(description) for description in DESCRIPTIONS]
    with tt.no_grad():
        similarity = clip_loss.similarity(pictures(test), texts(as_numbers(captions)))
    return evaluate(test, captions, similarity, unseen, settings)


def evaluate(
    test: tt.Tensor,
    captions: list[str],
    similarity: tt.Tensor,
    unseen: list[int],
    settings: Settings,
) -> float:
    """Retrieval both ways among all descriptions; similarity (pictures, captions)."""
    partner = tt.arange(len(captions))
    to_text, to_picture = similarity.argmax(dim=1), similarity.argmax(dim=0)
    ways = {"caption of a picture": to_text, "picture of a caption": to_picture}
    for name, best in ways.items():
        right = (best == partner).float()
        print(f"{name}: accuracy {right.mean():.3f}, {right[unseen].mean():.3f} on unseen ones")
    shown = unseen[:10]
    names = [captions[i].removeprefix("a ") for i in shown]
    cosine = similarity[shown][:, shown] / similarity.abs().max()
    title = "Similarity of unseen pictures (rows) and captions"
    heat_map(settings.folder / "similarity.svg", cosine, names, names, title)
    found = [captions[i].removeprefix("a ") for i in to_text[shown].tolist()]
    title = "Pictures of unseen descriptions, and the caption found for each"
    images(settings.folder / "pictures.svg", list(test[shown]), 5, found, title)
    return min((best == partner).float().mean().item() for best in ways.values())


if __name__ == "__main__":
    run(main, Settings)
