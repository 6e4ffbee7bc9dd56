"""Normalizing flows: coupling layers, an LU-parametrised mixing, actnorm, a spline, a base density."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import (
    Independent,
    MultivariateNormal,
    Normal,
    SigmoidTransform,
    TransformedDistribution,
    Uniform,
)


class MLP(nn.Module):
    def __init__(self, nin, nout, nh):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(nin, nh), nn.LeakyReLU(0.2), nn.Linear(nh, nh), nn.LeakyReLU(0.2),
            nn.Linear(nh, nout),
        )  # fmt: skip

    def forward(self, x):
        return self.net(x)


class ActNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.s = nn.Parameter(torch.zeros(1, dim))
        self.t = nn.Parameter(torch.zeros(1, dim))
        self.register_buffer("data_dep_init_done", torch.tensor(False))

    def forward(self, x):
        if not self.data_dep_init_done:
            self.s.data = (-torch.log(x.std(dim=0, keepdim=True))).detach()
            self.t.data = (-(x * self.s.exp()).mean(dim=0, keepdim=True)).detach()
            self.data_dep_init_done.fill_(True)
        return x * torch.exp(self.s) + self.t, torch.sum(self.s, dim=1)

    def backward(self, z):
        return (z - self.t) * torch.exp(-self.s)


class AffineHalf(nn.Module):
    def __init__(self, dim, parity, nh=8):
        super().__init__()
        self.parity = parity
        self.s_cond, self.t_cond = MLP(dim // 2, dim // 2, nh), MLP(dim // 2, dim // 2, nh)

    def forward(self, x):
        x0, x1 = x[:, ::2], x[:, 1::2]
        if self.parity:
            x0, x1 = x1, x0
        s = torch.tanh(self.s_cond(x0))
        z1 = torch.exp(s) * x1 + self.t_cond(x0)
        z0, z1 = (z1, x0) if self.parity else (x0, z1)
        return torch.stack([z0, z1], -1).flatten(1), torch.sum(s, dim=1)

    def backward(self, z):
        z0, z1 = z.unflatten(1, (-1, 2)).unbind(-1)
        if self.parity:
            z0, z1 = z1, z0
        x1 = (z1 - self.t_cond(z0)) * torch.exp(-torch.tanh(self.s_cond(z0)))
        z0, z1 = (x1, z0) if self.parity else (z0, x1)
        return torch.stack([z0, z1], -1).flatten(1)


class Invertible1x1Conv(nn.Module):
    def __init__(self, dim):
        super().__init__()
        q = torch.linalg.qr(torch.randn(dim, dim))[0]
        p, low, up = torch.lu_unpack(*torch.linalg.lu_factor(q))
        self.register_buffer("P", p)
        self.L = nn.Parameter(low)
        self.S = nn.Parameter(up.diag())
        self.U = nn.Parameter(torch.triu(up, diagonal=1))

    def _assemble_w(self):
        low = torch.tril(self.L, diagonal=-1) + torch.diag(torch.ones(self.L.shape[0]))
        return self.P @ low @ (torch.triu(self.U, diagonal=1) + torch.diag(self.S))

    def forward(self, x):
        return x @ self._assemble_w(), torch.sum(torch.log(torch.abs(self.S)))

    def backward(self, z):
        return z @ torch.inverse(self._assemble_w())


def searchsorted(bin_locations, inputs, eps=1e-6):
    edges = bin_locations.clone()
    edges[..., -1] += eps
    return torch.sum(inputs[..., None] >= edges, dim=-1) - 1


class LinearSpline(nn.Module):
    """A monotone piecewise linear map of [-B, B] in each dimension, the identity outside."""

    def __init__(self, dim, bins=5, bound=3.0):
        super().__init__()
        self.bound = bound
        self.heights = nn.Parameter(torch.randn(dim, bins))

    def forward(self, x):
        inside = (x >= -self.bound) & (x <= self.bound)
        u = ((x + self.bound) / (2 * self.bound)).clamp(0.0, 1.0)
        pdf = F.softmax(self.heights, dim=-1)
        cdf = F.pad(torch.cumsum(pdf, dim=-1), (1, 0), value=0.0)
        bins = pdf.shape[-1]
        edges = torch.linspace(0.0, 1.0, bins + 1).expand(*u.shape, bins + 1)
        idx = searchsorted(edges, u).clamp(0, bins - 1)[..., None]
        slope = pdf.expand(*u.shape, bins).gather(-1, idx)[..., 0] * bins
        start = cdf.expand(*u.shape, bins + 1).gather(-1, idx)[..., 0]
        v = start + (u - idx[..., 0].to(u.dtype) / bins) * slope
        z, log_det = x.clone(), torch.zeros_like(x)
        z[inside] = (v * 2 * self.bound - self.bound)[inside]
        log_det[inside] = torch.log(slope)[inside]
        return z, log_det.sum(1)


class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.flows = nn.ModuleList(
            [ActNorm(4), Invertible1x1Conv(4), AffineHalf(4, 0), AffineHalf(4, 1), LinearSpline(4)]
        )

    def forward(self, x):
        log_det = torch.zeros(x.shape[0])
        for flow in self.flows:
            x, ld = flow(x)
            log_det += ld
        return x, log_det

    def backward(self, z):
        for flow in self.flows[:-1][::-1]:
            z = flow.backward(z)
        return z


def make():
    return Flow()


def train(model, folder):
    logistic = TransformedDistribution(
        Uniform(torch.zeros(4), torch.ones(4)), SigmoidTransform().inv
    )
    priors = [
        MultivariateNormal(torch.zeros(4), torch.eye(4)),
        Independent(Normal(torch.zeros(4), torch.ones(4)), 1),
        Independent(logistic, 1),
    ]
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-5)
    x = torch.randn(16, 4) @ torch.tensor(
        [[1.0, 0.5, 0, 0], [0, 1, 0, 0.2], [0, 0, 2, 0], [0, 0, 0, 1]]
    )
    losses = []
    for prior in priors:
        zs, log_det = model(x)
        logprob = prior.log_prob(zs) + log_det
        loss = -torch.sum(logprob)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 50.0)
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        z, _ = Flow.forward(model, x)
        back = model.backward(z)
    return losses + [z, back]
