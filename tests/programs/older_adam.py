"""A masked language model, trained by an optimiser from the time before keyword arguments."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import clip_grad_norm_
from torch.optim import Optimizer


def warmup_linear(x, warmup):
    return x / warmup if x < warmup else 1.0 - x


class WarmupAdam(Optimizer):
    """Adam without bias correction, with decoupled decay and a linear schedule."""

    def __init__(self, params, lr, warmup, total, decay=0.01, max_norm=1.0):
        super().__init__(params, dict(lr=lr, warmup=warmup, total=total, decay=decay,
                                      betas=(0.9, 0.99), eps=1e-6, max_norm=max_norm))  # fmt: skip

    def step(self, closure=None):
        loss = None if closure is None else closure()
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                grad = p.grad.data
                state = self.state[p]
                if len(state) == 0:
                    state["step"] = 0
                    state["m"] = torch.zeros_like(p.data)
                    state["v"] = torch.zeros_like(p.data)
                m, v = state["m"], state["v"]
                clip_grad_norm_(p, group["max_norm"])
                m.mul_(beta1).add_(1 - beta1, grad)
                v.mul_(beta2).addcmul_(1 - beta2, grad, grad)
                rate = group["lr"] * warmup_linear(state["step"] / group["total"], group["warmup"])
                if group["decay"] > 0:
                    p.data.add_(-rate * group["decay"], p.data)
                p.data.addcdiv_(-rate, m, v.sqrt().add_(group["eps"]))
                state["step"] += 1
        return loss


def gelu(x):
    return x * 0.5 * (1.0 + torch.erf(x / math.sqrt(2.0)))


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(dim, dim) for _ in range(3))
        self.out = nn.Linear(dim, dim)
        self.heads = heads

    def forward(self, x, mask):
        q, k, v = (self.split(f(x)) for f in (self.q, self.k, self.v))
        scores = torch.baddbmm(
            0.0, torch.zeros(q.size(0), q.size(1), q.size(1)), 1 / math.sqrt(q.size(2)),
            q, k.transpose(1, 2),
        )  # fmt: skip
        scores -= 10000.0 * (1.0 - mask[:, None, :].float()).repeat_interleave(self.heads, 0)
        mixed = F.softmax(scores, -1).bmm(v)
        n, t, d = x.shape
        return self.out(mixed.view(n, self.heads, t, -1).transpose(1, 2).reshape(n, t, d))

    def split(self, x):
        n, t, d = x.size()
        x = x.view(n, t, self.heads, d // self.heads).transpose(1, 2)
        return x.reshape(n * self.heads, t, -1)


class Bert(nn.Module):
    def __init__(self, vocab=20, dim=12, heads=3, length=8):
        super().__init__()
        self.word = nn.Embedding(vocab, dim)
        self.place = nn.Embedding(length, dim)
        self.attention = Attention(dim, heads)
        self.up, self.down = nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.bias = nn.Parameter(torch.zeros(vocab))

    def forward(self, x, mask, masked):
        places = torch.arange(x.size(1)).unsqueeze(0).expand_as(x)
        h = self.word(x) + self.place(places)
        h = self.norm1(h + self.attention(h, mask))
        h = self.norm2(h + self.down(gelu(self.up(h))))
        h = torch.gather(h, 1, masked[:, :, None].expand(-1, -1, h.size(-1)))
        return torch.addmm(1.0, self.bias, 1.0, h.flatten(0, 1), self.word.weight.t())


def make():
    model = Bert()
    for p in model.parameters():
        if p.dim() > 1:
            p.data.normal_(0, 0.2)
    return model


def train(model, folder):
    decayed = [p for n, p in model.named_parameters() if "norm" not in n and "bias" not in n]
    others = [p for n, p in model.named_parameters() if "norm" in n or "bias" in n]
    optimizer = WarmupAdam([{"params": decayed}, {"params": others, "decay": 0.0}],
                           lr=0.02, warmup=0.2, total=30)  # fmt: skip
    losses = []
    for _ in range(6):
        x = torch.randint(1, 20, (4, 8))
        mask = torch.ones(4, 8)
        mask[1, 6:] = 0
        masked = torch.stack([torch.randperm(6)[:2] for _ in range(4)])
        labels = x.gather(1, masked).view(-1)
        hidden = x.scatter(1, masked, 0)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(hidden, mask, masked), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    moments = [optimizer.state[p]["v"] for p in others]
    return [losses, moments]
