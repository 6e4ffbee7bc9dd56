"""A residual net for small pictures, with the trainer's meters, schedules and checkpoints."""

import os

import numpy as np
import torch
import torch.backends.cudnn as cudnn
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.optim import lr_scheduler


def conv3x3(in_planes, out_planes, stride=1, groups=1, dilation=1):
    return nn.Conv2d(
        in_planes,
        out_planes,
        kernel_size=3,
        stride=stride,
        padding=dilation,
        groups=groups,
        bias=False,
        dilation=dilation,
    )


class BasicBlock(nn.Module):
    expansion: int = 1

    def __init__(self, inplanes, planes, stride=1, downsample=None, norm_layer=None):
        super().__init__()
        if norm_layer is None:
            norm_layer = nn.BatchNorm2d
        self.conv1 = conv3x3(inplanes, planes, stride)
        self.bn1 = norm_layer(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = conv3x3(planes, planes)
        self.bn2 = norm_layer(planes)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x):
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return self.relu(out)


class Bottleneck(nn.Module):
    expansion: int = 2

    def __init__(self, inplanes, planes, stride=1, downsample=None, norm_layer=None):
        super().__init__()
        norm_layer = norm_layer or nn.BatchNorm2d
        self.conv1 = nn.Conv2d(inplanes, planes, kernel_size=1, bias=False)
        self.bn1 = norm_layer(planes)
        self.conv2 = conv3x3(planes, planes, stride, groups=2)
        self.bn2 = norm_layer(planes)
        self.conv3 = nn.Conv2d(planes, planes * self.expansion, kernel_size=1, bias=False)
        self.bn3 = norm_layer(planes * self.expansion)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample

    def forward(self, x):
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return self.relu(out)


class LambdaLayer(nn.Module):
    def __init__(self, lambd):
        super().__init__()
        self.lambd = lambd

    def forward(self, x):
        return self.lambd(x)


class ResNet(nn.Module):
    def __init__(self, block, layers, num_classes=5, zero_init_residual=False):
        super().__init__()
        self.inplanes = 4
        self.conv1 = nn.Conv2d(3, self.inplanes, kernel_size=3, stride=1, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(self.inplanes)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        self.layer1 = self._make_layer(block, 4, layers[0])
        self.layer2 = self._make_layer(block, 8, layers[1], stride=2)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(8 * block.expansion, num_classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(m, (nn.BatchNorm2d, nn.GroupNorm)):
                nn.init.constant_(m.weight, 1)
                nn.init.constant_(m.bias, 0)
        if zero_init_residual:
            for m in self.modules():
                if isinstance(m, Bottleneck):
                    nn.init.constant_(m.bn3.weight, 0)
                elif isinstance(m, BasicBlock):
                    nn.init.constant_(m.bn2.weight, 0)

    def _make_layer(self, block, planes, blocks, stride=1):
        downsample = None
        if stride != 1 or self.inplanes != planes * block.expansion:
            downsample = nn.Sequential(
                nn.Conv2d(self.inplanes, planes * block.expansion, 1, stride, bias=False),
                nn.BatchNorm2d(planes * block.expansion),
            )
        layers = []
        layers.append(block(self.inplanes, planes, stride, downsample))
        self.inplanes = planes * block.expansion
        for _ in range(1, blocks):
            layers.append(block(self.inplanes, planes))
        return nn.Sequential(*layers)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer1(x)
        x = self.layer2(x)
        x = self.avgpool(x)
        x = torch.flatten(x, 1)
        return self.fc(x)


class AverageMeter:
    def __init__(self, name, fmt=":f"):
        self.name, self.fmt = name, fmt
        self.val = self.avg = self.sum = self.count = 0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n
        self.avg = self.sum / self.count

    def __str__(self):
        fmtstr = "{name} {val" + self.fmt + "} ({avg" + self.fmt + "})"
        return fmtstr.format(**self.__dict__)


def accuracy(output, target, topk=(1,)):
    with torch.no_grad():
        maxk = max(topk)
        batch_size = target.size(0)
        _, pred = output.topk(maxk, 1, True, True)
        pred = pred.t()
        correct = pred.eq(target.view(1, -1).expand_as(pred))
        res = []
        for k in topk:
            correct_k = correct[:k].reshape(-1).float().sum(0, keepdim=True)
            res.append(correct_k.mul_(100.0 / batch_size))
        return res


def mixup(x, y, lam, index):
    return lam * x + (1 - lam) * x[index, :], y, y[index]


def make():
    shortcut = nn.Sequential(
        conv3x3(3, 4),
        LambdaLayer(lambda x: F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, 1, 1), "constant", 0)),
        nn.Flatten(),
        nn.Linear(6 * 16, 5),
    )
    return {
        "basic": torch.nn.DataParallel(ResNet(BasicBlock, [1, 2], zero_init_residual=True)),
        "bottleneck": ResNet(Bottleneck, [2, 1]),
        "shortcut": shortcut,
    }


def train(models, folder):
    cudnn.benchmark = True
    rng = np.random.default_rng(3)
    images = torch.tensor(rng.standard_normal((3, 8, 3, 8, 8)), dtype=torch.float)
    targets = torch.tensor(rng.integers(0, 5, (3, 8)))
    results = []
    for model in models.values():
        criterion = nn.CrossEntropyLoss(label_smoothing=0.1).to("cpu")
        optimizer = optim.SGD(
            model.parameters(), 0.05, momentum=0.9, weight_decay=5e-4, nesterov=True
        )
        scheduler = lr_scheduler.CosineAnnealingLR(optimizer, T_max=6)
        losses, top1 = AverageMeter("Loss", ":.4e"), AverageMeter("Acc@1", ":6.2f")
        model.train()
        for epoch in range(2):
            for i in range(3):
                x, a, b = mixup(images[i], targets[i], 0.7, torch.arange(7, -1, -1))
                output = model(x)
                loss = 0.7 * criterion(output, a) + (1 - 0.7) * criterion(output, b)
                acc1, acc5 = accuracy(output, targets[i], topk=(1, 3))
                losses.update(loss.item(), x.size(0))
                top1.update(acc1[0], x.size(0))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            scheduler.step()
        results += [losses.avg, float(top1.avg), acc5, str(top1)[:5], scheduler.get_last_lr()]
        state = {
            "epoch": epoch + 1,
            "state_dict": model.state_dict(),
            "best_acc1": top1.avg,
            "optimizer": optimizer.state_dict(),
            "scheduler": scheduler.state_dict(),
        }
        filename = os.path.join(folder, "checkpoint.pth.tar")
        torch.save(state, filename)
        checkpoint = torch.load(filename)
        model.load_state_dict(checkpoint["state_dict"])
        optimizer.load_state_dict(checkpoint["optimizer"])
        scheduler.load_state_dict(checkpoint["scheduler"])
        model.eval()
        with torch.inference_mode():
            output = model(images[0])
            results += [output.argmax(1), F.softmax(output, 1).max(1)[0].tolist()]
        results.append(sum(p.numel() for p in model.parameters() if p.requires_grad))
    return results
