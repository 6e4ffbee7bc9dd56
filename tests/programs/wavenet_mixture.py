"""A WaveNet with gated convolutions and a mixture of logistics, sampled step by step."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Conv1d(nn.Conv1d):
    """A convolution that can also go on by one step, from a buffer of the last inputs."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.clear_buffer()
        self._linear_weight = None
        self.register_backward_hook(self._clear_linear_weight)

    def incremental_forward(self, x):
        (kernel,), (dilation,) = self.kernel_size, self.dilation
        if self._linear_weight is None:
            flat = self.weight.transpose(1, 2).contiguous()
            self._linear_weight = flat.view(self.out_channels, -1)
        if kernel > 1:
            if self.buffer is None:
                span = kernel + (kernel - 1) * (dilation - 1)
                self.buffer = x.new(x.size(0), span, x.size(2)).zero_()
            else:
                self.buffer[:, :-1, :] = self.buffer[:, 1:, :].clone()
            self.buffer[:, -1, :] = x[:, -1, :]
            x = self.buffer[:, 0::dilation, :].contiguous()
        return F.linear(x.reshape(x.size(0), -1), self._linear_weight, self.bias).unsqueeze(1)

    def clear_buffer(self):
        self.buffer = None

    def _clear_linear_weight(self, *args):
        self._linear_weight = None


class Layer(nn.Module):
    def __init__(self, channels, gates, dilation):
        super().__init__()
        self.padding = 2 * dilation
        self.conv = nn.utils.parametrizations.weight_norm(
            nn.Conv1d(channels, gates, 3, padding=self.padding, dilation=dilation)
        )
        self.out = Conv1d(gates // 2, channels, 1)
        self.skip = Conv1d(gates // 2, channels, 1)

    def forward(self, x):
        residual = x
        x = self.conv(x)[:, :, : x.size(-1)]
        a, b = x.split(x.size(1) // 2, dim=1)
        x = torch.tanh(a) * torch.sigmoid(b)
        return (self.out(x) + residual) * math.sqrt(0.5), self.skip(x)


class WaveNet(nn.Module):
    def __init__(self, channels=6, mixtures=2):
        super().__init__()
        self.first = Conv1d(1, channels, 1)
        self.layers = nn.ModuleList([Layer(channels, 2 * channels, 2**i) for i in range(2)])
        self.last = nn.ModuleList([
            nn.ReLU(inplace=True), Conv1d(channels, channels, 1),
            nn.ReLU(inplace=True), Conv1d(channels, 3 * mixtures, 1),
        ])  # fmt: skip

    def forward(self, x):
        x, skips = self.first(x), 0
        for layer in self.layers:
            x, h = layer(x)
            skips = skips + h
        x = skips * math.sqrt(1.0 / len(self.layers))
        for f in self.last:
            x = f(x)
        return x


def mixture_loss(y_hat, y, levels=256, log_scale_min=-7.0):
    """y_hat (B, 3K, T), y (B, T, 1)"""
    y_hat = y_hat.transpose(1, 2)
    k = y_hat.size(2) // 3
    logits, means = y_hat[:, :, :k], y_hat[:, :, k : 2 * k]
    scales = torch.clamp(y_hat[:, :, 2 * k :], min=log_scale_min)
    y = y.expand_as(means)
    centered, inverse = y - means, torch.exp(-scales)
    plus, minus = inverse * (centered + 1.0 / levels), inverse * (centered - 1.0 / levels)
    below, above = plus - F.softplus(plus), -F.softplus(minus)
    inside = torch.sigmoid(plus) - torch.sigmoid(minus)
    middle = inverse * centered
    density = middle - scales - 2.0 * F.softplus(middle) - math.log((levels - 1) / 2)
    some = (inside > 1e-5).float()
    inner = some * torch.log(torch.clamp(inside, min=1e-12)) + (1.0 - some) * density
    top = (y > 0.999).float()
    bottom = (y < -0.999).float()
    log_probs = bottom * below + (1.0 - bottom) * (top * above + (1.0 - top) * inner)
    return -torch.mean(torch.logsumexp(log_probs + F.log_softmax(logits, -1), -1))


def make():
    return WaveNet()


def train(model, folder):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, eps=1e-8)
    history = []
    for step in range(4):
        wave = torch.sin(torch.arange(24.0).view(1, 1, -1) * torch.tensor([0.3, 0.5]).view(2, 1, 1))
        y = (wave + 0.1 * step).clamp(-1, 1)
        optimizer.zero_grad()
        loss = mixture_loss(model(y[:, :, :-1]), y[:, :, 1:].transpose(1, 2))
        loss.backward()
        optimizer.step()
        history.append(loss.item())
    conv = model.layers[0].out
    x = torch.randn(2, 5, conv.in_channels)
    with torch.no_grad():
        stepwise = torch.cat([conv.incremental_forward(x[:, t : t + 1]) for t in range(5)], 1)
        whole = conv(x.transpose(1, 2)).transpose(1, 2)
    assert torch.allclose(stepwise, whole, atol=1e-5)
    return [history, stepwise]
