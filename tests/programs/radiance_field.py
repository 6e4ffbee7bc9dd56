"""A radiance field: rays, positions encoded by sines, volume rendering, samples drawn again."""

import torch
import torch.nn as nn
import torch.nn.functional as F


def rays(height, width, focal, pose):
    i, j = torch.meshgrid(
        torch.linspace(0, width - 1, width), torch.linspace(0, height - 1, height), indexing="ij"
    )
    i, j = i.t(), j.t()
    directions = torch.stack(
        [(i - width * 0.5) / focal, -(j - height * 0.5) / focal, -torch.ones_like(i)], -1
    )
    turned = torch.sum(directions[..., None, :] * pose[:3, :3], -1)
    return pose[:3, -1].expand(turned.shape), turned


def encode(x, bands=4):
    scales = 2.0 ** torch.linspace(0.0, bands - 1, bands)
    return torch.cat([x] + [f(x * s) for s in scales for f in (torch.sin, torch.cos)], -1)


def sample_pdf(bins, weights, count):
    """Positions where the weights (N, bins − 1) are large, by inverting their sums."""
    pdf = (weights + 1e-5) / torch.sum(weights + 1e-5, -1, keepdim=True)
    cdf = torch.cumsum(pdf, -1)
    cdf = torch.cat([torch.zeros_like(cdf[..., :1]), cdf], -1)
    u = torch.linspace(0.0, 1.0, steps=count).expand(list(cdf.shape[:-1]) + [count]).contiguous()
    found = torch.searchsorted(cdf, u, right=True)
    below = torch.max(torch.zeros_like(found - 1), found - 1)
    above = torch.min((cdf.shape[-1] - 1) * torch.ones_like(found), found)
    both = torch.stack([below, above], -1)
    shape = [both.shape[0], both.shape[1], cdf.shape[-1]]
    low_high = torch.gather(cdf.unsqueeze(1).expand(shape), 2, both)
    edges = torch.gather(bins.unsqueeze(1).expand(shape), 2, both)
    width = low_high[..., 1] - low_high[..., 0]
    width = torch.where(width < 1e-5, torch.ones_like(width), width)
    t = (u - low_high[..., 0]) / width
    return edges[..., 0] + t * (edges[..., 1] - edges[..., 0])


class Field(nn.Module):
    def __init__(self, bands=4, hidden=16):
        super().__init__()
        width = 3 + 3 * 2 * bands
        self.layers = nn.ModuleList(
            [nn.Linear(width, hidden), nn.Linear(hidden, hidden), nn.Linear(hidden + width, hidden)]
        )
        self.head = nn.Linear(hidden, 4)

    def forward(self, points):
        x = encode(points)
        h = x
        for i, layer in enumerate(self.layers):
            h = F.relu(layer(h))
            if i == 1:
                h = torch.cat([x, h], -1)
        return self.head(h)


def render(raw, depths, directions):
    steps = depths[..., 1:] - depths[..., :-1]
    steps = torch.cat([steps, torch.Tensor([1e10]).expand(steps[..., :1].shape)], -1)
    steps = steps * torch.norm(directions[..., None, :], dim=-1)
    colour = torch.sigmoid(raw[..., :3])
    alpha = 1.0 - torch.exp(-F.relu(raw[..., 3]) * steps)
    clear = torch.cumprod(torch.cat([torch.ones((alpha.shape[0], 1)), 1.0 - alpha + 1e-10], -1), -1)
    weights = alpha * clear[:, :-1]
    return torch.sum(weights[..., None] * colour, -2), weights, torch.sum(weights * depths, -1)


def make():
    return {"coarse": Field(), "fine": Field()}


def train(models, folder):
    origins, directions = (t.reshape(-1, 3) for t in rays(3, 4, 2.0, torch.eye(4)))
    target = torch.rand(12, 3)
    parameters = [p for m in models.values() for p in m.parameters()]
    optimizer = torch.optim.Adam(params=parameters, lr=5e-3, betas=(0.9, 0.999))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.1 ** (step / 10))
    losses = []
    for _ in range(3):
        depths = torch.linspace(2.0, 6.0, 8).expand(12, 8)
        points = origins[..., None, :] + directions[..., None, :] * depths[..., :, None]
        image, weights, _ = render(models["coarse"](points), depths, directions)
        middle = 0.5 * (depths[..., 1:] + depths[..., :-1])
        more = sample_pdf(middle, weights[..., 1:-1], 6).detach()
        depths, _ = torch.sort(torch.cat([depths, more], -1), -1)
        points = origins[..., None, :] + directions[..., None, :] * depths[..., :, None]
        finer, _, far = render(models["fine"](points), depths, directions)
        loss = ((image - target) ** 2).mean() + ((finer - target) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return losses, finer.detach(), far.detach(), schedule.get_last_lr()
