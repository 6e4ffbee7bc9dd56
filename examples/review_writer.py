"""A GPT that writes reviews: the starting point for learning from a reader's choices.

model = learn_language(width=48, steps=150, batch=64, lr=0.003)
ids = write(model, 5)                    # (5, ≤ LENGTH); reviews.words_of(ids) are the words
log_probabilities(model, ids)            # how likely each of them was
"""

from __future__ import annotations

from collections.abc import Callable

import reviews

import nn
import tinytensor as tt
from tinytensor import optim
from tinytensor.train.progress import Progress


def learn_language(width: int, steps: int, batch: int, lr: float) -> nn.GPT:
    """A GPT of two layers, trained on `steps` batches of reviews."""
    config = nn.GPTConfig(len(reviews.WORDS), reviews.LENGTH, n_layer=2, n_head=4, n_embd=width)
    model = nn.GPT(config)

    def loss() -> tt.Tensor:
        ids = reviews.ids_of([reviews.review() for _ in range(batch)])
        targets = ids[:, 1:].masked_fill(~reviews.is_answer(ids, prompt=1), -1)
        return model(ids[:, :-1], targets)[1]

    fit("language", model, loss, steps, lr)
    return model


def take_step(optimizer: optim.Optimizer, loss: tt.Tensor) -> None:
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def fit(
    name: str, model: nn.Module, loss_of: Callable[[], tt.Tensor], steps: int, lr: float
) -> None:
    """Minimise a loss for `steps` steps, each on a new batch."""
    optimizer = optim.AdamW(model.parameters(), lr=lr)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, max(steps, 1))
    with Progress(True, 0, steps) as progress:
        for step in range(1, steps + 1):
            loss = loss_of()
            take_step(optimizer, loss)
            schedule.step()
            progress.update(step, {name: loss.item()})


def write(model: nn.GPT, count: int) -> tt.Tensor:
    """Reviews (count, ≤ LENGTH), sampled word by word."""
    prompts = reviews.prompts(count)
    new = reviews.LENGTH - prompts.shape[1]
    return nn.generate(model, prompts, new, temperature=1.0, stop=reviews.STOP)


def log_probabilities(model: nn.GPT, ids: tt.Tensor) -> tt.Tensor:
    """log p of each word after the first, (N, T − 1), given those before it."""
    logits = model(ids[:, :-1])[0]
    return logits.log_softmax(dim=-1).gather(2, ids[:, 1:].unsqueeze(2)).squeeze(2)


__all__ = ["fit", "learn_language", "log_probabilities", "take_step", "write"]
