"""RLHF: a language model learns what a reader likes, from choices between two reviews.

    python examples/rlhf.py
    python examples/rlhf.py --beta 1

1. A GPT learns a small language of reviews: the reference (review_writer.py).
2. A reward model learns from pairs of which the reader chose one: loss −log σ(taken − other).
3. A copy of the reference, the policy, writes reviews and learns from their rewards (proximal
   policy optimisation), minus β times its distance: KL = E[log policy − log reference].

A second policy learns without β. Nothing keeps it close to its language: it ends with nearly the
same sentence for all nouns or, as with seed 0, with words that only the reward model likes. The
result is how often the reader prefers a review of the policy with β to one of the reference, or 0
if KL is above its limit.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import reviews
from harness import Example, run
from plots import lines
from review_writer import fit, learn_language, log_probabilities, take_step, write

import nn
import tinytensor as tt
from tinytensor import optim
from tinytensor.train.progress import Progress


@dataclass
class Settings(Example):
    measure = "preferred"
    quick_run = {"steps": 12, "language": 80, "pairs": 600, "lr": 0.002, "target": 0.55}

    width: int = 48
    language: int = 150  # training steps of the reference
    pairs: int = 4000  # that the reader judges
    beta: float = 0.2  # penalty for a nat of KL
    limit: float = 5.0  # of KL, in nats per review
    clip: float = 0.2  # limits the change of a probability in one step
    batch: int = 64
    lr: float = 0.001
    steps: int = 60  # of the policy
    target: float = 0.75


class RewardModel(nn.Module):
    """The reference with a single output instead of words, read at the full stop: (N, T) → (N)"""

    def __init__(self, reference: nn.GPT):
        super().__init__()
        self.gpt = copy.deepcopy(reference)
        self.gpt.head = nn.Linear(reference.config.n_embd, 1)

    def forward(self, ids: tt.Tensor) -> tt.Tensor:
        last = reviews.is_answer(ids, prompt=1).sum(dim=1, keepdim=True)  # (N, 1)
        return self.gpt(ids)[0].squeeze(2).gather(1, last).squeeze(1)  # (N, T, 1) → (N)


def learn_rewards(reference: nn.GPT, settings: Settings) -> RewardModel:
    """Learn from pairs of reviews of the same noun; a tenth of the pairs is for the test."""
    model, loss_of = RewardModel(reference), nn.PairwiseRewardLoss()
    first, second = (reviews.words_of(write(reference, settings.pairs)) for _ in range(2))
    pairs = [(a, b) if reviews.prefers(a, b) else (b, a) for a, b in zip(first, second)]
    taken, other = (reviews.ids_of(side) for side in zip(*pairs))  # (pairs, LENGTH)
    train = settings.pairs * 9 // 10

    def loss() -> tt.Tensor:
        batch = tt.randint(train, (settings.batch,))
        return loss_of(model(taken[batch]), model(other[batch]))

    fit("pairs", model, loss, 3 * train // settings.batch, settings.lr)  # each about three times
    with tt.no_grad():
        right = (model(taken[train:]) > model(other[train:])).float().mean()
    print(f"reward model: predicts {right:.3f} of the reader's new choices")
    return model


def policy_loss(new: tt.Tensor, old: tt.Tensor, advantage: tt.Tensor, clip: float) -> tt.Tensor:
    """−min(ratio·A, clamp(ratio)·A), ratio = p_new / p_old: no gain beyond the clamp"""
    ratio = (new - old).exp()
    return -tt.minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage)


History = dict[str, list[float]]


def optimise(
    reference: nn.GPT, reward: RewardModel, beta: float, settings: Settings
) -> tuple[nn.GPT, History]:
    """The policy, and the rewards, the reader's scores and KL at each step."""
    policy = copy.deepcopy(reference)
    optimizer = optim.AdamW(policy.parameters(), lr=settings.lr, weight_decay=0.0)
    history: History = {"reward model": [], "reader": [], "KL": []}
    with Progress(True, 0, settings.steps) as progress:
        for step in range(1, settings.steps + 1):
            ids = write(policy, settings.batch)
            answer = reviews.is_answer(ids)  # (N, T − 1)
            with tt.no_grad():
                old, before = (log_probabilities(model, ids) for model in (policy, reference))
                moved, rewards = (old - before) * answer, reward(ids)
            # the return of each word: the reward, minus β·KL from here on
            to_go = rewards.unsqueeze(1) - beta * moved.flip(1).cumsum(dim=1).flip(1)
            advantage = (to_go - to_go[answer].mean()) / to_go[answer].std()
            for _ in range(2):  # the same reviews, twice
                new = log_probabilities(policy, ids)
                take_step(optimizer, policy_loss(new, old, advantage, settings.clip)[answer].mean())
            scores = [reviews.score(words) for words in reviews.words_of(ids)]
            figures = (rewards.mean().item(), sum(scores) / len(ids), moved.sum().item() / len(ids))
            for values, figure in zip(history.values(), figures):
                values.append(figure)
            progress.update(step, {name: values[-1] for name, values in history.items()})
    return policy, history


@tt.no_grad()
def compare(policy: nn.GPT, reference: nn.GPT, count: int = 600) -> tuple[float, float]:
    """(how often the policy's review scores above the reference's, KL of a review)"""
    ids = write(policy, count)
    moved = log_probabilities(policy, ids) - log_probabilities(reference, ids)
    ours, theirs = (map(reviews.score, reviews.words_of(x)) for x in (ids, write(reference, count)))
    wins = sum((a > b) + (a == b) / 2 for a, b in zip(ours, theirs))
    return wins / count, moved[reviews.is_answer(ids)].sum().item() / count


def show(runs: dict[float, History], settings: Settings) -> None:
    """Draw the reward model's scores, the reader's scores and KL, with and without β."""
    steps = range(1, settings.steps + 1)
    curves = {
        f"{name}, β = {beta:g}": (steps, history[name])
        for beta, history in runs.items()
        for name in ("reward model", "reader")
    }
    title = "What the reward model gives for a review, and what the reader would"
    lines(settings.folder / "reward.svg", curves, title, "step", "score of a review")
    curves = {f"β = {beta:g}": (steps, history["KL"]) for beta, history in runs.items()}
    curves["limit"] = (steps, [settings.limit] * settings.steps)
    title = "How far the policy has moved away from the reference"
    lines(settings.folder / "kl.svg", curves, title, "step", "KL of a review, in nats")


def main(settings: Settings) -> float:
    lr = 3 * settings.lr  # a new model takes larger steps
    reference = learn_language(settings.width, settings.language, settings.batch, lr)
    reward = learn_rewards(reference, settings)
    runs = {}
    for beta in dict.fromkeys((0.0, settings.beta)):
        policy, runs[beta] = optimise(reference, reward, beta, settings)
        preferred, kl = compare(policy, reference)
        print(f"β = {beta:g}: preferred to the reference in {preferred:.3f} of cases, KL {kl:.2f}")
        for words in reviews.words_of(write(policy, 3)):
            print("   ", *words)
    if settings.steps:
        show(runs, settings)
    return preferred if kl <= settings.limit else 0.0


if __name__ == "__main__":
    run(main, Settings)
