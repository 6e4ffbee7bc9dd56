"""A network that turns its input before it looks at it, and others that sample images."""

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(1, 4, kernel_size=3)
        self.conv2 = nn.Conv2d(4, 6, kernel_size=3)
        self.conv2_drop = nn.Dropout2d(0.0)
        self.fc1 = nn.Linear(96, 20)
        self.fc2 = nn.Linear(20, 10)
        self.localization = nn.Sequential(
            nn.Conv2d(1, 4, kernel_size=5),
            nn.MaxPool2d(2, stride=2),
            nn.ReLU(True),
            nn.Conv2d(4, 5, kernel_size=3),
            nn.MaxPool2d(2, stride=2),
            nn.ReLU(True),
        )
        self.fc_loc = nn.Sequential(nn.Linear(5 * 2 * 2, 8), nn.ReLU(True), nn.Linear(8, 3 * 2))
        self.fc_loc[2].weight.data.mul_(0.1)
        self.fc_loc[2].bias.data.copy_(torch.tensor([1, 0, 0, 0, 1, 0], dtype=torch.float))

    def stn(self, x):
        xs = self.localization(x)
        xs = xs.view(-1, 5 * 2 * 2)
        theta = self.fc_loc(xs)
        theta = theta.view(-1, 2, 3)
        grid = F.affine_grid(theta, x.size(), align_corners=False)
        return F.grid_sample(x, grid, align_corners=False)

    def forward(self, x):
        x = self.stn(x)
        x = F.relu(F.max_pool2d(self.conv1(x), 2))
        x = F.relu(F.max_pool2d(self.conv2_drop(self.conv2(x)), 2, padding=1))
        x = x.view(-1, 96)
        x = F.relu(self.fc1(x))
        x = F.dropout(x, p=0.0, training=self.training)
        x = self.fc2(x)
        return F.log_softmax(x, dim=1)


def warp(x, flo):
    """warp an image/tensor (im2) back to im1, according to the optical flow"""
    B, C, H, W = x.size()
    xx = torch.arange(0, W).view(1, -1).repeat(H, 1)
    yy = torch.arange(0, H).view(-1, 1).repeat(1, W)
    xx = xx.view(1, 1, H, W).repeat(B, 1, 1, 1)
    yy = yy.view(1, 1, H, W).repeat(B, 1, 1, 1)
    grid = torch.cat((xx, yy), 1).float()
    vgrid = grid + flo
    vgrid[:, 0, :, :] = 2.0 * vgrid[:, 0, :, :].clone() / max(W - 1, 1) - 1.0
    vgrid[:, 1, :, :] = 2.0 * vgrid[:, 1, :, :].clone() / max(H - 1, 1) - 1.0
    vgrid = vgrid.permute(0, 2, 3, 1)
    output = F.grid_sample(x, vgrid, align_corners=True, padding_mode="border")
    mask = torch.ones(x.size())
    mask = F.grid_sample(mask, vgrid, align_corners=True)
    mask[mask < 0.9999] = 0
    mask[mask > 0] = 1
    return output * mask


class FlowNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.flow = nn.Conv2d(6, 2, 3, padding=1)
        self.norm = nn.LocalResponseNorm(3)

    def forward(self, a, b):
        return warp(b, self.flow(self.norm(torch.cat((a, b), dim=1))))


def make():
    return {"stn": Net(), "flow": FlowNet()}


def train(models, folder):
    results = []
    model = models["stn"]
    optimizer = optim.SGD(model.parameters(), lr=0.01)
    data, target = torch.rand(6, 1, 18, 18), torch.randint(0, 10, (6,))
    model.train()
    for _ in range(3):
        optimizer.zero_grad()
        output = model(data)
        loss = F.nll_loss(output, target)
        loss.backward()
        optimizer.step()
        results.append(loss.item())
    with torch.no_grad():
        model.eval()
        pred = model(data).max(1, keepdim=True)[1]
        results += [pred.eq(target.view_as(pred)).sum().item(), model.stn(data)]
    a, b = torch.rand(2, 3, 7, 9), torch.rand(2, 3, 7, 9, requires_grad=True)
    out = models["flow"](a, b)
    loss = (out - a).abs().mean()
    loss.backward()
    volume = torch.rand(1, 2, 4, 5, 6)
    theta = torch.tensor([[[1.0, 0.1, 0, 0], [0, 0.9, 0.2, 0.1], [0.1, 0, 1.1, -0.1]]])
    grid = F.affine_grid(theta, [1, 2, 3, 4, 5], align_corners=False)
    turned = F.grid_sample(volume, grid, mode="bilinear", padding_mode="reflection",
                           align_corners=False)  # fmt: skip
    return results + [out, b.grad, turned]
