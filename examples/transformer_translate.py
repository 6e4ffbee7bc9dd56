"""A transformer translates dates as people write them into ISO dates. This is `make demo`.

    python examples/transformer_translate.py
    python examples/transformer_translate.py --sentence "Sunday, 20 Jul 1969"

"the 3rd of March, 1998" → "1998-03-03". The encoder reads words, digits and punctuation; the
decoder writes digit by digit, and attends to year, month and day in the sentence. The result is the
fraction of unseen dates that are correct to the last digit. index.html links to all pages.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from dates import vocabulary, words_of, written_dates
from demo_page import Translation, write_pages
from harness import Example, run

import nn
import nn.functional as F
import tinytensor as tt
from tinytensor import optim
from tinytensor.train import Trainer
from tinytensor.utils.data import DataLoader, TensorDataset

SPECIAL = ["<pad>", "<start>", "<end>"]
PAD, START, END = range(3)
ISO_LENGTH = len("<YYYY-MM-DD>")  # with start and end


@dataclass
class Settings(Example):
    measure = "exact"
    quick_run = {"steps": 250, "samples": 4000, "width": 32, "layers": 1, "batch": 32,
                 "lr": 0.01, "validate_every": 125, "target": 0.3}  # fmt: skip

    sentence: str = "the 3rd of March, 1998"  # whose attention is shown
    samples: int = 20000  # to learn from
    width: int = 64
    heads: int = 4
    layers: int = 2  # of the encoder, and of the decoder
    batch: int = 64
    lr: float = 0.003
    beams: int = 4
    validate_every: int = 100
    steps: int = 1000
    target: float = 0.99


class Words:
    """Converts sentences and ISO dates to token ids, and ids back to text."""

    def __init__(self) -> None:
        self.source = SPECIAL + vocabulary()
        self.target = SPECIAL + list("0123456789-")
        self.source_ids = {word: i for i, word in enumerate(self.source)}
        self.target_ids = {sign: i for i, sign in enumerate(self.target)}

    def sentences(self, texts: list[str]) -> tt.Tensor:
        """Ids (N, S), padded at the end to the longest sentence."""
        ids = [tt.tensor([self._id(word) for word in words_of(text)]) for text in texts]
        return nn.utils.rnn.pad_sequence(ids, batch_first=True, padding_value=PAD)

    def _id(self, word: str) -> int:
        if word not in self.source_ids:
            sys.exit(f"transformer_translate: got {word!r}, expected a date such as 3 March 1998")
        return self.source_ids[word]

    def dates(self, texts: list[str]) -> tt.Tensor:
        """Ids (N, 12): start, ten characters, end."""
        return tt.tensor([[START, *(self.target_ids[c] for c in text), END] for text in texts])

    def text(self, ids: tt.Tensor) -> str:
        """The text of ids (T), without special tokens."""
        signs = [self.target[i] for i in ids.tolist()]
        return "".join(sign for sign in signs if sign not in SPECIAL)


def dataset(words: Words, count: int, unseen: bool) -> TensorDataset:
    """(sentence, date without its end, date without its start) of random dates."""
    sentences, dates = zip(*written_dates(count, unseen))
    y = words.dates(list(dates))
    return TensorDataset(words.sentences(list(sentences)), y[:, :-1], y[:, 1:])


def loss(logits: tt.Tensor, target: tt.Tensor) -> tt.Tensor:
    """Mean cross entropy of logits (N, T, V) and ids (N, T)."""
    return F.cross_entropy(logits.flatten(0, 1), target.flatten())  # (N·T, V), (N·T)


def exact(logits: tt.Tensor, target: tt.Tensor) -> tt.Tensor:
    """The fraction of dates with every token correct.

    These are exactly the dates that greedy search translates correctly: it reads its own output,
    and here each token is the most probable one after the correct ones.
    """
    return (logits.argmax(dim=-1) == target).all(dim=1).float().mean()


def train(model: nn.Module, words: Words, settings: Settings) -> Trainer:
    """Train with teacher forcing: the decoder reads the correct date and predicts each token."""
    optimizer = optim.AdamW(model.parameters(), lr=settings.lr, betas=(0.9, 0.98))
    seen, unseen = (dataset(words, n, flag) for n, flag in ((settings.samples, 0), (500, 1)))
    trainer = Trainer(
        model,
        optimizer,
        loss,
        DataLoader(seen, batch_size=settings.batch, shuffle=True, drop_last=True),
        DataLoader(unseen, batch_size=250),
        validate_every=settings.validate_every,
        scheduler=optim.lr_scheduler.OneCycleLR(optimizer, settings.lr, settings.steps + 1),
        metrics={"exact": exact},
        clip_grad_norm=1.0,
        log_every=10,
        watch=True,
    )
    trainer.fit(steps=settings.steps)
    return trainer


def translate(model: nn.Seq2SeqTransformer, words: Words, beams: int) -> list[Translation]:
    """Translate ten unseen dates, by greedy and by beam search."""
    sentences, dates = zip(*written_dates(10, unseen=True))
    src = words.sentences(list(sentences))
    greedy, beam = (model.generate(src, START, END, ISO_LENGTH, beams=b) for b in (1, beams))
    rows = zip(sentences, map(words.text, greedy), map(words.text, beam), dates)
    return [Translation(*row) for row in rows]


def main(settings: Settings) -> float:
    words = Words()
    src = words.sentences([settings.sentence])  # exits here if a word is unknown
    model = nn.Seq2SeqTransformer(
        len(words.source), len(words.target), settings.width, settings.heads,
        settings.layers, settings.layers, dim_feedforward=2 * settings.width, dropout=0.0,
        norm_first=True, max_len=64, pad=PAD,
    )  # fmt: skip
    trainer = train(model, words, settings)
    reached = trainer.evaluate(DataLoader(dataset(words, 2000, unseen=True), batch_size=250))

    model.eval()
    translations = translate(model, words, settings.beams)
    print(f"{'written':46}  {'greedy':10}  beam of {settings.beams}")
    for t in translations:
        print(f"{t.written:46}  {t.greedy:10}  {t.beam:10}  {'' if t.right else '✗ ' + t.date}")

    date = words.text(model.generate(src, START, END, ISO_LENGTH)[0])
    tgt = words.dates([date])
    print(f"\n{settings.sentence} → {date}")
    write_pages(
        settings.folder, model, trainer, translations, reached["exact"],
        (src, tgt[:, :-1], tgt[:, 1:]), (words_of(settings.sentence), ["<start>", *date]), loss,
    )  # fmt: skip
    print(f"open {settings.folder / 'index.html'} in a browser")
    return reached["exact"]


if __name__ == "__main__":
    run(main, Settings)
