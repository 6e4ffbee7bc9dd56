"""A VQ-VAE: a codebook kept by moving averages, straight-through gradients, an optimiser of its own."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.functional import norm
from torch.optim.optimizer import Optimizer


def is_distributed():
    return torch.distributed.is_available() and torch.distributed.is_initialized()


class Quantize(nn.Module):
    def __init__(self, dim, n_embed, decay=0.9, eps=1e-5):
        super().__init__()
        self.dim, self.n_embed, self.decay, self.eps = dim, n_embed, decay, eps
        embed = torch.randn(dim, n_embed)
        self.register_buffer("embed", embed)
        self.register_buffer("cluster_size", torch.zeros(n_embed))
        self.register_buffer("embed_avg", embed.clone())

    def forward(self, input):
        flatten = input.reshape(-1, self.dim)
        dist = (
            flatten.pow(2).sum(1, keepdim=True)
            - 2 * flatten @ self.embed
            + self.embed.pow(2).sum(0, keepdim=True)
        )
        _, embed_ind = (-dist).max(1)
        embed_onehot = F.one_hot(embed_ind, self.n_embed).type(flatten.dtype)
        embed_ind = embed_ind.view(*input.shape[:-1])
        quantize = self.embed_code(embed_ind)

        if self.training:
            embed_onehot_sum = embed_onehot.sum(0)
            embed_sum = flatten.transpose(0, 1) @ embed_onehot
            if is_distributed():
                torch.distributed.all_reduce(embed_sum)
            self.cluster_size.data.mul_(self.decay).add_(embed_onehot_sum, alpha=1 - self.decay)
            self.embed_avg.data.mul_(self.decay).add_(embed_sum.detach(), alpha=1 - self.decay)
            n = self.cluster_size.sum()
            cluster_size = (self.cluster_size + self.eps) / (n + self.n_embed * self.eps) * n
            self.embed.data.copy_(self.embed_avg / cluster_size.unsqueeze(0))

        diff = (quantize.detach() - input).pow(2).mean()
        quantize = input + (quantize - input).detach()
        return quantize, diff, embed_ind

    def embed_code(self, embed_id):
        return F.embedding(embed_id, self.embed.transpose(0, 1))


class ResBlock(nn.Module):
    def __init__(self, in_channel, channel):
        super().__init__()
        self.conv = nn.Sequential(
            nn.ReLU(),
            nn.Conv2d(in_channel, channel, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(channel, in_channel, 1),
        )

    @torch.compiler.disable
    def forward(self, input):
        out = self.conv(input)
        out += input
        return out


class VQVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(1, 6, 4, stride=2, padding=1), ResBlock(6, 4))
        self.quantize_conv = nn.Conv2d(6, 3, 1)
        self.quantize = Quantize(3, 8)
        self.dec = nn.Sequential(
            nn.Conv2d(3, 6, 3, padding=1), ResBlock(6, 4), nn.ReLU(inplace=True),
            nn.ConvTranspose2d(6, 1, 4, stride=2, padding=1),
        )  # fmt: skip

    def forward(self, input):
        quant = self.quantize_conv(self.enc(input)).permute(0, 2, 3, 1)
        quant, diff, ids = self.quantize(quant)
        return self.dec(quant.permute(0, 3, 1, 2)), diff.unsqueeze(0), ids


class ForeachLion(Optimizer):
    """Sign of an averaged gradient, one op for all parameters at once."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            lr, wd, (beta1, beta2) = group["lr"], group["weight_decay"], group["betas"]
            params = [p for p in group["params"] if p.grad is not None]
            grads = [p.grad for p in params]
            for p in params:
                if len(self.state[p]) == 0:
                    self.state[p]["exp_avg"] = torch.zeros_like(p)
            averages = [self.state[p]["exp_avg"] for p in params]
            torch._foreach_mul_(params, 1.0 - lr * wd)
            updates = [t.clone() for t in averages]
            torch._foreach_lerp_(updates, grads, 1.0 - beta1)
            # softsign in place of sign: comparable where a gradient is 0 but for rounding
            sizes = torch._foreach_add(torch._foreach_abs(updates), 1e-2)
            torch._foreach_div_(updates, sizes)
            torch._foreach_add_(params, updates, alpha=-lr)
            torch._foreach_lerp_(averages, grads, 1.0 - beta2)
        return loss


def make():
    return VQVAE()


def train(model, folder):
    optimizer = ForeachLion(model.parameters(), lr=1e-3, weight_decay=1e-2)
    criterion = nn.MSELoss()
    img = torch.rand(4, 1, 8, 8)
    losses = []
    for _ in range(3):
        with torch.profiler.record_function("step"):

            def closure():
                optimizer.zero_grad()
                out, latent_loss, _ = model(img)
                loss = criterion(out, img) + 0.25 * latent_loss.mean()
                loss.backward()
                return loss

            losses.append(optimizer.step(closure).item())
    model.eval()
    with torch.no_grad():
        out, latent_loss, ids = model(img)
    return losses + [norm(out), latent_loss, ids, model.quantize.cluster_size]
