"""A residual flow: layers kept contractive by power iteration, the log-determinant as a series."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class ContractiveLinear(nn.Linear):
    """A linear layer whose largest singular value is at most `bound`."""

    def __init__(self, inputs, outputs, bound=0.9, steps=4):
        super().__init__(inputs, outputs)
        self.bound, self.steps = bound, steps
        with torch.no_grad():
            u = F.normalize(self.weight.new_empty(outputs).fill_(1.0), dim=0)
            v = F.normalize(self.weight.new_empty(inputs).fill_(1.0), dim=0)
        self.register_buffer("u", u)
        self.register_buffer("v", v)

    def estimated(self):
        u, v = self.u, self.v
        if self.training:
            with torch.no_grad():
                for _ in range(self.steps):
                    v = F.normalize(torch.mv(self.weight.t(), u), dim=0, out=v)
                    u = F.normalize(torch.mv(self.weight, v), dim=0, out=u)
            u, v = u.clone(), v.clone()
        sigma = torch.dot(u, torch.mv(self.weight, v))
        return self.weight / torch.max(torch.ones(1), sigma / self.bound)

    def forward(self, x):
        return F.linear(x, self.estimated(), self.bias)


class Residual(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.net = nn.Sequential(
            ContractiveLinear(dim, hidden), nn.ELU(), ContractiveLinear(hidden, dim)
        )

    def forward(self, x):
        """y = x + g(x), and log|det(I + dg/dx)| as a series of traces."""
        x = x.requires_grad_(True) if x.is_leaf else x
        g = self.net(x)
        noise = torch.randn_like(x)
        product, logdet = noise, torch.zeros(len(x))
        for k in range(1, 5):
            (product,) = torch.autograd.grad(g, x, product, create_graph=True)
            logdet = logdet + (-1) ** (k + 1) / k * (product * noise).sum(1)
        return x + g, logdet

    def inverse(self, y, iterations=20):
        x = y
        for _ in range(iterations):
            x = y - self.net(x)
        return x


def make():
    return nn.ModuleList([Residual(2, 8), Residual(2, 8)])


def train(model, folder):
    data = torch.randn(16, 2) * 0.5 + 1.0
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(3):
        z, total = data.clone(), 0.0
        for layer in model:
            z, logdet = layer(z)
            total = total + logdet
        loss = (0.5 * z.pow(2).sum(1) + math.log(2 * math.pi) - total).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        y = data + model[0].net(data)
        back = model[0].inverse(y)
    return losses, back, (back - data).abs().max().item() < 1e-2
