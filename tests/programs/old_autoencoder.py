"""A variational autoencoder as programs of 2017 wrote it: Variable, FloatTensor, size_average."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Variable

torch.set_default_tensor_type("torch.FloatTensor")
Tensor = torch.cuda.FloatTensor if torch.cuda.is_available() else torch.FloatTensor


class VAE(nn.Module):
    def __init__(self, sizes=(24, 16, 3)):
        super(VAE, self).__init__()
        wide, hidden, code = sizes
        self.inner = nn.Linear(wide, hidden)
        self.mean, self.logvar = nn.Linear(hidden, code), nn.Linear(hidden, code)
        self.outer = nn.Sequential(nn.Linear(code, hidden), nn.ReLU(True), nn.Linear(hidden, wide))

    def reparametrize(self, mu, logvar):
        std = logvar.mul(0.5).exp_()
        eps = torch.FloatTensor(std.size()).zero_()
        eps.copy_(torch.randn(*std.size()))
        return Variable(eps).mul(std).add_(mu)

    def forward(self, x):
        h = F.relu(self.inner(x))
        mu, logvar = self.mean(h), self.logvar(h)
        return torch.sigmoid(self.outer(self.reparametrize(mu, logvar))), mu, logvar


def loss_function(recon, x, mu, logvar):
    bce = nn.BCELoss(reduction="sum")(recon, x)
    element = mu.pow(2).add_(logvar.exp()).mul_(-1).add_(1).add_(logvar)
    return bce + torch.sum(element).mul_(-0.5)


def make():
    return VAE()


def train(model, folder):
    rows = torch.rand(12, 24)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    losses = []
    for epoch in range(4):
        model.train()
        for start in range(0, 12, 4):
            image = Variable(rows[start : start + 4])
            assert isinstance(image.data, Tensor)
            optimizer.zero_grad()
            recon, mu, logvar = model(image)
            loss = loss_function(recon, image, mu, logvar)
            loss.backward()
            losses.append(loss.data.item())
            optimizer.step()
    counts = torch.LongTensor(rows.size()).zero_().add_((rows > 0.5).long())
    return losses, counts, torch.typename(rows)
