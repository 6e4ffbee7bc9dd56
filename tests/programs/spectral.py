"""Complex numbers in models: rotary positions by polar, FNet, a Fourier neural operator."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

# ---- rotary positions as a rotation of complex numbers


def precompute_freqs_cis(dim, end, theta=10000.0):
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
    def __init__(self, dim=16, heads=4, length=12):
        super().__init__()
        self.heads, self.head_dim = heads, dim // heads
        self.wq = nn.Linear(dim, dim, bias=False)
        self.wk = nn.Linear(dim, dim, bias=False)
        self.wv = nn.Linear(dim, dim, bias=False)
        self.wo = nn.Linear(dim, dim, bias=False)
        freqs = precompute_freqs_cis(self.head_dim, length)
        self.register_buffer("freqs_cis", freqs, persistent=False)

    def forward(self, x, start_pos=0):
        bsz, seqlen, _ = x.shape
        shape = (bsz, seqlen, self.heads, self.head_dim)
        xq, xk, xv = self.wq(x).view(*shape), self.wk(x).view(*shape), self.wv(x).view(*shape)
        xq, xk = apply_rotary_emb(xq, xk, self.freqs_cis[start_pos : start_pos + seqlen])
        xq, xk, xv = xq.transpose(1, 2), xk.transpose(1, 2), xv.transpose(1, 2)
        scores = torch.matmul(xq, xk.transpose(2, 3)) / math.sqrt(self.head_dim)
        mask = torch.full((seqlen, seqlen), float("-inf")).triu(1)
        output = torch.matmul(F.softmax(scores + mask, dim=-1), xv)
        return self.wo(output.transpose(1, 2).contiguous().view(bsz, seqlen, -1))


# ---- FNet: Fourier transforms in place of attention


class FourierTransform(nn.Module):
    def forward(self, x):
        return torch.fft.fft(torch.fft.fft(x, dim=-1), dim=-2).real


class FNetBlock(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.mix, self.norm1, self.norm2 = FourierTransform(), nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.ff = nn.Sequential(nn.Linear(dim, hidden), nn.GELU(), nn.Linear(hidden, dim))

    def forward(self, x):
        x = self.norm1(self.mix(x) + x)
        return self.norm2(self.ff(x) + x)


class FNet(nn.Module):
    def __init__(self, tokens=13, dim=8, depth=2, classes=3):
        super().__init__()
        self.embed = nn.Embedding(tokens, dim)
        self.blocks = nn.ModuleList([FNetBlock(dim, 16) for _ in range(depth)])
        self.head = nn.Linear(dim, classes)

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean(dim=1))


# ---- a Fourier neural operator


class SpectralConv2d(nn.Module):
    def __init__(self, in_channels, out_channels, modes1, modes2):
        super().__init__()
        self.out_channels, self.modes1, self.modes2 = out_channels, modes1, modes2
        scale = 1 / (in_channels * out_channels)
        shape = (in_channels, out_channels, modes1, modes2)
        self.weights1 = nn.Parameter(scale * torch.rand(*shape, dtype=torch.cfloat))
        self.weights2 = nn.Parameter(scale * torch.rand(*shape, dtype=torch.cfloat))

    def compl_mul2d(self, input, weights):
        return torch.einsum("bixy,ioxy->boxy", input, weights)

    def forward(self, x):
        batchsize, m1, m2 = x.shape[0], self.modes1, self.modes2
        x_ft = torch.fft.rfft2(x)
        out_ft = torch.zeros(
            batchsize, self.out_channels, x.size(-2), x.size(-1) // 2 + 1,
            dtype=torch.cfloat, device=x.device,
        )  # fmt: skip
        out_ft[:, :, :m1, :m2] = self.compl_mul2d(x_ft[:, :, :m1, :m2], self.weights1)
        out_ft[:, :, -m1:, :m2] = self.compl_mul2d(x_ft[:, :, -m1:, :m2], self.weights2)
        return torch.fft.irfft2(out_ft, s=(x.size(-2), x.size(-1)))


class FNO2d(nn.Module):
    def __init__(self, modes=3, width=4):
        super().__init__()
        self.p = nn.Linear(3, width)
        self.conv0, self.conv1 = (SpectralConv2d(width, width, modes, modes) for _ in range(2))
        self.w0, self.w1 = nn.Conv2d(width, width, 1), nn.Conv2d(width, width, 1)
        self.norm = nn.InstanceNorm2d(width)
        self.q = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        x = torch.cat((x, self.get_grid(x.shape, x.device)), dim=-1)
        x = self.p(x).permute(0, 3, 1, 2)
        x = F.gelu(self.norm(self.conv0(self.norm(x))) + self.w0(x))
        x = self.norm(self.conv1(self.norm(x))) + self.w1(x)
        return self.q(x).permute(0, 2, 3, 1)

    def get_grid(self, shape, device):
        batchsize, size_x, size_y = shape[0], shape[1], shape[2]
        gridx = torch.linspace(0, 1, size_x).reshape(1, size_x, 1, 1)
        gridy = torch.linspace(0, 1, size_y).reshape(1, 1, size_y, 1)
        gridx = gridx.repeat([batchsize, 1, size_y, 1])
        gridy = gridy.repeat([batchsize, size_x, 1, 1])
        return torch.cat((gridx, gridy), dim=-1).to(device)


# ---- a diagonal state space in complex numbers


class DiagonalSSM(nn.Module):
    def __init__(self, width=3, states=4):
        super().__init__()
        real, imag = -0.5 * torch.ones(states), math.pi * torch.arange(states)
        self.A = nn.Parameter(torch.complex(real, imag.float()))
        self.C = nn.Parameter(torch.ones(width, states, dtype=torch.cfloat))
        self.log_dt = nn.Parameter(torch.full((width,), -2.0))

    def forward(self, u):
        length = u.size(-1)
        dt_a = torch.exp(self.log_dt).unsqueeze(-1) * self.A
        kernel = dt_a.unsqueeze(-1) * torch.arange(length)
        c = self.C * (torch.exp(dt_a) - 1.0) / self.A
        kernel = 2 * torch.einsum("hn,hnl->hl", c, torch.exp(kernel)).real
        k_f = torch.fft.rfft(kernel, n=2 * length)
        u_f = torch.fft.rfft(u, n=2 * length)
        return torch.fft.irfft(u_f * k_f, n=2 * length)[..., :length]


def make():
    return {"rotary": RotaryAttention(), "fnet": FNet(), "fno": FNO2d(), "ssm": DiagonalSSM()}


def run(optimizer, loss_of, steps=3):
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def train(models, folder):
    rotary, fnet, fno, ssm = (models[n] for n in ("rotary", "fnet", "fno", "ssm"))
    x, target = torch.randn(2, 7, 16), torch.randn(2, 7, 16)
    optimizer = torch.optim.AdamW(rotary.parameters(), lr=1e-2)
    losses = run(optimizer, lambda: F.mse_loss(rotary(x, start_pos=2), target))
    tokens, labels = torch.randint(0, 13, (4, 6)), torch.randint(0, 3, (4,))
    optimizer = torch.optim.SGD(fnet.parameters(), lr=0.05, momentum=0.9)
    losses += run(optimizer, lambda: F.cross_entropy(fnet(tokens), labels))
    field, flow = torch.randn(2, 8, 9, 1), torch.randn(2, 8, 9, 1)
    optimizer = torch.optim.Adam(fno.parameters(), lr=1e-3, weight_decay=1e-4)
    losses += run(optimizer, lambda: (fno(field) - flow).norm() / flow.norm())
    norm = nn.utils.clip_grad_norm_(fno.parameters(), 0.5)
    u, y = torch.randn(2, 3, 10), torch.randn(2, 3, 10)
    optimizer = torch.optim.SGD(ssm.parameters(), lr=1e-2, momentum=0.9)
    losses += run(optimizer, lambda: F.mse_loss(ssm(u), y))
    size = sum(p.numel() * (2 if p.is_complex() else 1) for p in fno.parameters())
    return [losses, norm, size, str(fno.conv0.weights1.dtype).split(".")[1], rotary.freqs_cis]
