"""GANs that differentiate their own gradient, spectral norms, hinge losses, a cycle of two."""

import itertools

import torch
import torch.autograd as autograd
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Variable
from torch.nn.utils import spectral_norm
from torch.nn.utils.parametrizations import weight_norm

Tensor = torch.FloatTensor
IMG_SHAPE = (1, 8, 8)


class Generator(nn.Module):
    def __init__(self, latent_dim):
        super(Generator, self).__init__()

        def block(in_feat, out_feat, normalize=True):
            layers = [nn.Linear(in_feat, out_feat)]
            if normalize:
                layers.append(nn.BatchNorm1d(out_feat, 0.8))
            layers.append(nn.LeakyReLU(0.2, inplace=True))
            return layers

        self.model = nn.Sequential(
            *block(latent_dim, 16, normalize=False), *block(16, 24), nn.Linear(24, 64), nn.Tanh()
        )

    def forward(self, z):
        img = self.model(z)
        return img.view(img.shape[0], *IMG_SHAPE)


class Discriminator(nn.Module):
    def __init__(self):
        super(Discriminator, self).__init__()
        self.model = nn.Sequential(nn.Linear(64, 24), nn.LeakyReLU(0.2, inplace=True),
                                   nn.Linear(24, 1))  # fmt: skip

    def forward(self, img):
        return self.model(img.view(img.shape[0], -1))


class ConvCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 4, 4, 2, 1, bias=False), nn.InstanceNorm2d(4, affine=True), nn.SiLU(),
            weight_norm(nn.Conv2d(4, 6, 3, 2, 1)), nn.GELU(), nn.Flatten(), nn.Linear(24, 1),
        )  # fmt: skip

    def forward(self, x):
        return self.net(x)


class ResidualBlock(nn.Module):
    def __init__(self, in_features):
        super(ResidualBlock, self).__init__()
        self.block = nn.Sequential(
            nn.ReflectionPad2d(1), nn.Conv2d(in_features, in_features, 3, bias=False),
            nn.InstanceNorm2d(in_features), nn.ReLU(inplace=True),
        )  # fmt: skip

    def forward(self, x):
        return x + self.block(x)


def compute_gradient_penalty(D, real_samples, fake_samples):
    """Calculates the gradient penalty loss for WGAN GP"""
    alpha = torch.rand(real_samples.size(0), 1, 1, 1)
    interpolates = (alpha * real_samples + ((1 - alpha) * fake_samples)).requires_grad_(True)
    d_interpolates = D(interpolates)
    fake = Variable(Tensor(real_samples.shape[0], 1).fill_(1.0), requires_grad=False)
    gradients = autograd.grad(
        outputs=d_interpolates,
        inputs=interpolates,
        grad_outputs=fake,
        create_graph=True,
        retain_graph=True,
        only_inputs=True,
    )[0]
    gradients = gradients.view(gradients.size(0), -1)
    return ((gradients.norm(2, dim=1) - 1) ** 2).mean()


def make():
    return {"g": Generator(5), "d": Discriminator(), "conv": ConvCritic(),
            "ab": ResidualBlock(1), "ba": ResidualBlock(1)}  # fmt: skip


def train(models, folder):
    results = []
    generator = models["g"]
    for critic in ("d", "conv"):
        discriminator = models[critic]
        optimizer_G = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
        optimizer_D = torch.optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))
        real_imgs = Variable(torch.rand(6, *IMG_SHAPE).type(Tensor))
        for i in range(3):
            optimizer_D.zero_grad()
            z = Variable(torch.randn(6, 5))
            fake_imgs = generator(z)
            real_validity = discriminator(real_imgs)
            fake_validity = discriminator(fake_imgs.detach())
            gp = compute_gradient_penalty(discriminator, real_imgs.data, fake_imgs.data)
            d_loss = -torch.mean(real_validity) + torch.mean(fake_validity) + 10 * gp
            d_loss.backward()
            optimizer_D.step()
            optimizer_G.zero_grad()
            g_loss = -torch.mean(discriminator(generator(z)))
            g_loss.backward()
            optimizer_G.step()
            results += [d_loss.item(), g_loss.item()]

    ab, ba = models["ab"], models["ba"]
    optimizer = torch.optim.Adam(itertools.chain(ab.parameters(), ba.parameters()), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lr_lambda=lambda e: 1.0 - e / 4)
    real_A, real_B = torch.rand(2, 1, 6, 6), torch.rand(2, 1, 6, 6)
    for _ in range(2):
        fake_B, fake_A = ab(real_A), ba(real_B)
        loss_cycle = F.l1_loss(ba(fake_B), real_A) + F.l1_loss(ab(fake_A), real_B)
        loss_identity = F.l1_loss(ab(real_B), real_B)
        loss = 10.0 * loss_cycle + 5.0 * loss_identity
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        results.append(loss.item())
    layer = spectral_norm(nn.Linear(6, 4))
    sizes = sorted((name, tuple(p.shape)) for name, p in layer.state_dict().items())
    return results + [sizes]
