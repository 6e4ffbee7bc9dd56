"""Fourier transforms inside networks: FNet's mixing, a Fourier neural operator, rotary attention."""

import math

import numpy as np
import torch
import torch.fft
import torch.nn as nn
import torch.nn.functional as F


class FNetBlock(nn.Module):
    def forward(self, x):
        x = torch.fft.fft(torch.fft.fft(x, dim=-1), dim=-2).real
        return x


class PreNorm(nn.Module):
    def __init__(self, dim, fn):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fn = fn

    def forward(self, x, **kwargs):
        return self.fn(self.norm(x), **kwargs)


class FeedForward(nn.Module):
    def __init__(self, dim, hidden_dim):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, hidden_dim), nn.GELU(), nn.Linear(hidden_dim, dim))

    def forward(self, x):
        return self.net(x)


class FNet(nn.Module):
    def __init__(self, dim, depth, mlp_dim):
        super().__init__()
        self.layers = nn.ModuleList([])
        for _ in range(depth):
            pair = [PreNorm(dim, FNetBlock()), PreNorm(dim, FeedForward(dim, mlp_dim))]
            self.layers.append(nn.ModuleList(pair))

    def forward(self, x):
        for attn, ff in self.layers:
            x = attn(x) + x
            x = ff(x) + x
        return x


class SpectralConv2d(nn.Module):
    """2D Fourier layer. It does FFT, linear transform, and inverse FFT."""

    def __init__(self, in_channels, out_channels, modes1, modes2):
        super(SpectralConv2d, self).__init__()
        self.out_channels, self.modes1, self.modes2 = out_channels, modes1, modes2
        self.scale = 1 / (in_channels * out_channels)
        shape = (in_channels, out_channels, modes1, modes2)
        self.weights1 = nn.Parameter(self.scale * torch.rand(*shape, dtype=torch.cfloat))
        self.weights2 = nn.Parameter(self.scale * torch.rand(*shape, dtype=torch.cfloat))

    def compl_mul2d(self, input, weights):
        return torch.einsum("bixy,ioxy->boxy", input, weights)

    def forward(self, x):
        batchsize, m1, m2 = x.shape[0], self.modes1, self.modes2
        x_ft = torch.fft.rfft2(x)
        out_ft = torch.zeros(batchsize, self.out_channels, x.size(-2), x.size(-1) // 2 + 1,
                             dtype=torch.cfloat, device=x.device)  # fmt: skip
        out_ft[:, :, :m1, :m2] = self.compl_mul2d(x_ft[:, :, :m1, :m2], self.weights1)
        out_ft[:, :, -m1:, :m2] = self.compl_mul2d(x_ft[:, :, -m1:, :m2], self.weights2)
        return torch.fft.irfft2(out_ft, s=(x.size(-2), x.size(-1)))


class FNO2d(nn.Module):
    def __init__(self, modes, width):
        super().__init__()
        self.p = nn.Linear(3, width)
        self.conv0 = SpectralConv2d(width, width, modes, modes)
        self.w0 = nn.Conv2d(width, width, 1)
        self.q = nn.Linear(width, 1)

    def get_grid(self, shape, device):
        batchsize, size_x, size_y = shape[0], shape[1], shape[2]
        gridx = torch.tensor(np.linspace(0, 1, size_x), dtype=torch.float)
        gridx = gridx.reshape(1, size_x, 1, 1).repeat([batchsize, 1, size_y, 1])
        gridy = torch.tensor(np.linspace(0, 1, size_y), dtype=torch.float)
        gridy = gridy.reshape(1, 1, size_y, 1).repeat([batchsize, size_x, 1, 1])
        return torch.cat((gridx, gridy), dim=-1).to(device)

    def forward(self, x):
        x = torch.cat((x, self.get_grid(x.shape, x.device)), dim=-1)
        x = self.p(x).permute(0, 3, 1, 2)
        x = F.gelu(self.conv0(x) + self.w0(x))
        return self.q(x.permute(0, 2, 3, 1))


