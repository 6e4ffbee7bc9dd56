"""Forecasting a series: circular convolutions, a mixer of frequencies, the strongest queries."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class TokenEmbedding(nn.Module):
    def __init__(self, c_in, d_model):
        super().__init__()
        padding = 1 if torch.__version__ >= "1.5.0" else 2  # circular padding was once one-sided
        self.conv = nn.Conv1d(
            c_in, d_model, 3, padding=padding, padding_mode="circular", bias=False
        )
        nn.init.kaiming_normal_(self.conv.weight, mode="fan_in", nonlinearity="leaky_relu")

    def forward(self, x):
        return self.conv(x.permute(0, 2, 1)).transpose(1, 2)


class FourierMixer(nn.Module):
    """A linear map of the lowest frequencies above 0, in real and imaginary parts."""

    def __init__(self, dim, modes):
        super().__init__()
        self.modes = modes
        self.real = nn.Parameter(torch.rand(dim, dim, modes) / dim)
        self.imag = nn.Parameter(torch.rand(dim, dim, modes) / dim)

    def product(self, x, w):
        x = x if torch.is_complex(x) else torch.complex(x, torch.zeros_like(x))
        w = w if torch.is_complex(w) else torch.complex(w, torch.zeros_like(w))
        real = torch.einsum("bi,io->bo", x.real, w.real) - torch.einsum("bi,io->bo", x.imag, w.imag)
        imag = torch.einsum("bi,io->bo", x.real, w.imag) + torch.einsum("bi,io->bo", x.imag, w.real)
        return torch.complex(real, imag)

    def forward(self, x):
        length = x.size(1)
        spectrum = torch.fft.rfft(x.transpose(1, 2), dim=-1)
        out = torch.zeros(x.size(0), x.size(2), length // 2 + 1, dtype=torch.cfloat)
        weights = torch.complex(self.real, self.imag)
        for i in range(self.modes):
            out[:, :, i + 1] = self.product(spectrum[:, :, i + 1], weights[:, :, i])
        return torch.fft.irfft(out, n=length).transpose(1, 2)


class StrongQueries(nn.Module):
    """Attention for the `top` queries that differ most over the keys; the mean for the others."""

    def __init__(self, dim, top):
        super().__init__()
        self.top = top
        self.qkv = nn.Linear(dim, 3 * dim)

    def forward(self, x):
        batch, length, dim = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(dim)
        spread = scores.max(-1)[0] - torch.div(scores.sum(-1), length)
        top = spread.topk(self.top, sorted=False)[1].sort(-1)[0]
        rows = torch.arange(batch)[:, None]
        attention = torch.softmax(scores[rows, top, :], dim=-1)
        context = v.mean(dim=-2).unsqueeze(-2).expand(batch, length, dim).clone()
        context[rows, top, :] = torch.matmul(attention, v).type_as(context)
        return context


class Smooth(nn.Conv1d):
    """A convolution whose kernels sum to 1."""

    def _conv_forward(self, input, weight, bias):
        return super()._conv_forward(input, weight.softmax(dim=-1), bias)


class Forecaster(nn.Module):
    def __init__(self, c_in, dim, horizon):
        super().__init__()
        self.embedding = TokenEmbedding(c_in, dim)
        self.mixer, self.attention = FourierMixer(dim, 4), StrongQueries(dim, 5)
        self.smooth = Smooth(dim, dim, 5, padding=2, padding_mode="replicate", groups=dim)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, c_in)
        self.horizon = horizon

    @torch.compiler.disable
    def forward(self, x):
        mean, std = x.mean(1, keepdim=True).detach(), x.std(1, keepdim=True, unbiased=False) + 1e-5
        h = self.embedding((x - mean) / std)
        trend = self.smooth(h.transpose(1, 2)).transpose(1, 2)
        h = self.norm(h - trend + self.mixer(h) + self.attention(h))
        return (self.head(F.gelu(h) + trend) * std + mean)[:, -self.horizon :, :]


def make():
    return Forecaster(3, 8, 6)


def train(model, folder):
    t = torch.arange(0, 24, dtype=torch.float32)[None, :, None]
    x = torch.sin(t / 4 + torch.rand(4, 1, 3)) + 0.1 * torch.randn(4, 24, 3)
    y = torch.sin(t[:, :6] / 4 + torch.rand(4, 1, 3))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=6)
    losses = []
    with torch.random.fork_rng():
        for _ in range(4):
            optimizer.zero_grad()
            loss = nn.HuberLoss()(model(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
    with torch.no_grad():
        torch.testing.assert_close(model(x), model(x))
    return {"losses": losses, "forecast": model(x).detach()}
