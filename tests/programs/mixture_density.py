"""Distributions as layers: a mixture density network, a flow, soft actor-critic's policy, a VAE."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import distributions as D
from torch.distributions import Categorical, Normal, kl_divergence
from torch.distributions.multivariate_normal import MultivariateNormal
from torch.distributions.transformed_distribution import TransformedDistribution
from torch.distributions.transforms import AffineTransform, TanhTransform


class MDN(nn.Module):
    def __init__(self, n_hidden, n_gaussians):
        super(MDN, self).__init__()
        self.z_h = nn.Sequential(nn.Linear(1, n_hidden), nn.Tanh())
        self.z_pi = nn.Linear(n_hidden, n_gaussians)
        self.z_mu = nn.Linear(n_hidden, n_gaussians)
        self.z_sigma = nn.Linear(n_hidden, n_gaussians)

    def forward(self, x):
        z_h = self.z_h(x)
        mix = D.Categorical(logits=self.z_pi(z_h))
        comp = D.Normal(self.z_mu(z_h), torch.exp(self.z_sigma(z_h)))
        return D.MixtureSameFamily(mix, comp)


class PlanarFlow(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.u = nn.Parameter(torch.Tensor(1, dim).uniform_(-0.1, 0.1))
        self.w = nn.Parameter(torch.Tensor(1, dim).uniform_(-0.1, 0.1))
        self.b = nn.Parameter(torch.zeros(1))

    def forward(self, z):
        linear = F.linear(z, self.w, self.b)
        phi = (1 - torch.tanh(linear) ** 2) * self.w
        log_det = torch.log(torch.abs(1 + torch.mm(phi, self.u.t())) + 1e-9)
        return z + self.u * torch.tanh(linear), log_det


class Flow(nn.Module):
    def __init__(self, dim=2, length=3):
        super().__init__()
        self.net = nn.ModuleList(PlanarFlow(dim) for _ in range(length))
        self.register_buffer("loc", torch.zeros(dim))
        self.register_buffer("cov", torch.tensor([[1.0, 0.3], [0.3, 0.8]]))

    def forward(self, z):
        base = MultivariateNormal(self.loc, covariance_matrix=self.cov)
        log_prob = base.log_prob(z)
        for flow in self.net:
            z, log_det = flow(z)
            log_prob = log_prob - log_det.squeeze(-1)
        return z, log_prob


class Actor(nn.Module):
    LOG_STD_MIN, LOG_STD_MAX = -5, 2

    def __init__(self, obs, act):
        super().__init__()
        self.fc1 = nn.Linear(obs, 16)
        self.fc_mean = nn.Linear(16, act)
        self.fc_logstd = nn.Linear(16, act)
        self.register_buffer("action_scale", torch.tensor([2.0, 0.5]))
        self.register_buffer("action_bias", torch.tensor([0.0, 0.1]))

    def get_action(self, x):
        x = F.relu(self.fc1(x))
        mean, log_std = self.fc_mean(x), torch.tanh(self.fc_logstd(x))
        span = self.LOG_STD_MAX - self.LOG_STD_MIN
        std = (self.LOG_STD_MIN + 0.5 * span * (log_std + 1)).exp()
        normal = Normal(mean, std)
        x_t = mean + std * torch.randn_like(mean)  # what rsample does
        y_t = torch.tanh(x_t)
        action = y_t * self.action_scale + self.action_bias
        log_prob = normal.log_prob(x_t)
        log_prob -= torch.log(self.action_scale * (1 - y_t.pow(2)) + 1e-6)
        squashed = TransformedDistribution(
            Normal(mean, std), [TanhTransform(cache_size=1), AffineTransform(self.action_bias, self.action_scale)]
        )  # fmt: skip
        return action, log_prob.sum(1, keepdim=True), squashed.log_prob(action.detach())


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(6, 4)
        self.classes = nn.Linear(6, 3)

    def forward(self, x):
        mu, log_scale = self.net(x).chunk(2, dim=-1)
        return D.Independent(Normal(mu, F.softplus(log_scale)), 1), Categorical(
            logits=self.classes(x)
        )


def make():
    return {"mdn": MDN(12, 4), "flow": Flow(), "actor": Actor(3, 2), "encoder": Encoder()}


def train(models, folder):
    results = []
    x = torch.linspace(-2, 2, 20).unsqueeze(1)
    y = (x + 0.3 * torch.sin(5 * x)).squeeze(1) + 0.05 * torch.randn(20)
    optimizer = torch.optim.Adam(models["mdn"].parameters(), lr=0.01)
    for _ in range(3):
        dist = models["mdn"](x)
        loss = -dist.log_prob(y).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        results.append(loss.item())
    results += [dist.mean, dist.variance, dist.cdf(y), tuple(dist.batch_shape)]

    optimizer = torch.optim.RMSprop(models["flow"].parameters(), lr=1e-3)
    target = D.Independent(D.StudentT(torch.tensor([4.0, 5.0])), 1)
    for _ in range(3):
        z, log_prob = models["flow"](torch.randn(16, 2))
        loss = (log_prob - target.log_prob(z)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        results.append(loss.item())

    action, log_prob, other = models["actor"].get_action(torch.randn(5, 3))
    (0.2 * log_prob - action.sum(1, keepdim=True)).mean().backward()
    results += [action, log_prob, other]

    q, c = models["encoder"](torch.randn(5, 6))
    prior = D.Independent(Normal(torch.zeros(2), torch.ones(2)), 1)
    uniform = Categorical(probs=torch.ones(5, 3) / 3)
    loss = (
        kl_divergence(q, prior).mean() + kl_divergence(c, uniform).mean() - 0.1 * c.entropy().mean()
    )
    loss.backward()
    beta = D.Beta(torch.tensor([0.5, 2.0]), torch.tensor([1.5, 3.0]))
    gamma = D.Gamma(torch.tensor([2.0, 0.7]), torch.tensor([1.0, 4.0]))
    results += [loss.item(), beta.log_prob(torch.tensor([0.3, 0.6])), beta.entropy(), gamma.mean]
    results += [
        D.Poisson(torch.tensor(3.0)).log_prob(torch.tensor([0.0, 2.0, 5.0])),
        gamma.entropy(),
    ]
    return results + [
        D.Dirichlet(torch.tensor([1.0, 2.0, 3.0])).entropy(),
        tuple(prior.event_shape),
    ]