def precompute_freqs_cis(dim: int, end: int, theta: float = 10000.0):
    freqs = 1.0 / (theta ** (torch.arange(0, dim, 2)[: (dim // 2)].float() / dim))
    t = torch.arange(end, device=freqs.device)
    freqs = torch.outer(t, freqs).float()
    return torch.polar(torch.ones_like(freqs), freqs)


def reshape_for_broadcast(freqs_cis, x):
    ndim = x.ndim
    assert freqs_cis.shape == (x.shape[1], x.shape[-1])
    shape = [d if i == 1 or i == ndim - 1 else 1 for i, d in enumerate(x.shape)]
    return freqs_cis.view(*shape)


def apply_rotary_emb(xq, xk, freqs_cis):
    xq_ = torch.view_as_complex(xq.float().reshape(*xq.shape[:-1], -1, 2))
    xk_ = torch.view_as_complex(xk.float().reshape(*xk.shape[:-1], -1, 2))
    freqs_cis = reshape_for_broadcast(freqs_cis, xq_)
    xq_out = torch.view_as_real(xq_ * freqs_cis).flatten(3)
    xk_out = torch.view_as_real(xk_ * freqs_cis).flatten(3)
    return xq_out.type_as(xq), xk_out.type_as(xk)


class RotaryAttention(nn.Module):
    def __init__(self, dim, n_heads, max_len):
        super().__init__()
        self.n_heads, self.head_dim = n_heads, dim // n_heads
        self.wqkv = nn.Linear(dim, 3 * dim, bias=False)
        self.wo = nn.Linear(dim, dim, bias=False)
        self.freqs_cis = precompute_freqs_cis(self.head_dim, max_len)

    def forward(self, x):
        bsz, seqlen, dim = x.shape
        shape = (bsz, seqlen, self.n_heads, self.head_dim)
        xq, xk, xv = (t.view(*shape) for t in self.wqkv(x).split(split_size=dim, dim=-1))
        xq, xk = apply_rotary_emb(xq, xk, freqs_cis=self.freqs_cis[:seqlen])
        xq, xk, xv = (t.transpose(1, 2) for t in (xq, xk, xv))
        scores = torch.matmul(xq, xk.transpose(2, 3)) / math.sqrt(self.head_dim)
        mask = torch.full((seqlen, seqlen), float("-inf"))
        scores = scores + torch.triu(mask, diagonal=1)
        scores = F.softmax(scores.float(), dim=-1).type_as(xq)
        output = torch.matmul(scores, xv).transpose(1, 2).contiguous().view(bsz, seqlen, -1)
        return self.wo(output)


class LpLoss(object):
    def rel(self, x, y):
        n = x.size()[0]
        diff_norms = torch.norm(x.reshape(n, -1) - y.reshape(n, -1), 2, 1)
        return torch.mean(diff_norms / torch.norm(y.reshape(n, -1), 2, 1))

    def __call__(self, x, y):
        return self.rel(x, y)


def make():
    fno = FNO2d(modes=3, width=4)
    # the random numbers of `cfloat` are the library's own
    with torch.no_grad():
        for p in (fno.conv0.weights1, fno.conv0.weights2):
            real, imag = torch.randn(p.shape), torch.randn(p.shape)
            p.copy_(fno.conv0.scale * torch.complex(real, imag))
    return {"fnet": FNet(12, 2, 16), "fno": fno, "rotary": RotaryAttention(16, 2, 10)}


def train(models, folder):
    results = []
    x, y = torch.randn(4, 6, 12), torch.randn(4, 6, 12)
    optimizer = torch.optim.AdamW(models["fnet"].parameters(), lr=1e-3)
    for _ in range(3):
        optimizer.zero_grad()
        loss = F.mse_loss(models["fnet"](x), y)
        loss.backward()
        optimizer.step()
        results.append(loss.item())

    a, u, myloss = torch.rand(3, 8, 10, 1), torch.rand(3, 8, 10, 1), LpLoss()
    optimizer = torch.optim.Adam(models["fno"].parameters(), lr=1e-2, weight_decay=1e-4)
    for _ in range(3):
        optimizer.zero_grad()
        loss = myloss(models["fno"](a), u)
        loss.backward()
        optimizer.step()
        results.append(loss.item())
    results.append(torch.view_as_real(models["fno"].conv0.weights1.detach()))

    x = torch.randn(2, 7, 16, requires_grad=True)
    out = models["rotary"](x)
    out.square().sum().backward()
    signal = torch.sin(torch.linspace(0, 12.0, 32)) + 0.1 * torch.randn(32)
    power = torch.fft.rfft(signal, norm="ortho").abs() ** 2
    top = torch.fft.rfftfreq(32)[power.argmax()].item()
    return results + [out, x.grad, power, top]
