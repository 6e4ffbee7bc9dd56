"""Models made of distributions: a VAE, policies, Gumbel-softmax, a mixture density network, a flow."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import distributions as D
from torch.distributions import Categorical, Independent, Normal, kl_divergence
from torch.distributions.mixture_same_family import MixtureSameFamily
from torch.distributions.multivariate_normal import MultivariateNormal
from torch.distributions.relaxed_categorical import RelaxedOneHotCategorical
from torch.distributions.transformed_distribution import TransformedDistribution
from torch.distributions.transforms import AffineTransform, SigmoidTransform, TanhTransform


class VAE(nn.Module):
    def __init__(self, latent=3):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(16, 12), nn.ReLU(), nn.Linear(12, 2 * latent))
        self.decoder = nn.Sequential(nn.Linear(latent, 12), nn.ReLU(), nn.Linear(12, 16))

    def forward(self, x):
        loc, raw = self.encoder(x).chunk(2, dim=-1)
        posterior = Independent(Normal(loc, F.softplus(raw) + 1e-4), 1)
        prior = Independent(Normal(torch.zeros_like(loc), torch.ones_like(loc)), 1)
        z = posterior.mean + posterior.stddev * torch.randn_like(loc)
        likelihood = Independent(D.Bernoulli(logits=self.decoder(z)), 1)
        kl = kl_divergence(posterior, prior)
        return -(likelihood.log_prob(x) - kl).mean(), kl.mean()


class Policies(nn.Module):
    def __init__(self):
        super().__init__()
        self.discrete = nn.Linear(4, 3)
        self.mean = nn.Linear(4, 2)
        self.log_std = nn.Parameter(torch.zeros(2))
        self.shape = nn.Linear(4, 2)

    def squashed(self, state):
        base = Normal(self.mean(state), self.log_std.exp())
        return TransformedDistribution(base, [TanhTransform(cache_size=1)])


class Mixture(nn.Module):
    def __init__(self, k=3):
        super().__init__()
        self.hidden = nn.Linear(1, 8)
        self.pi, self.mu, self.sigma = nn.Linear(8, k), nn.Linear(8, k), nn.Linear(8, k)

    def forward(self, x):
        h = torch.tanh(self.hidden(x))
        mix = Categorical(logits=self.pi(h))
        return MixtureSameFamily(mix, Normal(self.mu(h), torch.exp(self.sigma(h))))


class Flow(nn.Module):
    def __init__(self, dim=2):
        super().__init__()
        self.loc = nn.Parameter(torch.randn(2, dim) * 0.1)
        self.log_scale = nn.Parameter(torch.randn(2, dim) * 0.1)
        self.tril = nn.Parameter(torch.eye(dim) + 0.1)

    def forward(self):
        base = MultivariateNormal(torch.zeros(2), scale_tril=torch.tril(self.tril))
        steps = [
            AffineTransform(self.loc[0], self.log_scale[0].exp(), event_dim=1),
            D.IndependentTransform(SigmoidTransform(), 1),
            D.IndependentTransform(SigmoidTransform().inv, 1),
            AffineTransform(self.loc[1], self.log_scale[1].exp(), event_dim=1),
        ]
        return TransformedDistribution(base, steps)


class Chooser(nn.Module):
    def __init__(self):
        super().__init__()
        self.logits = nn.Parameter(torch.zeros(4, 5))

    def forward(self, temperature):
        choice = RelaxedOneHotCategorical(temperature, logits=self.logits)
        gumbel = -torch.log(-torch.log(torch.rand(4, 5).clamp(1e-6, 1 - 1e-6)))
        soft = F.softmax((choice.logits + gumbel) / temperature, dim=-1)
        return soft, choice


def make():
    return {"vae": VAE(), "policies": Policies(), "mdn": Mixture(), "flow": Flow(),
            "chooser": Chooser()}  # fmt: skip


def train(models, folder):
    return [
        train_vae(models["vae"]),
        train_policies(models["policies"]),
        train_mixture(models["mdn"]),
        train_flow(models["flow"]),
        train_chooser(models["chooser"]),
    ]


def train_vae(model):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    x, history = (torch.rand(32, 16) > 0.6).float(), []
    for _ in range(5):
        loss, kl = model(x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append([loss.item(), kl.item()])
    return history


def train_policies(model):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    history = []
    for _ in range(4):
        state, reward = torch.randn(8, 4), torch.randn(8)
        m = Categorical(logits=model.discrete(state))
        action = torch.multinomial(m.probs, 1).squeeze(-1)
        loss = -(m.log_prob(action) * reward).mean() - 0.01 * m.entropy().mean()
        squashed = model.squashed(state)
        pre = squashed.base_dist.loc + squashed.base_dist.scale * torch.randn(8, 2)
        act = squashed.transforms[0](pre)
        loss = loss + (0.2 * squashed.log_prob(act).sum(-1) - act.sum(-1) * reward).mean()
        a, b = (F.softplus(model.shape(state)) + 1).unbind(-1)
        beta = D.Beta(a, b)
        loss = loss - (beta.log_prob(torch.rand(8).clamp(0.01, 0.99)) * reward).mean()
        loss = loss - 0.01 * beta.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(loss.item())
    old = Categorical(logits=model.discrete(state).detach() + 0.1 * torch.randn(8, 3))
    return [history, kl_divergence(old, Categorical(logits=model.discrete(state))).mean()]


def train_mixture(model):
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    y = torch.linspace(-1, 1, 40).unsqueeze(-1)
    x = y + 0.4 * torch.sin(2 * math.pi * y)
    history = []
    for _ in range(5):
        loss = -model(x).log_prob(y.squeeze(-1)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(loss.item())
    out = model(x[:4])
    return [history, out.mean, out.variance, out.cdf(y[:4, 0])]


def train_flow(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    data = torch.randn(64, 2) * torch.tensor([0.5, 1.5]) + torch.tensor([1.0, -0.3])
    history = []
    for _ in range(6):
        loss = -model().log_prob(data).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(loss.item())
    return [history, tuple(model().rsample((7,)).shape), tuple(model().event_shape)]


def train_chooser(model):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    values, history = torch.arange(5.0), []
    for step in range(5):
        temperature = torch.tensor(max(0.5, math.exp(-0.1 * step)))
        soft, choice = model(temperature)
        loss = -(soft * values).sum(-1).mean() + 1e-3 * choice.log_prob(soft.detach()).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(loss.item())
    return [history, choice.rsample().sum(-1).round()]
