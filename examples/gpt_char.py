"""A GPT learns to write, character by character, from a text file.

    python examples/gpt_char.py
    python examples/gpt_char.py --text shakespeare.txt --preset cpu
    python examples/gpt_char.py --steps 3000 --resume

Without --text it reads the text of Python's own `help()`. The result is the loss on the last
twentieth of the text, in nats per character. Samples show the effect of temperature, top-k and
top-p. --resume continues from the checkpoint in the folder.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, fields
from pathlib import Path

from harness import Example, run
from help_text import help_text

import nn
import nn.functional as F
import tinytensor as tt
from tinytensor import graph, optim
from tinytensor.train import Trainer
from tinytensor.utils.data import DataLoader, Dataset, Subset
from tinytensor.utils.tokenizers import CharTokenizer

PRESETS = {
    "small": {},
    "cpu": {"layers": 4, "heads": 4, "width": 128, "context": 64, "batch": 12, "lr": 1e-3,
            "steps": 2000, "target": 1.6},
}  # fmt: skip
WAYS = (
    {"temperature": 0.0},
    {"temperature": 0.8},
    {"temperature": 1.0, "top_k": 10},
    {"temperature": 1.0, "top_p": 0.9},
)


@dataclass
class Settings(Example):
    measure = "val_loss"
    lower_is_better = True
    quick_run = {"steps": 80, "letters": 100, "target": 3.2}
    choices = {"preset": tuple(PRESETS)}

    text: str = ""  # a file; by default the text of Python's help()
    preset: str = "small"  # given flags override it
    layers: int = 2
    heads: int = 4
    width: int = 64
    context: int = 64  # characters that the model sees at a time
    batch: int = 16
    lr: float = 0.003
    letters: int = 200  # of each sample
    prompt: str = "The "
    resume: bool = False
    steps: int = 600
    target: float = 2.1


def with_preset(settings: Settings) -> Settings:
    """Replace settings that are still at their defaults by those of the preset."""
    defaults = {field.name: field.default for field in fields(settings)}
    for name, value in PRESETS[settings.preset].items():
        if getattr(settings, name) == defaults[name]:
            setattr(settings, name, value)
    return settings


def read_text(settings: Settings) -> str:
    """The text to learn from; exits with one line if it cannot be used."""
    if not settings.text:
        return help_text()
    try:
        text = Path(settings.text).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        sys.exit(f"gpt_char: cannot read {settings.text} as UTF-8 text ({error})")
    if len(text) < 40 * settings.context:
        sys.exit(
            f"gpt_char: {settings.text} has {len(text)} characters, expected at least "
            f"{40 * settings.context}, forty times the context"
        )
    return text


class Windows(Dataset):
    """Every window of `context` characters, and as its target the window one character later."""

    def __init__(self, ids: tt.Tensor, context: int):
        self.ids, self.context = ids, context

    def __len__(self) -> int:
        return len(self.ids) - self.context

    def __getitem__(self, start: int) -> tuple[tt.Tensor, tt.Tensor]:
        stop = start + self.context
        return self.ids[start:stop], self.ids[start + 1 : stop + 1]


def loss(output: tuple[tt.Tensor, None], target: tt.Tensor) -> tt.Tensor:
    """Mean cross entropy of the logits (N, T, V) and the actual characters (N, T)."""
    return F.cross_entropy(output[0].flatten(0, 1), target.flatten())  # (N·T, V), (N·T)


def train(model: nn.GPT, ids: tt.Tensor, settings: Settings) -> Trainer:
    """Train with AdamW and a cosine schedule; validate on consecutive windows."""
    held_out = len(ids) // 20
    seen, unseen = (Windows(part, settings.context) for part in (ids[:-held_out], ids[-held_out:]))
    starts = range(0, len(unseen), settings.context)[:300]
    optimizer = optim.AdamW(model.parameters(), lr=settings.lr, betas=(0.9, 0.99), weight_decay=0.1)
    trainer = Trainer(
        model,
        optimizer,
        loss,
        DataLoader(seen, batch_size=settings.batch, shuffle=True),
        DataLoader(Subset(unseen, list(starts)), batch_size=50),
        scheduler=optim.lr_scheduler.CosineAnnealingLR(
            optimizer, max(settings.steps, 1), eta_min=settings.lr / 10
        ),
        clip_grad_norm=1.0,
        validate_every=250,
        folder=settings.folder,
        checkpoint_every=500,
        log_every=10,
    )
    trainer.fit(steps=settings.steps, resume=settings.resume)
    return trainer


def main(settings: Settings) -> float:
    settings = with_preset(settings)
    text = read_text(settings)
    tokenizer = CharTokenizer.train(text)
    unknown = sorted(set(settings.prompt) - set(text))
    if unknown or not settings.prompt:
        sys.exit(f"gpt_char: --prompt has {unknown}, expected one or more letters of the text")
    size = {"n_layer": settings.layers, "n_head": settings.heads, "n_embd": settings.width}
    model = nn.GPT(nn.GPTConfig(len(tokenizer), settings.context, **size))
    print(f"{len(text):,} characters, {len(tokenizer)} distinct")
    trainer = train(model, tt.tensor(tokenizer.encode(text)), settings)

    prompt = tt.tensor([tokenizer.encode(settings.prompt)])
    for way in WAYS:
        written = nn.generate(model, prompt, settings.letters, **way)
        print(f"\n--- {way}\n{tokenizer.decode(written[0])}")
    last = written[:, -min(24, settings.context) :]  # of the last sample
    names = [repr(tokenizer.decode([i]))[1:-1] for i in last[0, :-1].tolist()]
    path = settings.folder / "attention.html"
    graph.attention(model, (last[:, :-1], last[:, 1:]), path, tokens=names)
    return trainer.evaluate()["loss"]


if __name__ == "__main__":
    run(main, Settings)
