"""One training step of small models other than GPT; the same code runs on PyTorch and tinytensor.

Each function takes the library, builds a model with fixed random data, and returns the step: zero
gradients, forward, backward, clip, optimiser. `MODELS` lists them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

Step = Callable[[], Any]  # does one step, and returns the loss


def training_step(lib: Any, model: Any, loss_of: Callable[[], Any], clip: float | None) -> Step:
    """zero_grad, loss, backward, clip to this norm, AdamW."""
    parameters = list(model.parameters())
    optimizer = lib.optim.AdamW(parameters, lr=1e-3)

    def step() -> Any:
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        if clip is not None:
            lib.nn.utils.clip_grad_norm_(parameters, clip)
        optimizer.step()
        return loss

    return step


def encoder_decoder(lib: Any) -> Step:
    """A transformer of 2+2 layers: width 128, 4 heads, 32 sequences of 32 → 32 tokens."""
    nn, F = lib.nn, lib.nn.functional
    lib.manual_seed(0)
    batch, length, width, words = 32, 32, 128, 64

    class Translator(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(words, width)
            self.position = nn.Embedding(length, width)
            self.transformer = nn.Transformer(width, 4, 2, 2, 4 * width, batch_first=True)
            self.head = nn.Linear(width, words)

        def forward(self, source: Any, target: Any) -> Any:
            places = self.position.weight
            x, y = self.embedding(source) + places, self.embedding(target) + places
            return self.head(self.transformer(x, y, tgt_mask=mask, tgt_is_causal=True))

    mask = nn.Transformer.generate_square_subsequent_mask(length)
    source = lib.randint(0, words, (batch, length))
    target = lib.randint(0, words, (batch, length + 1))
    model = Translator()

    def loss_of() -> Any:
        logits = model(source, target[:, :-1])  # (N, T, words)
        return F.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten())

    return training_step(lib, model, loss_of, clip=1.0)


def recurrent(kind: str, lib: Any) -> Step:
    """A language model of one layer, an LSTM or GRU: width 128, 32 sequences of 64 steps."""
    nn, F = lib.nn, lib.nn.functional
    lib.manual_seed(0)
    batch, length, width, words = 32, 64, 128, 64

    class LanguageModel(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(words, width)
            self.layer = getattr(nn, kind)(width, width, batch_first=True)
            self.head = nn.Linear(width, words)

        def forward(self, tokens: Any) -> Any:
            return self.head(self.layer(self.embedding(tokens))[0])

    tokens = lib.randint(0, words, (batch, length + 1))
    model = LanguageModel()

    def loss_of() -> Any:
        logits = model(tokens[:, :-1])  # (N, T, words)
        return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())

    return training_step(lib, model, loss_of, clip=1.0)


def cnn(lib: Any) -> Step:
    """Two convolutions with batch norm and pooling, on 64 images of 28×28."""
    nn, F = lib.nn, lib.nn.functional
    lib.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(0.25), nn.Linear(32 * 7 * 7, 10),
    )  # fmt: skip
    pictures, labels = lib.randn(64, 1, 28, 28), lib.randint(0, 10, (64,))
    return training_step(lib, model, lambda: F.cross_entropy(model(pictures), labels), clip=None)


def mlp(lib: Any) -> Step:
    """784-256-10 on batches of 128."""
    nn, F = lib.nn, lib.nn.functional
    lib.manual_seed(0)
    model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))
    x, labels = lib.randn(128, 784), lib.randint(0, 10, (128,))
    return training_step(lib, model, lambda: F.cross_entropy(model(x), labels), clip=None)


def mamba(lib: Any) -> Step:
    """One Mamba block: width 128, 8 sequences of 64 steps."""
    lib.manual_seed(0)
    # PyTorch has no Mamba block; `mamba_ssm` runs only on a GPU.
    model = lib.nn.Mamba(128) if lib.__name__ == "tinytensor" else mamba_of_primitives(lib, 128)
    x = lib.randn(8, 64, 128)
    return training_step(lib, model, lambda: (x + model(x)).square().mean(), clip=1.0)


def mamba_of_primitives(lib: Any, width: int) -> Any:
    """The block of nn/models/mamba.py in PyTorch's ops, with a loop over time for the scan."""
    nn, F = lib.nn, lib.nn.functional
    channels, states, rank = 2 * width, 16, width // 16

    class Mamba(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.in_proj = nn.Linear(width, 2 * channels, bias=False)
            self.conv1d = nn.Conv1d(channels, channels, 4, padding=3, groups=channels)
            self.x_proj = nn.Linear(channels, rank + 2 * states, bias=False)
            self.dt_proj = nn.Linear(rank, channels)
            numbers = lib.arange(1.0, states + 1)
            self.A_log = nn.Parameter(numbers.log().repeat(channels, 1))
            self.D = nn.Parameter(lib.ones(channels))
            self.out_proj = nn.Linear(channels, width, bias=False)

        def forward(self, input: Any) -> Any:
            # (N, L, 2·E) → (N, 2·E, L) → 2 × (N, E, L)
            x, z = self.in_proj(input).transpose(1, 2).chunk(2, dim=1)
            u = F.silu(self.conv1d(x)[..., : input.shape[1]]).transpose(1, 2)  # (N, L, E)
            delta, B, C = self.x_proj(u).split([rank, states, states], dim=-1)
            delta = F.softplus(self.dt_proj(delta))
            y = scan(u, delta, -self.A_log.exp(), B, C) + self.D * u
            return self.out_proj(y * F.silu(z.transpose(1, 2)))

    def scan(u: Any, delta: Any, A: Any, B: Any, C: Any) -> Any:
        """yₜ = Cₜ·hₜ, hₜ = exp(Δₜ·A)·hₜ₋₁ + Δₜ·Bₜ·uₜ"""
        decay = (delta.unsqueeze(-1) * A).exp()  # (N, L, E, S)
        inputs = (delta * u).unsqueeze(-1) * B.unsqueeze(2)  # (N, L, E, 1)·(N, L, 1, S)
        h, outputs = inputs[:, 0], []
        for t in range(u.shape[1]):
            h = inputs[:, t] if t == 0 else decay[:, t] * h + inputs[:, t]  # (N, E, S)
            outputs.append((h @ C[:, t].unsqueeze(-1)).squeeze(-1))  # (N, E, S)·(N, S, 1)
        return lib.stack(outputs, 1)  # (N, L, E)

    return Mamba()


MODELS: dict[str, Callable[[Any], Step]] = {
    "encoder-decoder": encoder_decoder,
    "LSTM": partial(recurrent, "LSTM"),
    "GRU": partial(recurrent, "GRU"),
    "CNN": cnn,
    "MLP": mlp,
    "Mamba": mamba,
}
