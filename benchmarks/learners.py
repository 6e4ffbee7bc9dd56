"""One training step of programs as learners write them, with many small ops and small batches.

Each function takes the library and returns the step, as in models.py. `PROGRAMS` lists them, with
those of learners_pictures.py; learners_run.py times them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from learners_pictures import conv_mixer, lenet, resnet, small_alexnet, step_of, unet
from models import Step


def logistic_regression(lib: Any) -> Step:
    """784 → 10, batch 100, SGD."""
    model = lib.nn.Linear(784, 10)
    criterion = lib.nn.CrossEntropyLoss()
    images, labels = lib.randn(100, 28, 28), lib.randint(0, 10, (100,))
    optimizer = lib.optim.SGD(model.parameters(), lr=0.001)
    return step_of(optimizer, lambda: criterion(model(images.reshape(-1, 28 * 28)), labels))


def packed_bi_lstm(lib: Any) -> Step:
    """A sentiment classifier: two bidirectional LSTM layers over packed sentences, batch 32."""
    nn = lib.nn

    class Classifier(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(500, 64, padding_idx=0)
            self.rnn = nn.LSTM(64, 64, num_layers=2, bidirectional=True, dropout=0.5)
            self.fc = nn.Linear(128, 1)

        def forward(self, text: Any, lengths: Any) -> Any:
            packed = nn.utils.rnn.pack_padded_sequence(self.embedding(text), lengths)
            _, (hidden, _) = self.rnn(packed)
            return self.fc(lib.cat((hidden[-2], hidden[-1]), dim=1)).squeeze(1)

    model = Classifier()
    text = lib.randint(1, 500, (40, 32))
    lengths = lib.tensor(sorted((8 + i for i in range(32)), reverse=True))
    labels = lib.randint(0, 2, (32,)).float()
    optimizer = lib.optim.Adam(model.parameters())
    criterion = nn.BCEWithLogitsLoss()
    return step_of(optimizer, lambda: criterion(model(text, lengths), labels))


def char_rnn(lib: Any) -> Step:
    """A character RNN by cells, one step at a time: width 64, 30 letters, batch 16."""
    nn = lib.nn
    cell, head = nn.RNNCell(40, 64), nn.Linear(64, 40)
    x, y = lib.randn(30, 16, 40), lib.randint(0, 40, (30, 16))
    parameters = [*cell.parameters(), *head.parameters()]
    optimizer = lib.optim.Adam(parameters, lr=1e-3)

    def loss_of() -> Any:
        hidden, loss = lib.zeros(16, 64), 0
        for t in range(30):
            hidden = cell(x[t], hidden)
            loss = loss + nn.functional.cross_entropy(head(hidden), y[t])
        return loss / 30

    return step_of(optimizer, loss_of)


def attention_by_hand(lib: Any) -> Step:
    """A GPT of 3 layers with one small module per head: width 64, context 32, batch 16."""
    nn, F = lib.nn, lib.nn.functional
    width, context, heads = 64, 32, 4

    class Head(nn.Module):
        def __init__(self, size: int) -> None:
            super().__init__()
            self.key = nn.Linear(width, size, bias=False)
            self.query = nn.Linear(width, size, bias=False)
            self.value = nn.Linear(width, size, bias=False)
            self.register_buffer("tril", lib.tril(lib.ones(context, context)))

        def forward(self, x: Any) -> Any:
            _, T, C = x.shape
            k, q = self.key(x), self.query(x)
            wei = q @ k.transpose(-2, -1) * C**-0.5
            wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
            return F.softmax(wei, dim=-1) @ self.value(x)

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.heads = nn.ModuleList([Head(width // heads) for _ in range(heads)])
            self.proj = nn.Linear(width, width)
            self.ffwd = nn.Sequential(
                nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width)
            )
            self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)

        def forward(self, x: Any) -> Any:
            h = self.ln1(x)
            x = x + self.proj(lib.cat([head(h) for head in self.heads], dim=-1))
            return x + self.ffwd(self.ln2(x))

    class GPT(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens = nn.Embedding(65, width)
            self.positions = nn.Embedding(context, width)
            self.blocks = nn.Sequential(*[Block() for _ in range(3)])
            self.ln_f, self.lm_head = nn.LayerNorm(width), nn.Linear(width, 65)

        def forward(self, idx: Any, targets: Any) -> Any:
            x = self.tokens(idx) + self.positions(lib.arange(idx.shape[1]))
            logits = self.lm_head(self.ln_f(self.blocks(x)))
            B, T, C = logits.shape
            return F.cross_entropy(logits.view(B * T, C), targets.view(B * T))

    model = GPT()
    idx, targets = lib.randint(0, 65, (16, context)), lib.randint(0, 65, (16, context))
    return step_of(lib.optim.AdamW(model.parameters(), lr=1e-3), lambda: model(idx, targets))


def deep_q(lib: Any) -> Step:
    """A step of Q-learning: 4-128-128-2, batch 128, a target network that follows."""
    nn, F = lib.nn, lib.nn.functional

    def net() -> Any:
        return nn.Sequential(
            nn.Linear(4, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 2)
        )

    policy, target = net(), net()
    target.load_state_dict(policy.state_dict())
    states, actions = lib.randn(128, 4), lib.randint(0, 2, (128, 1))
    following, rewards = lib.randn(128, 4), lib.ones(128)
    mask = lib.randint(0, 10, (128,)) > 0
    optimizer = lib.optim.AdamW(policy.parameters(), lr=1e-4, amsgrad=True)

    def step() -> Any:
        values = policy(states).gather(1, actions)
        later = lib.zeros(128)
        with lib.no_grad():
            later[mask] = target(following[mask]).max(1).values
        loss = F.smooth_l1_loss(values, (later * 0.99 + rewards).unsqueeze(1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(policy.parameters(), 100)
        optimizer.step()
        old, new = target.state_dict(), policy.state_dict()
        for key in new:
            old[key] = new[key] * 0.005 + old[key] * 0.995
        target.load_state_dict(old)
        return loss

    return step


def vae(lib: Any) -> Step:
    """A variational autoencoder, 784-400-20, batch 128."""
    nn, F = lib.nn, lib.nn.functional
    fc1, fc21, fc22 = nn.Linear(784, 400), nn.Linear(400, 20), nn.Linear(400, 20)
    fc3, fc4 = nn.Linear(20, 400), nn.Linear(400, 784)
    model = nn.ModuleList([fc1, fc21, fc22, fc3, fc4])
    x = lib.rand(128, 784)

    def loss_of() -> Any:
        h = F.relu(fc1(x))
        mu, logvar = fc21(h), fc22(h)
        std = lib.exp(0.5 * logvar)
        z = mu + lib.randn_like(std) * std
        recon = lib.sigmoid(fc4(F.relu(fc3(z))))
        bce = F.binary_cross_entropy(recon, x, reduction="sum")
        return bce - 0.5 * lib.sum(1 + logvar - mu.pow(2) - logvar.exp())

    return step_of(lib.optim.Adam(model.parameters(), lr=1e-3), loss_of)


def gan_with_penalty(lib: Any) -> Step:
    """The critic's step of a WGAN with gradient penalty: 784-256-128-1, batch 64."""
    nn = lib.nn
    critic = nn.Sequential(
        nn.Linear(784, 256), nn.LeakyReLU(0.2), nn.Linear(256, 128), nn.LeakyReLU(0.2),
        nn.Linear(128, 1),
    )  # fmt: skip
    real, fake = lib.randn(64, 784), lib.randn(64, 784)

    def loss_of() -> Any:
        alpha = lib.rand(64, 1)
        between = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
        score = critic(between)
        gradients = lib.autograd.grad(
            score, between, lib.ones_like(score), create_graph=True, retain_graph=True
        )[0]
        penalty = ((gradients.norm(2, dim=1) - 1) ** 2).mean()
        return critic(fake).mean() - critic(real).mean() + 10 * penalty

    return step_of(lib.optim.Adam(critic.parameters(), lr=1e-4, betas=(0.5, 0.9)), loss_of)


