"""Characters, words or byte pairs? Three ways to cut a text into tokens, compared.

    python examples/tokenizers.py
    python examples/tokenizers.py --vocabulary 2000

The set of characters is small, but a text has many of them. Words are long, but their number grows
with every page, and one that is not in the vocabulary is lost. Byte-pair encoding starts from bytes
and merges the most frequent neighbours: the vocabulary has any size we like, and nothing is lost.

A small GPT learns from each kind of token, with the same number of tokens in each step. The loss of
a token depends on its length, so they are compared in bits per byte of unseen text; zlib is the
baseline. The result is that of byte pairs.
"""

from __future__ import annotations

import math
import zlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from harness import Example, run
from help_text import help_text
from plots import bars, lines

import nn
import tinytensor as tt
from tinytensor import optim
from tinytensor.train.progress import Progress
from tinytensor.utils.tokenizers import BPETokenizer, CharTokenizer, Tokenizer, WordTokenizer

UNKNOWN = "<unk>"
STRANGE = "naïve tokens, 日本語 🙂"  # with letters and words that are not in the text


@dataclass
class Settings(Example):
    measure = "bits_per_byte"
    lower_is_better = True
    quick_run = {"steps": 60, "letters": 100_000, "vocabulary": 400, "target": 4.0}

    letters: int = 400_000  # of the text, at most; the last twentieth is unseen
    vocabulary: int = 1000  # of words, and of byte pairs
    context: int = 64  # tokens that the model sees at a time
    width: int = 64
    batch: int = 16
    lr: float = 0.003
    steps: int = 400
    target: float = 2.5


def bytes_per_token(tokenizer: Tokenizer, text: str) -> float:
    return len(text.encode()) / len(tokenizer.encode(text))


def show_cuts(name: str, tokenizer: Tokenizer, unseen: str) -> None:
    """Print a line of text as tokens, and what decoding returns for unseen and strange text."""
    line = max(unseen[:2000].splitlines(), key=len)[:60]
    ids = tokenizer.encode(unseen)
    lost = sum(token not in tokenizer.ids for token in tokenizer.tokenize(unseen))
    back = "it decodes exactly" if tokenizer.decode(ids) == unseen else "it decodes with losses"
    print(f"\n{name}: {len(tokenizer)}, {bytes_per_token(tokenizer, unseen):.2f} bytes on average")
    print("  " + "|".join(tokenizer.tokenize(line)))
    print(f"  unseen text: {lost / len(ids):.1%} of its tokens are unknown, {back}")
    print(f"  {STRANGE} → {tokenizer.decode(tokenizer.encode(STRANGE))}")


def show_sizes(tokenizers: dict[str, Tokenizer], text: str, unseen: str, folder: Path) -> None:
    """Draw how the vocabulary grows with the text, and token length with the vocabulary."""
    lengths = [len(text) * share // 20 for share in range(1, 21)]
    growth = {
        "words": (lengths, [len(WordTokenizer.train(text[:n])) for n in lengths]),
        "byte pairs": (lengths, [len(tokenizers["byte pairs"])] * len(lengths)),
        "characters": (lengths, [len(CharTokenizer.train(text[:n])) for n in lengths]),
    }
    lines(folder / "growth.svg", growth, "Different tokens of a text", "letters read", "tokens")

    merges = tokenizers["byte pairs"].merges
    # Merges are in the order in which they were learned: a smaller vocabulary is a prefix.
    smaller = [BPETokenizer(merges[: len(merges) * share // 8]) for share in range(9)]
    sizes = [len(tokenizer) for tokenizer in smaller]
    curves = {
        "words": (sizes, [bytes_per_token(tokenizers["words"], unseen)] * len(sizes)),
        "byte pairs": (sizes, [bytes_per_token(tokenizer, unseen) for tokenizer in smaller]),
        "characters": (sizes, [bytes_per_token(tokenizers["characters"], unseen)] * len(sizes)),
    }
    title = "Bytes in a token of unseen text"
    lines(folder / "sizes.svg", curves, title, "bytes and byte pairs in the vocabulary", "bytes")


def train(name: str, ids: tt.Tensor, vocab_size: int, settings: Settings) -> nn.GPT:
    """A small GPT, trained for `steps` steps on random windows of the tokens ids (T)."""
    tt.manual_seed(settings.seed)
    model = nn.GPT(
        nn.GPTConfig(vocab_size, settings.context, n_layer=2, n_head=4, n_embd=settings.width)
    )
    optimizer = optim.AdamW(model.parameters(), lr=settings.lr, betas=(0.9, 0.99))
    schedule = optim.lr_scheduler.OneCycleLR(optimizer, settings.lr, settings.steps + 1)
    window = tt.arange(settings.context + 1)
    with Progress(True, 0, settings.steps) as progress:
        for step in range(1, settings.steps + 1):
            starts = tt.randint(len(ids) - settings.context, (settings.batch, 1))
            tokens = ids[starts + window]  # (batch, 1) + (context + 1) → (batch, context + 1)
            _, loss = model(tokens[:, :-1], tokens[:, 1:])
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            progress.update(step, {"tokens": name, "loss": loss.item()})
    return model.eval()


def bits_per_byte(model: nn.GPT, tokenizer: Tokenizer, text: str, unseen: str) -> float:
    """−log₂ p of unseen text, divided by its bytes.

    The model predicts only that a token is unknown. Spelling it out costs −log₂ of each letter's
    frequency in the training text.
    """
    ids, context = tt.tensor(tokenizer.encode(unseen)), model.config.block_size
    rows = (len(ids) - 1) // context
    inputs, targets = (ids[i : i + rows * context].reshape(rows, context) for i in (0, 1))
    with tt.no_grad():
        nats = model(inputs, targets)[1].item()  # mean per token
    lost = [t for t in tokenizer.tokenize(unseen) if t not in tokenizer.ids]
    counts = Counter(text)
    spelling = sum(math.log2(len(text) / max(counts[letter], 1)) for t in lost for letter in t)
    return (nats / math.log(2) * len(ids) + spelling) / len(unseen.encode())


def main(settings: Settings) -> float:
    text = help_text()[: settings.letters]
    text, unseen = text[: -len(text) // 20], text[-len(text) // 20 :]
    tokenizers = {
        "characters": CharTokenizer.train(text, unk=UNKNOWN),
        "words": WordTokenizer.train(text, settings.vocabulary, unk=UNKNOWN),
        "byte pairs": BPETokenizer.train(text, settings.vocabulary),
    }
    show_sizes(tokenizers, text, unseen, settings.folder)
    reached = {}
    for name, tokenizer in tokenizers.items():
        show_cuts(name, tokenizer, unseen)
        model = train(name, tt.tensor(tokenizer.encode(text)), len(tokenizer), settings)
        reached[name] = bits_per_byte(model, tokenizer, text, unseen)
        print(f"  a small GPT needs {reached[name]:.3f} bits per byte")
    packed = zlib.compress(text.encode() + unseen.encode(), level=9)
    before = zlib.compress(text.encode(), level=9)
    reached["zlib"] = 8 * (len(packed) - len(before)) / len(unseen.encode())
    print(f"\nzlib needs {reached['zlib']:.3f} bits per byte")
    title = f"Bits for each byte of unseen text, after {settings.steps} steps"
    bars(settings.folder / "bits_per_byte.svg", reached, title, "bits")
    return reached["byte pairs"]


if __name__ == "__main__":
    run(main, Settings)
