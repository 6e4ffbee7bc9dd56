"""Recurrent networks translate, with attention and without: long sentences need it.

    python examples/brnn_attention.py
    python examples/brnn_attention.py --longest 8

Sentences such as "the red house and the old car" become French: "la maison rouge et la voiture
vieille". Adjectives follow their noun, articles agree with it. A bidirectional GRU reads the
source. Without attention the decoder gets only its last states, of the same size for every
sentence; with attention it looks at all states at each step, and the alignment picture shows where.
The result is the word accuracy with attention on the longest sentences.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from harness import Example, run
from plots import heat_map, lines

import nn
import nn.functional as F
import tinytensor as tt
from tinytensor import optim
from tinytensor.train.progress import Progress

# English: (French, feminine)
NOUNS = {"house": ("maison", True), "car": ("voiture", True), "dog": ("chien", False),
         "cat": ("chat", False), "flower": ("fleur", True), "tree": ("arbre", False),
         "table": ("table", True), "book": ("livre", False)}  # fmt: skip
# English: (masculine, feminine)
ADJECTIVES = {"red": ("rouge", "rouge"), "green": ("vert", "verte"), "black": ("noir", "noire"),
              "white": ("blanc", "blanche"), "old": ("vieux", "vieille"),
              "small": ("petit", "petite")}  # fmt: skip
PAD, BEGIN, END = 0, 1, 2
SOURCE = ["<pad>", "<begin>", "<end>", "the", "and", *NOUNS, *ADJECTIVES]
FRENCH = {word for pair in ADJECTIVES.values() for word in pair} | {w for w, _ in NOUNS.values()}
TARGET = ["<pad>", "<begin>", "<end>", "le", "la", "et", *sorted(FRENCH)]


@dataclass
class Settings(Example):
    quick_run = {"steps": 100, "longest": 2, "target": 0.5}

    longest: int = 5  # phrases in a sentence; each is three words, joined by "and"
    width: int = 48
    batch: int = 48
    lr: float = 0.005
    steps: int = 500
    target: float = 0.95


def sentence(phrases: int, rng: random.Random) -> tuple[list[str], list[str]]:
    """A random sentence: its English words and its French words."""
    english, french = [], []
    for number in range(phrases):
        noun, adjective = rng.choice([*NOUNS]), rng.choice([*ADJECTIVES])
        word, feminine = NOUNS[noun]
        english += ["and"] * (number > 0) + ["the", adjective, noun]
        article = "la" if feminine else "le"
        french += ["et"] * (number > 0) + [article, word, ADJECTIVES[adjective][feminine]]
    return english, french


def batch(count: int, phrases: int, rng: random.Random) -> tuple[tt.Tensor, tt.Tensor]:
    """Ids of sentences of one length: (count, S), and (count, T) including begin and end."""
    pairs = [sentence(phrases, rng) for _ in range(count)]
    source = [[SOURCE.index(word) for word in english] for english, _ in pairs]
    target = [[BEGIN, *(TARGET.index(word) for word in french), END] for _, french in pairs]
    return tt.tensor(source), tt.tensor(target)


def train(name: str, model: nn.Seq2SeqRNN, settings: Settings) -> None:
    """Train the model; each batch has sentences of a random length."""
    rng = random.Random(settings.seed)
    optimizer = optim.Adam(model.parameters(), lr=settings.lr)
    scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, max(settings.steps, 1))
    with Progress(True, 0, settings.steps) as progress:
        for step in range(settings.steps):
            source, target = batch(settings.batch, rng.randint(1, settings.longest), rng)
            logits = model(source, target[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            progress.update(step + 1, {"model": name, "loss": loss.item()})


def translate(model: nn.Seq2SeqRNN, source: tt.Tensor, length: int) -> tuple[tt.Tensor, list]:
    """Greedy translations (N, length) of source (N, S), and the weights (N, S) at each step."""
    with tt.no_grad():
        memory = model.encode(source)
        state, token = model.initial_state(memory), tt.full((len(source),), BEGIN)
        tokens, maps = [], []
        for _ in range(length):
            logits, state, weights = model.decode_step(token, state, memory)
            token = logits.argmax(dim=-1)  # (N, vocabulary) → (N)
            tokens.append(token)
            maps.append(weights)
    return tt.stack(tokens, dim=1), maps


def accuracy(model: nn.Seq2SeqRNN, phrases: int) -> float:
    """The fraction of correct words in new sentences."""
    source, target = batch(200, phrases, random.Random(f"test {phrases}"))
    guesses, _ = translate(model, source, target.shape[1] - 1)
    return (guesses == target[:, 1:]).float().mean().item()


def draw_alignment(model: nn.Seq2SeqRNN, settings: Settings) -> None:
    phrases = min(settings.longest, 3)
    english, french = sentence(phrases, random.Random(settings.seed))
    source = tt.tensor([[SOURCE.index(word) for word in english]])
    guesses, maps = translate(model, source, len(french) + 1)
    words = [TARGET[token] for token in guesses[0].tolist()]
    print(f"{' '.join(english)}  →  {' '.join(words)}")
    weights = tt.cat(maps, dim=0)  # (T, S): a row for each French word
    title = "Where the decoder looks: French rows, English columns"
    heat_map(settings.folder / "alignment.svg", weights, words, english, title)


def main(settings: Settings) -> float:
    counts = range(1, settings.longest + 1)
    by_length = {}
    for name, attention in (("with attention", True), ("without", False)):
        tt.manual_seed(settings.seed)
        sizes = {"embed_dim": settings.width, "hidden_size": settings.width}
        model = nn.Seq2SeqRNN(len(SOURCE), len(TARGET), **sizes, attention=attention)
        train(name, model, settings)
        reached = [accuracy(model, phrases) for phrases in counts]
        by_length[name] = ([4 * phrases - 1 for phrases in counts], reached)
        print(f"{name}: accuracy by length {', '.join(f'{share:.3f}' for share in reached)}")
        if attention:
            draw_alignment(model, settings)
    title = "Words right in new sentences"
    lines(settings.folder / "length.svg", by_length, title, "words in the sentence", "accuracy")
    return by_length["with attention"][1][-1]


if __name__ == "__main__":
    run(main, Settings)
