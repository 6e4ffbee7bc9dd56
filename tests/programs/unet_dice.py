"""Segmentation: a U-Net with dice loss, an Inception block, dilated and transposed convolutions."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor


class DoubleConv(nn.Module):
    """(convolution => [BN] => ReLU) * 2"""

    def __init__(self, in_channels, out_channels, mid_channels=None):
        super().__init__()
        if not mid_channels:
            mid_channels = out_channels
        self.double_conv = nn.Sequential(
            nn.Conv2d(in_channels, mid_channels, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(mid_channels),
            nn.ReLU(inplace=True),
            nn.Conv2d(mid_channels, out_channels, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(inplace=True),
        )

    def forward(self, x):
        return self.double_conv(x)


class Up(nn.Module):
    def __init__(self, in_channels, out_channels, bilinear=True):
        super().__init__()
        if bilinear:
            self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
            self.conv = DoubleConv(in_channels, out_channels, in_channels // 2)
        else:
            self.up = nn.ConvTranspose2d(in_channels, in_channels // 2, kernel_size=2, stride=2)
            self.conv = DoubleConv(in_channels, out_channels)

    def forward(self, x1, x2):
        x1 = self.up(x1)
        diffY = x2.size()[2] - x1.size()[2]
        diffX = x2.size()[3] - x1.size()[3]
        x1 = F.pad(x1, [diffX // 2, diffX - diffX // 2, diffY // 2, diffY - diffY // 2])
        return self.conv(torch.cat([x2, x1], dim=1))


class Inception(nn.Module):
    """Branches of different reach, with a dilated one, joined by channel."""

    def __init__(self, channels):
        super().__init__()
        self.b1 = nn.Conv2d(channels, 2, 1)
        self.b2 = nn.Sequential(nn.Conv2d(channels, 2, (1, 5), padding=(0, 2)),
                                nn.Conv2d(2, 2, (5, 1), padding=(2, 0)))  # fmt: skip
        self.b3 = nn.Conv2d(channels, 2, 3, padding=2, dilation=2)
        self.b4 = nn.Conv2d(channels, channels, 3, padding=1, groups=channels)

    def forward(self, x):
        pooled = F.avg_pool2d(x, kernel_size=3, stride=1, padding=1)
        return torch.cat([self.b1(x), self.b2(x), self.b3(x), self.b4(pooled)], 1)


class UNet(nn.Module):
    def __init__(self, n_channels, n_classes, bilinear=False):
        super(UNet, self).__init__()
        self.n_classes = n_classes
        factor = 2 if bilinear else 1
        self.inc = DoubleConv(n_channels, 6)
        self.down1 = nn.Sequential(nn.MaxPool2d(2), DoubleConv(6, 12 // factor))
        self.mix = Inception(12 // factor)
        self.down2 = nn.Sequential(nn.MaxPool2d(2), DoubleConv(6 + 12 // factor, 12 // factor))
        self.up1 = Up(24 // factor, 12 // factor, bilinear) if not bilinear else None
        self.up2 = Up(12, 6, bilinear)
        self.outc = nn.Conv2d(6, n_classes, kernel_size=1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down1(x1)
        x3 = self.down2(self.mix(x2))
        x = self.up1(torch.cat([x3, x3], 1), x2) if self.up1 is not None else x3 + 0 * x2.mean()
        if self.up1 is None:
            x = F.interpolate(x, size=x2.shape[2:], mode="nearest")
        return self.outc(self.up2(x, x1))


def dice_coeff(input: Tensor, target: Tensor, reduce_batch_first: bool = False, eps: float = 1e-6):
    assert input.size() == target.size()
    sum_dim = (-1, -2) if input.dim() == 2 or not reduce_batch_first else (-1, -2, -3)
    inter = 2 * (input * target).sum(dim=sum_dim)
    sets_sum = input.sum(dim=sum_dim) + target.sum(dim=sum_dim)
    sets_sum = torch.where(sets_sum == 0, inter, sets_sum)
    return ((inter + eps) / (sets_sum + eps)).mean()


def dice_loss(input: Tensor, target: Tensor, multiclass: bool = False):
    if multiclass:
        input, target = input.flatten(0, 1), target.flatten(0, 1)
    return 1 - dice_coeff(input, target, reduce_batch_first=True)


def make():
    return {"convs": UNet(3, 2), "double": UNet(3, 2).double()}


def train(models, folder):
    results = []
    for name, model in models.items():
        dtype = next(model.parameters()).dtype
        images = torch.rand(2, 3, 13, 11).to(dtype=dtype, memory_format=torch.channels_last)
        true_masks = torch.randint(0, 2, (2, 13, 11)).to(dtype=torch.long)
        optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-4, weight_decay=1e-8,
                                        momentum=0.9, foreach=True)  # fmt: skip
        scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, "max", patience=0)
        grad_scaler = torch.amp.GradScaler("cpu", enabled=False)
        for _ in range(3):
            with torch.autocast("cpu", enabled=False):
                masks_pred = model(images)
                loss = nn.CrossEntropyLoss()(masks_pred, true_masks)
                loss += dice_loss(
                    F.softmax(masks_pred, dim=1).to(dtype),
                    F.one_hot(true_masks, model.n_classes).permute(0, 3, 1, 2).to(dtype),
                    multiclass=True,
                )
            optimizer.zero_grad(set_to_none=True)
            grad_scaler.scale(loss).backward()
            grad_scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            grad_scaler.step(optimizer)
            grad_scaler.update()
            scheduler.step(-loss.item())
            results += [loss.item(), optimizer.param_groups[0]["lr"]]
        model.eval()
        with torch.inference_mode():
            results.append(model(images).argmax(dim=1))
    return results
