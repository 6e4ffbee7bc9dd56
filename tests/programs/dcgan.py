"""A DCGAN: transposed convolutions, batch norm, two optimisers, and one with gradient penalty."""

import torch
import torch.nn as nn
import torch.nn.parallel
import torch.optim as optim
import torch.utils.data
from torch import autograd
from torch.nn.utils import spectral_norm

nz, ngf, ndf, nc = 6, 4, 4, 1


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find("Conv") != -1:
        nn.init.normal_(m.weight.data, 0.0, 0.02)
    elif classname.find("BatchNorm") != -1:
        nn.init.normal_(m.weight.data, 1.0, 0.02)
        nn.init.constant_(m.bias.data, 0)


class Generator(nn.Module):
    def __init__(self, ngpu):
        super(Generator, self).__init__()
        self.ngpu = ngpu
        self.main = nn.Sequential(
            nn.ConvTranspose2d(nz, ngf * 2, 4, 1, 0, bias=False),
            nn.BatchNorm2d(ngf * 2),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 2, ngf, 4, 2, 1, bias=False),
            nn.BatchNorm2d(ngf),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf, nc, 4, 2, 1, bias=False),
            nn.Tanh(),
        )

    def forward(self, input):
        return self.main(input)


class Discriminator(nn.Module):
    def __init__(self, ngpu):
        super(Discriminator, self).__init__()
        self.ngpu = ngpu
        self.main = nn.Sequential(
            nn.Conv2d(nc, ndf, 4, 2, 1, bias=False),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf, ndf * 2, 4, 2, 1, bias=False),
            nn.BatchNorm2d(ndf * 2),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf * 2, 1, 4, 1, 0, bias=False),
            nn.Sigmoid(),
        )

    def forward(self, input):
        if input.is_cuda and self.ngpu > 1:
            return nn.parallel.data_parallel(self.main, input, range(self.ngpu))
        return self.main(input).view(-1)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(nc, 4, 4, 2, 1, bias=False)
        self.norm = nn.InstanceNorm2d(4, affine=True)
        self.fc = nn.Linear(4 * 8 * 8, 1)

    def forward(self, x):
        out = torch.nn.functional.leaky_relu(self.norm(self.conv(x)), 0.2)
        return self.fc(out.flatten(1))


def make():
    netG, netD, critic = Generator(1), Discriminator(1), Critic()
    for net in (netG, netD):
        net.apply(weights_init)
    return {"netG": netG, "netD": netD, "critic": critic}


def compute_gradient_penalty(D, real_samples, fake_samples):
    alpha = torch.rand(real_samples.size(0), 1, 1, 1)
    interpolates = (alpha * real_samples + ((1 - alpha) * fake_samples)).requires_grad_(True)
    d_interpolates = D(interpolates)
    fake = torch.ones(real_samples.shape[0], 1, requires_grad=False)
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


def train(models, folder):
    netG, netD, critic = models["netG"], models["netD"], models["critic"]
    images = torch.randn(12, nc, 16, 16).clamp(-1, 1)
    dataset = torch.utils.data.TensorDataset(images, torch.zeros(12))
    dataloader = torch.utils.data.DataLoader(
        dataset, batch_size=4, shuffle=False, num_workers=0, pin_memory=False
    )
    criterion = nn.BCELoss()
    fixed_noise = torch.randn(4, nz, 1, 1, device="cpu")
    real_label, fake_label = 1.0, 0.0
    optimizerD = optim.Adam(netD.parameters(), lr=0.002, betas=(0.5, 0.999))
    optimizerG = optim.Adam(netG.parameters(), lr=0.002, betas=(0.5, 0.999))
    history, img_list = [], []
    for epoch in range(2):
        for i, data in enumerate(dataloader, 0):
            netD.zero_grad()
            real_cpu = data[0].to("cpu")
            b_size = real_cpu.size(0)
            label = torch.full((b_size,), real_label, dtype=torch.float, device="cpu")
            output = netD(real_cpu).view(-1)
            errD_real = criterion(output, label)
            errD_real.backward()
            D_x = output.mean().item()
            noise = torch.randn(b_size, nz, 1, 1, device="cpu")
            fake = netG(noise)
            label.fill_(fake_label)
            output = netD(fake.detach()).view(-1)
            errD_fake = criterion(output, label)
            errD_fake.backward()
            D_G_z1 = output.mean().item()
            errD = errD_real + errD_fake
            optimizerD.step()
            netG.zero_grad()
            label.fill_(real_label)
            output = netD(fake).view(-1)
            errG = criterion(output, label)
            errG.backward()
            D_G_z2 = output.mean().item()
            optimizerG.step()
            history.append([errD.item(), errG.item(), D_x, D_G_z1, D_G_z2])
    with torch.no_grad():
        img_list.append(netG(fixed_noise).detach().cpu())
    for p in netD.parameters():
        p.requires_grad = False
    optimizer = optim.RMSprop(critic.parameters(), lr=5e-4)
    optimizer.zero_grad()
    fake = netG(noise).detach()
    gp = compute_gradient_penalty(critic, images[:4], fake)
    loss = -torch.mean(critic(images[:4])) + torch.mean(critic(fake)) + 10 * gp
    loss.backward()
    optimizer.step()
    sn = spectral_norm(nn.Linear(3, 4))
    return [history, img_list, loss.item(), gp.item(), sorted(sn.state_dict())]
