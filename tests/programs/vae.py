"""Autoencoders that draw from what they learn: plain, convolutional, and with a codebook."""

import torch
import torch.utils.data
from torch import nn, optim
from torch.nn import functional as F


class VAE(nn.Module):
    def __init__(self):
        super(VAE, self).__init__()
        self.fc1 = nn.Linear(64, 20)
        self.fc21 = nn.Linear(20, 4)
        self.fc22 = nn.Linear(20, 4)
        self.fc3 = nn.Linear(4, 20)
        self.fc4 = nn.Linear(20, 64)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.randn_like(std)
        return mu + eps * std

    def decode(self, z):
        h3 = F.relu(self.fc3(z))
        return torch.sigmoid(self.fc4(h3))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, 64))
        z = self.reparameterize(mu, logvar)
        return self.decode(z), mu, logvar


def loss_function(recon_x, x, mu, logvar):
    BCE = F.binary_cross_entropy(recon_x, x.view(-1, 64), reduction="sum")
    KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return BCE + KLD


class UnFlatten(nn.Module):
    def forward(self, input, size=8):
        return input.view(input.size(0), size, 2, 2)


class ConvVAE(nn.Module):
    def __init__(self, in_channels=1, latent_dim=3):
        super().__init__()
        modules = []
        for h_dim in (4, 8):
            modules.append(
                nn.Sequential(
                    nn.Conv2d(in_channels, h_dim, kernel_size=3, stride=2, padding=1),
                    nn.BatchNorm2d(h_dim),
                    nn.LeakyReLU(),
                )
            )
            in_channels = h_dim
        self.encoder = nn.Sequential(*modules)
        self.fc_mu = nn.Linear(8 * 4, latent_dim)
        self.fc_var = nn.Linear(8 * 4, latent_dim)
        self.decoder = nn.Sequential(
            nn.Linear(latent_dim, 8 * 4),
            UnFlatten(),
            nn.ConvTranspose2d(8, 4, kernel_size=3, stride=2, padding=1, output_padding=1),
            nn.BatchNorm2d(4),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False),
            nn.Conv2d(4, 1, kernel_size=3, padding="same"),
            nn.Tanh(),
        )

    def forward(self, input, **kwargs):
        result = torch.flatten(self.encoder(input), start_dim=1)
        mu, log_var = self.fc_mu(result), self.fc_var(result)
        std = torch.exp(0.5 * log_var)
        z = torch.randn_like(std).mul(std).add_(mu)
        return [self.decoder(z), input, mu, log_var]

    def loss_function(self, *args, **kwargs):
        recons, input, mu, log_var = args
        recons_loss = F.mse_loss(recons, input)
        kld = torch.mean(-0.5 * torch.sum(1 + log_var - mu**2 - log_var.exp(), dim=1), dim=0)
        return {
            "loss": recons_loss + kwargs["M_N"] * kld,
            "Reconstruction": recons_loss.detach(),
            "KLD": -kld.detach(),
        }


class VectorQuantizer(nn.Module):
    def __init__(self, num_embeddings, embedding_dim, beta=0.25):
        super().__init__()
        self.K, self.D, self.beta = num_embeddings, embedding_dim, beta
        self.embedding = nn.Embedding(self.K, self.D)
        self.embedding.weight.data.uniform_(-1 / self.K, 1 / self.K)

    def forward(self, latents):
        latents = latents.permute(0, 2, 3, 1).contiguous()
        flat = latents.view(-1, self.D)
        dist = (
            torch.sum(flat**2, dim=1, keepdim=True)
            + torch.sum(self.embedding.weight**2, dim=1)
            - 2 * torch.matmul(flat, self.embedding.weight.t())
        )
        inds = torch.argmin(dist, dim=1).unsqueeze(1)
        one_hot = torch.zeros(inds.size(0), self.K, device=latents.device)
        one_hot.scatter_(1, inds, 1)
        quantized = torch.matmul(one_hot, self.embedding.weight).view(latents.shape)
        commitment_loss = F.mse_loss(quantized.detach(), latents)
        embedding_loss = F.mse_loss(quantized, latents.detach())
        quantized = latents + (quantized - latents).detach()
        avg_probs = torch.mean(one_hot, dim=0)
        perplexity = torch.exp(-torch.sum(avg_probs * torch.log(avg_probs + 1e-10)))
        loss = commitment_loss * self.beta + embedding_loss
        return quantized.permute(0, 3, 1, 2).contiguous(), loss, perplexity


class VQVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(1, 4, 4, 2, 1), nn.SiLU(), nn.Conv2d(4, 3, 3, 1, 1))
        self.vq = VectorQuantizer(6, 3)
        self.dec = nn.Sequential(nn.ConvTranspose2d(3, 4, 4, 2, 1), nn.ELU(), nn.Conv2d(4, 1, 1))

    def forward(self, x):
        quantized, vq_loss, perplexity = self.vq(self.enc(x))
        return self.dec(quantized), vq_loss, perplexity


def make():
    return {"vae": VAE(), "conv": ConvVAE(), "vq": VQVAE()}


def train(models, folder):
    device = torch.device("cpu")
    data = torch.rand(24, 1, 8, 8)
    loader = torch.utils.data.DataLoader(data, batch_size=12, shuffle=False)
    results = []
    model = models["vae"].to(device)
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    model.train()
    train_loss = 0
    for batch in loader:
        batch = batch.to(device)
        optimizer.zero_grad()
        recon_batch, mu, logvar = model(batch)
        loss = loss_function(recon_batch, batch, mu, logvar)
        loss.backward()
        train_loss += loss.item()
        optimizer.step()
    with torch.no_grad():
        sample = model.decode(torch.randn(5, 4).to(device)).cpu()
    results += [train_loss / len(loader.dataset), sample.view(5, 1, 8, 8)]

    model, history = models["conv"], []
    optimizer = optim.Adam(model.parameters(), lr=5e-3, weight_decay=1e-5)
    scheduler = optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.95)
    for batch in loader:
        losses = model.loss_function(*model(batch), M_N=0.005)
        optimizer.zero_grad()
        losses["loss"].backward()
        optimizer.step()
        scheduler.step()
        history.append({key: val.item() for key, val in losses.items()})
    results.append(history)

    model = models["vq"]
    optimizer = optim.Adam(model.parameters(), lr=1e-2, amsgrad=True)
    for batch in loader:
        optimizer.zero_grad()
        recon, vq_loss, perplexity = model(batch)
        loss = F.mse_loss(recon, batch) / torch.var(data) + vq_loss
        loss.backward()
        optimizer.step()
        results += [loss.item(), perplexity.item()]
    return results
