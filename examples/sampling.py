"""From next-word scores to a word: greedy, temperature, top-k, top-p, beams, inverse CDF.

    python examples/sampling.py
    python examples/sampling.py --temperature 2 --top-k 4

The model is a table of how often each word follows another. So everything can be computed: the
distribution of each sampling method, and the most probable sentence, which greedy search misses.
The result is the largest total variation distance between sampled and expected distributions: the
fraction of samples that would have to change.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from harness import Example, run
from plots import bars, heat_map

import nn
import nn.functional as F
import tinytensor as tt
from nn.generation.sampling import apply_temperature, top_k_filter, top_p_filter

FOLLOWS = {  # how many times in ten a word follows another
    "<start>": {"the": 6, "a": 4},
    "the": {"cat": 3, "dog": 3, "bird": 2, "sun": 2},
    "a": {"cat": 9, "dog": 1},
    "cat": {"sat": 5, "slept": 3, "ran": 1, "flew": 1},
    "dog": {"ran": 4, "sat": 3, "slept": 3},
    "bird": {"flew": 8, "sat": 2},
    "sun": {"rose": 10},
    **{verb: {".": 10} for verb in ("sat", "slept", "ran", "flew", "rose")},
    ".": {".": 10},
}
WORDS = list(FOLLOWS)
START, CAT, STOP = (WORDS.index(word) for word in ("<start>", "cat", "."))
LENGTH = 4  # words of a sentence, its full stop included
NUMBERS = (0.65, 0.35, 0.7, 0.5)  # fixed "random" numbers for the inverse CDF


@dataclass
class Settings(Example):
    measure = "distance"
    lower_is_better = True
    quick_run = {"steps": 2000, "target": 0.05}

    temperature: float = 0.5
    top_k: int = 2
    top_p: float = 0.85
    beams: int = 3
    steps: int = 50000  # words to draw with each method
    target: float = 0.01


class Table(nn.Module):
    """logits = log of how often each word follows: a language model with a context of one word."""

    def __init__(self) -> None:
        super().__init__()
        counts = [[FOLLOWS[word].get(after, 0) for after in WORDS] for word in WORDS]
        self.next = nn.Embedding.from_pretrained(tt.tensor(counts).float().log())  # 0 → −∞

    def forward(self, idx: tt.Tensor) -> tt.Tensor:
        return self.next(idx)  # (N, T) → (N, T, V)


def text(ids: tt.Tensor) -> str:
    """The text of ids (T), without the start."""
    return " ".join(WORDS[i] for i in ids.tolist() if i != START)


def probability(model: Table, ids: tt.Tensor) -> float:
    """p(w₁)·p(w₂ | w₁)· … of a sentence (T), which begins with the start."""
    p = model(ids[:-1]).softmax(dim=-1)  # (T − 1, V)
    return p.gather(1, ids[1:].unsqueeze(1)).prod().item()


def draw_words(model: Table, settings: Settings) -> float:
    """Draw the word after "cat" with each method; return the largest distance."""
    logits = model(tt.tensor([CAT]))[0]  # (V,)
    ways: dict[str, tuple[dict, tt.Tensor]] = {
        "greedy": ({"temperature": 0.0}, top_k_filter(logits, 1)),
        "as it is": ({"temperature": 1.0}, logits),
        f"temperature {settings.temperature:g}": (
            {"temperature": settings.temperature},
            apply_temperature(logits, settings.temperature),
        ),
        f"top-k {settings.top_k}": (
            {"temperature": 1.0, "top_k": settings.top_k},
            top_k_filter(logits, settings.top_k),
        ),
        f"top-p {settings.top_p:g}": (
            {"temperature": 1.0, "top_p": settings.top_p},
            top_p_filter(logits, settings.top_p),
        ),
    }
    prompt = tt.full((max(settings.steps, 1), 1), CAT)
    verbs = [WORDS.index(verb) for verb in FOLLOWS["cat"]]
    distances, rows = [], []
    for name, (options, kept) in ways.items():
        drawn = nn.generate(model, prompt, 1, **options)[:, 1]  # (N, 2) → (N,)
        share = tt.bincount(drawn, minlength=len(WORDS)) / len(drawn)
        expected = F.softmax(kept, dim=-1)
        distances.append((share - expected).abs().sum().item() / 2)
        rows.append(share[verbs])
        shares = "  ".join(f"{WORDS[v]} {share[v]:.3f} ({expected[v]:.3f})" for v in verbs)
        print(f"{name:16} {shares}")
    title = "What comes after “cat”, by the way of drawing"
    heat_map(settings.folder / "ways.svg", tt.stack(rows), list(ways), list(FOLLOWS["cat"]), title)
    return max(distances)


def with_given_numbers(model: Table) -> None:
    """Inverse CDF: draw the first word whose cumulative probability exceeds the number."""
    start = tt.tensor([[START]])
    drawn = nn.generate(model, start, LENGTH, temperature=1.0, uniforms=NUMBERS)[0]
    print("\ninverse CDF, with given numbers")
    for before, number, after in zip(drawn.tolist(), NUMBERS, drawn.tolist()[1:]):
        p = model(tt.tensor(before)).softmax(dim=-1)
        sums = zip(WORDS, p.cumsum(dim=0).tolist(), p.tolist())
        ladder = "  ".join(f"{word} < {total:.1f}" for word, total, share in sums if share)
        print(f"  after {WORDS[before]:8} {ladder}:  {number} → {WORDS[after]}")


def search_sentences(model: Table, settings: Settings) -> None:
    """Show that the most probable sentence does not start with the most probable word."""
    start = tt.tensor([[START]])
    every = itertools.product(range(len(WORDS)), repeat=LENGTH - 1)
    likeliest = max(probability(model, tt.tensor([START, *ids, STOP])) for ids in every)
    found = {"greedy": nn.generate(model, start, LENGTH, stop=STOP)[0]}
    for beams in range(2, settings.beams + 1):
        found[f"beam of {beams}"] = nn.generate(model, start, LENGTH, beams=beams, stop=STOP)[0]
    print(f"\nthe most probable sentence has probability {likeliest:.3f}")
    shown = {}
    for name, ids in found.items():
        shown[f"{name}: {text(ids)}"] = probability(model, ids)
        print(f"  {name:10} {probability(model, ids):.3f}  {text(ids)}")
    bars(settings.folder / "search.svg", shown, "Sentences that were found", "probability")


def main(settings: Settings) -> float:
    model = Table()
    distance = draw_words(model, settings)
    with_given_numbers(model)
    search_sentences(model, settings)
    return distance


if __name__ == "__main__":
    run(main, Settings)
