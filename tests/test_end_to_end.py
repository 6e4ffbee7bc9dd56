"""Whole models, from random weights to a task that is solved."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import nn
import nn.functional as F
import tinytensor as tt
from tinytensor.optim.lr_scheduler import WarmupCosineLR
from tinytensor.train import Trainer
from tinytensor.utils.data import DataLoader, TensorDataset, random_split

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Kernels on one thread: other tests may run beside these."""
    before = tt.get_num_threads()
    tt.set_num_threads(1)
    yield
    tt.set_num_threads(before)


def fit(
    model: nn.Module, lr: float, steps: int, train_data: DataLoader, loss: Any = None,
    **settings: Any,
) -> Trainer:  # fmt: skip
    """Train with AdamW: the learning rate goes up for a tenth of the steps, then down a cosine."""
    optimizer = tt.optim.AdamW(model.parameters(), lr=lr)
    schedule = WarmupCosineLR(optimizer, steps // 10, steps)
    trainer = Trainer(
        model, optimizer, loss, train_data, scheduler=schedule, progress=False, **settings
    )
    trainer.fit(steps=steps)
    return trainer


# ------------------------------------------------------------------------------------------
# An encoder-decoder reverses sequences
# ------------------------------------------------------------------------------------------

PAD, BOS, EOS, FIRST = 0, 1, 2, 3
SYMBOLS, SHORTEST, LONGEST = 10, 4, 8


def sequences_and_reverses(n: int, rng: np.random.Generator) -> tuple[tt.Tensor, tt.Tensor]:
    """src (n, LONGEST): sequences of several lengths, with padding, no two alike.
    tgt (n, LONGEST + 2): their reverses, between BOS and EOS."""
    src = np.full((n, LONGEST), PAD)
    tgt = np.full((n, LONGEST + 2), PAD)
    seen = set()
    while len(seen) < n:
        sequence = rng.integers(FIRST, FIRST + SYMBOLS, rng.integers(SHORTEST, LONGEST + 1))
        row, length = len(seen), len(sequence)
        seen.add(tuple(sequence))
        if len(seen) > row:
            src[row, :length] = sequence
            tgt[row, : length + 2] = [BOS, *sequence[::-1], EOS]
    return tt.tensor(src), tt.tensor(tgt)


class Reverser(nn.Module):
    """The loss of a translator that is shown the tokens before each one (teacher forcing)."""

    def __init__(self, translator: nn.Seq2SeqTransformer):
        super().__init__()
        self.translator = translator

    def forward(self, src: tt.Tensor, tgt: tt.Tensor) -> tt.Tensor:
        logits = self.translator(src, tgt[:, :-1])  # (N, T, V)
        return F.cross_entropy(logits.flatten(0, 1), tgt[:, 1:].flatten(), ignore_index=PAD)


def learn_to_reverse(seed: int) -> float:
    """The share of unseen sequences whose reverse is right, to the last token."""
    tt.manual_seed(seed)
    rng = np.random.default_rng(seed)
    src, tgt = sequences_and_reverses(7_000, rng)
    train, unseen = random_split(TensorDataset(src, tgt), [6_000, 1_000])
    translator = nn.Seq2SeqTransformer(
        FIRST + SYMBOLS, FIRST + SYMBOLS, d_model=64, nhead=4, num_encoder_layers=1,
        num_decoder_layers=1, dim_feedforward=128, dropout=0.0, max_len=16, pad=PAD,
        norm_first=True,
    )  # fmt: skip
    loader = DataLoader(train, batch_size=64, shuffle=True)
    fit(Reverser(translator), 3e-3, 500, loader, clip_grad_norm=1.0)

    src, tgt = unseen[:]
    decoded = translator.generate(src, BOS, EOS, max_len=LONGEST + 2)
    tgt = tgt[:, : decoded.shape[1]]
    return float((decoded == tgt).all(dim=1).float().mean())


def test_an_encoder_decoder_learns_to_reverse_sequences() -> None:
    assert learn_to_reverse(seed=0) >= 0.99


# ------------------------------------------------------------------------------------------
# A GPT adds numbers of two digits
# ------------------------------------------------------------------------------------------

PLUS, EQUALS = 10, 11
IGNORED = -1  # the target where the loss does not look


def additions() -> tuple[tt.Tensor, tt.Tensor]:
    """tokens (10000, 9): every a + b = c, with the three digits of c in reverse, so that each digit
    needs only what is written before it.
    targets (10000, 8): the next token, where that is in the answer."""
    a, b = np.divmod(np.arange(10_000), 100)
    c = a + b
    plus, equals = np.full_like(a, PLUS), np.full_like(a, EQUALS)
    columns = [a // 10, a % 10, plus, b // 10, b % 10, equals, c % 10, c // 10 % 10, c // 100]
    tokens = np.stack(columns, axis=1)
    targets = tokens[:, 1:].copy()
    targets[:, :5] = IGNORED
    return tt.tensor(tokens), tt.tensor(targets)


class Adder(nn.Module):
    """The loss of a GPT."""

    def __init__(self, gpt: nn.GPT):
        super().__init__()
        self.gpt = gpt

    def forward(self, tokens: tt.Tensor, targets: tt.Tensor) -> tt.Tensor:
        _, loss = self.gpt(tokens[:, :-1], targets)
        return loss


def share_right(gpt: nn.GPT, pairs: Any) -> float:
    """The share of pairs whose sum is right, all three digits."""
    tokens, _ = pairs[:]
    answered = gpt.generate(tokens[:, :6], max_new_tokens=3, temperature=0)
    return float((answered == tokens).all(dim=1).float().mean())


def learn_to_add(seed: int) -> float:
    """The share of held-out pairs whose sum is right."""
    tt.manual_seed(seed)
    data = TensorDataset(*additions())
    train, validation, held_out = random_split(data, [8_000, 500, 1_500])
    config = nn.GPTConfig(vocab_size=12, block_size=9, n_layer=2, n_head=4, n_embd=64)
    gpt = nn.GPT(config)
    loader = DataLoader(train, batch_size=100, shuffle=True)
    for _ in range(4):  # rounds, each with a schedule of its own; one is mostly enough
        fit(Adder(gpt), 4e-3, 700, loader, clip_grad_norm=1.0)
        if share_right(gpt, validation) >= 0.995:
            break
    return share_right(gpt, held_out)


def test_a_gpt_learns_to_add() -> None:
    assert learn_to_add(seed=0) >= 0.99


# ------------------------------------------------------------------------------------------
# Networks tell pictures apart
# ------------------------------------------------------------------------------------------

SIZE = 12  # pixels


def pictures(n: int, rng: np.random.Generator) -> tuple[tt.Tensor, tt.Tensor]:
    """images (n, 1, SIZE, SIZE): a bar across, a bar down, a cross or a frame, with noise.
    kinds (n): which of them it is."""
    images = rng.normal(0, 0.15, (n, 1, SIZE, SIZE))
    kinds = rng.integers(0, 4, n)
    for image, kind in zip(images[:, 0], kinds):
        ink = rng.uniform(0.7, 1.3)
        top, left = rng.integers(1, SIZE - 6, 2)
        rows, columns = slice(top, top + 5), slice(left, left + 5)
        if kind in (0, 2):
            image[top + 2, columns] += ink
        if kind in (1, 2):
            image[rows, left + 2] += ink
        if kind == 3:
            image[rows, columns] += ink
            image[top + 1 : top + 4, left + 1 : left + 4] -= ink
    return tt.tensor(images.astype(np.float32)), tt.tensor(kinds)


def cnn() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1, bias=False),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1, bias=False),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(16, 4),
    )


