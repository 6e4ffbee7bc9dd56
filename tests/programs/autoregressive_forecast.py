"""A forecast by an LSTM that predicts a normal distribution for the next value, and samples."""

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self, series=5, embedding=3, covariates=2, hidden=8, layers=2):
        super().__init__()
        self.embedding = nn.Embedding(series, embedding)
        self.lstm = nn.LSTM(1 + covariates + embedding, hidden, layers, bias=True, dropout=0.0)
        # The forget gates start open
        for names in self.lstm._all_weights:
            for name in filter(lambda n: "bias" in n, names):
                bias = getattr(self.lstm, name)
                n = bias.size(0)
                bias.data[n // 4 : n // 2].fill_(1.0)
        self.relu = nn.ReLU()
        self.mu = nn.Linear(hidden * layers, 1)
        self.presigma = nn.Linear(hidden * layers, 1)
        self.sigma = nn.Softplus()
        self.layers, self.hidden = layers, hidden

    def forward(self, x, which, hidden, cell):
        x = torch.cat((x, self.embedding(which)), dim=2)
        _, (hidden, cell) = self.lstm(x, (hidden, cell))
        top = hidden.permute(1, 2, 0).contiguous().view(hidden.shape[1], -1)
        mu, sigma = self.mu(top), self.sigma(self.presigma(top))
        return torch.squeeze(mu), torch.squeeze(sigma), hidden, cell

    def start(self, n):
        return tuple(torch.zeros(self.layers, n, self.hidden) for _ in range(2))

    def sample(self, x, which, start, steps):
        """`steps` values after the first `start`, each fed back as the next input."""
        hidden, cell = self.start(x.size(1))
        for t in range(start):
            mu, sigma, hidden, cell = self(x[t].unsqueeze(0), which, hidden, cell)
        drawn = []
        for t in range(start, start + steps):
            value = torch.distributions.normal.Normal(mu, sigma).sample()
            drawn.append(value)
            x[t, :, 0] = value
            mu, sigma, hidden, cell = self(x[t].unsqueeze(0), which, hidden, cell)
        return torch.stack(drawn), mu, sigma


def loss_fn(mu, sigma, labels):
    known = labels != 0
    normal = torch.distributions.normal.Normal(mu[known], sigma[known])
    return -torch.mean(normal.log_prob(labels[known]))


def make():
    return Net()


def train(model, folder):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    time = torch.arange(12.0)
    history = []
    for step in range(4):
        which = torch.LongTensor([[0, 1, 2, 4]])
        values = torch.sin(time[:, None] * (which.float() + 1) * 0.3 + step)
        values[3, 1] = 0
        covariates = torch.stack([time / 12, torch.cos(time)], 1)[:, None].expand(-1, 4, -1)
        x = torch.cat([values[:, :, None], covariates], 2)
        optimizer.zero_grad()
        loss = torch.zeros(1)
        hidden, cell = model.start(4)
        for t in range(11):
            missing = x[t, :, 0] == 0
            if t > 0 and missing.sum() > 0:
                x[t, missing, 0] = mu[missing].detach()
            mu, sigma, hidden, cell = model(x[t].unsqueeze(0).clone(), which, hidden, cell)
            loss = loss + loss_fn(mu, sigma, values[t + 1])
        loss.backward()
        optimizer.step()
        history.append(loss.item() / 11)
    with torch.no_grad():
        drawn, mu, sigma = model.sample(x.clone(), which, 6, 3)
    return [history, mu.shape, drawn.shape]
