"""Networks whose input sizes are found on the first batch: LeNet, VGG blocks, NiN, a 1-d one."""

import io

import torch
from torch import nn
from torch.nn import functional as F


def init_cnn(module):
    """Initialize weights for CNNs."""
    if type(module) == nn.Linear or type(module) == nn.Conv2d:
        nn.init.xavier_uniform_(module.weight)


class Classifier(nn.Module):
    def loss(self, Y_hat, Y, averaged=True):
        Y_hat = torch.reshape(Y_hat, (-1, Y_hat.shape[-1]))
        Y = torch.reshape(Y, (-1,))
        return F.cross_entropy(Y_hat, Y, reduction="mean" if averaged else "none")

    def accuracy(self, Y_hat, Y, averaged=True):
        preds = Y_hat.argmax(axis=1).type(Y.dtype)
        compare = (preds == Y.reshape(-1)).type(torch.float32)
        return torch.mean(compare) if averaged else compare

    def forward(self, X):
        return self.net(X)

    def apply_init(self, inputs, init=None):
        self.forward(*inputs)
        if init is not None:
            self.net.apply(init)


class LeNet(Classifier):
    def __init__(self, num_classes=10):
        super().__init__()
        self.net = nn.Sequential(
            nn.LazyConv2d(6, kernel_size=5, padding=2),
            nn.Sigmoid(),
            nn.AvgPool2d(kernel_size=2, stride=2),
            nn.LazyConv2d(16, kernel_size=5),
            nn.Sigmoid(),
            nn.AvgPool2d(kernel_size=2, stride=2),
            nn.Flatten(),
            nn.LazyLinear(24),
            nn.Sigmoid(),
            nn.LazyLinear(num_classes),
        )


def vgg_block(num_convs, out_channels):
    layers = []
    for _ in range(num_convs):
        layers.append(nn.LazyConv2d(out_channels, kernel_size=3, padding=1))
        layers.append(nn.LazyBatchNorm2d())
        layers.append(nn.ReLU())
    layers.append(nn.MaxPool2d(kernel_size=2, stride=2))
    return nn.Sequential(*layers)


def nin_block(out_channels, kernel_size, strides, padding):
    return nn.Sequential(
        nn.LazyConv2d(out_channels, kernel_size, strides, padding),
        nn.ReLU(),
        nn.LazyConv2d(out_channels, kernel_size=1),
        nn.ReLU(),
    )


class VGG(Classifier):
    def __init__(self, arch, num_classes=10):
        super().__init__()
        conv_blks = [vgg_block(n, c) for (n, c) in arch]
        self.net = nn.Sequential(*conv_blks, nn.Flatten(), nn.LazyLinear(16), nn.ReLU(),
                                 nn.Dropout(0.0), nn.LazyLinear(num_classes))  # fmt: skip


class NiN(Classifier):
    def __init__(self, num_classes=10):
        super().__init__()
        self.net = nn.Sequential(
            nin_block(8, kernel_size=5, strides=2, padding=2),
            nn.MaxPool2d(3, stride=2),
            nin_block(num_classes, kernel_size=3, strides=1, padding=1),
            nn.AdaptiveAvgPool2d((1, 1)),
            nn.Flatten(),
        )


class Upscale(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.LazyConv1d(4, 3), nn.LazyInstanceNorm1d(affine=True), nn.LeakyReLU(0.1),
            nn.LazyConvTranspose1d(2, 4, stride=2),
        )  # fmt: skip

    def forward(self, x):
        return self.net(x)


def make():
    lenet = LeNet()
    before = [isinstance(p, nn.parameter.UninitializedParameter) for p in lenet.parameters()]
    assert all(before)
    lenet.apply_init([torch.zeros(2, 1, 28, 28)], init_cnn)
    vgg = VGG(((1, 4), (2, 8)))
    vgg.apply_init([torch.zeros(2, 1, 16, 16)], init_cnn)
    nin = NiN()
    nin.apply_init([torch.zeros(1, 1, 28, 28)])
    up = Upscale()
    up(torch.zeros(2, 3, 9))
    return {"lenet": lenet, "vgg": vgg, "nin": nin, "up": up}


def train(models, folder):
    results = []
    for name, size in (("lenet", 28), ("vgg", 16), ("nin", 28)):
        model = models[name]
        X, Y = torch.rand(8, 1, size, size), torch.randint(0, 10, (8,))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            Y_hat = model(X)
            loss = model.loss(Y_hat, Y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            results.append([loss.item(), model.accuracy(Y_hat, Y)])
        shapes, X = [], X[:1]
        model.eval()
        for layer in model.net:
            X = layer(X)
            shapes.append((layer.__class__.__name__, tuple(X.shape)))
        results.append(shapes)
    # A checkpoint goes into a network that has not seen a batch.
    buffer = io.BytesIO()
    torch.save(models["lenet"].state_dict(), buffer)
    buffer.seek(0)
    fresh = LeNet()
    results.append(str(fresh.net[0]))
    fresh.load_state_dict(torch.load(buffer))
    X = torch.rand(2, 1, 28, 28)
    results.append(torch.equal(fresh(X), models["lenet"](X)))
    x = torch.randn(3, 3, 9)
    out = models["up"](x)
    out.pow(2).mean().backward()
    return results + [out]