def graph_network(lib: Any) -> Step:
    """Two graph convolutions by index_add over 2,000 edges, 500 nodes, 64 features."""
    nn, F = lib.nn, lib.nn.functional
    first, second = nn.Linear(64, 32), nn.Linear(32, 7)
    model = nn.ModuleList([first, second])
    x, labels = lib.randn(500, 64), lib.randint(0, 7, (500,))
    row, col = lib.randint(0, 500, (2000,)), lib.randint(0, 500, (2000,))
    degree = lib.bincount(col, minlength=500).clamp(min=1).float().unsqueeze(1)

    def spread(h: Any) -> Any:
        return lib.zeros_like(h).index_add(0, col, h[row]) / degree

    def loss_of() -> Any:
        h = F.dropout(F.relu(spread(first(x))), 0.5, training=True)
        return F.nll_loss(F.log_softmax(spread(second(h)), dim=1), labels)

    return step_of(lib.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4), loss_of)


def regression_by_hand(lib: Any) -> Step:
    """A polynomial fitted by the tensors alone, without modules: 2,000 points."""
    x = lib.linspace(-math.pi, math.pi, 2000)
    y = lib.sin(x)
    weights = [lib.randn((), requires_grad=True) for _ in range(4)]

    def step() -> Any:
        a, b, c, d = weights
        loss = (a + b * x + c * x**2 + d * x**3 - y).pow(2).sum()
        loss.backward()
        with lib.no_grad():
            for w in weights:
                w -= 1e-6 * w.grad
                w.grad = None
        return loss

    return step


PROGRAMS: dict[str, Callable[[Any], Step]] = {
    "logistic regression": logistic_regression,
    "regression by hand": regression_by_hand,
    "LeNet": lenet,
    "ConvMixer": conv_mixer,
    "AlexNet": small_alexnet,
    "ResNet": resnet,
    "U-Net": unet,
    "packed bi-LSTM": packed_bi_lstm,
    "RNN by cells": char_rnn,
    "attention by hand": attention_by_hand,
    "Q-learning": deep_q,
    "VAE": vae,
    "WGAN-GP": gan_with_penalty,
    "graph network": graph_network,
}