def mlp() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(SIZE**2, 128), nn.ReLU(), nn.Linear(128, 4))


def accuracy(logits: tt.Tensor, kinds: tt.Tensor) -> tt.Tensor:
    return (logits.argmax(dim=1) == kinds).float().mean()


def learn_pictures(make_model: Callable, lr: float, epochs: int, seed: int) -> tuple[float, float]:
    """The accuracy on the pictures that were trained on, and on unseen ones."""
    tt.manual_seed(seed)
    rng = np.random.default_rng(seed)
    train = TensorDataset(*pictures(2_000, rng))
    unseen = DataLoader(TensorDataset(*pictures(1_000, rng)), batch_size=500)
    model = make_model()
    loader = DataLoader(train, batch_size=50, shuffle=True)
    steps = epochs * len(loader)
    trainer = fit(model, lr, steps, loader, F.cross_entropy, metrics={"accuracy": accuracy})
    return trainer.evaluate(loader)["accuracy"], trainer.evaluate(unseen)["accuracy"]


@pytest.mark.parametrize("make_model, lr, epochs", [(cnn, 1e-2, 8), (mlp, 3e-3, 20)],
                         ids=["batch-norm CNN", "MLP"])  # fmt: skip
def test_networks_fit_pictures(make_model: Callable, lr: float, epochs: int) -> None:
    on_seen, on_unseen = learn_pictures(make_model, lr, epochs, seed=0)
    assert on_seen >= 0.99 and on_unseen >= 0.95
