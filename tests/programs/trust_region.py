"""A trust region for a policy: Fisher products by two backward passes, conjugate gradients."""

import math

import torch
import torch.nn as nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters


class Policy(nn.Module):
    def __init__(self, states, actions):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(states, 12), nn.Tanh(), nn.Linear(12, 12), nn.Tanh())
        self.mean = nn.Linear(12, actions)
        self.mean.weight.data.mul_(0.1)
        self.mean.bias.data.mul_(0.0)
        self.log_std = nn.Parameter(torch.ones(1, actions) * -0.5)

    def forward(self, x):
        mean = self.mean(self.body(x))
        log_std = self.log_std.expand_as(mean)
        return mean, log_std, torch.exp(log_std)

    def log_prob(self, x, actions):
        mean, log_std, std = self(x)
        density = -(actions - mean).pow(2) / (2 * std.pow(2)) - 0.5 * math.log(2 * math.pi)
        return (density - log_std).sum(1, keepdim=True)

    def divergence(self, x):
        mean, log_std, std = self(x)
        mean0, log_std0, std0 = mean.detach(), log_std.detach(), std.detach()
        kl = log_std - log_std0 + (std0.pow(2) + (mean0 - mean).pow(2)) / (2.0 * std.pow(2)) - 0.5
        return kl.sum(1, keepdim=True)


def conjugate_gradients(product, b, steps=8, tolerance=1e-10):
    x, r, p = torch.zeros(b.size()), b.clone(), b.clone()
    rdotr = torch.dot(r, r)
    for _ in range(steps):
        z = product(p)
        alpha = rdotr / torch.dot(p, z)
        x += alpha * p
        r -= alpha * z
        new = torch.dot(r, r)
        if new < tolerance:
            break
        p = r + new / rdotr * p
        rdotr = new
    return x


def advantages(rewards, masks, values, gamma=0.99, tau=0.95):
    deltas, out = (rewards.new_empty(rewards.size(0), 1).fill_(0.0) for _ in range(2))
    last_value, last = 0, 0
    for i in reversed(range(rewards.size(0))):
        deltas[i] = rewards[i] + gamma * last_value * masks[i] - values[i]
        out[i] = deltas[i] + gamma * tau * last * masks[i]
        last_value, last = values[i, 0], out[i, 0]
    return (out - out.mean()) / out.std(), values + out


def make():
    critic = nn.Sequential(nn.Linear(3, 12), nn.Tanh(), nn.Linear(12, 1))
    return {"policy": Policy(3, 2), "critic": critic}


def train(models, folder):
    policy, critic = models["policy"], models["critic"]
    states, noise, rewards = torch.randn(16, 3), torch.randn(16, 2), torch.rand(16)
    masks = torch.ones(16)
    masks[7] = masks[15] = 0.0
    optimizer = torch.optim.Adam(critic.parameters(), lr=1e-2)
    kept = []
    for _ in range(2):
        with torch.no_grad():
            mean, _, std = policy(states)
            actions = mean + std * noise
            fixed = policy.log_prob(states, actions)
            gain, returns = advantages(rewards, masks, critic(states))
        for _ in range(3):
            loss = (critic(states) - returns).pow(2).mean()
            loss = loss + sum(p.pow(2).sum() * 1e-3 for p in critic.parameters())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

        def surrogate():
            return -(gain * torch.exp(policy.log_prob(states, actions) - fixed)).mean()

        def fisher(v):
            kl = policy.divergence(states).mean()
            grads = torch.autograd.grad(kl, policy.parameters(), create_graph=True)
            flat = torch.cat([grad.view(-1) for grad in grads])
            grads = torch.autograd.grad((flat * v).sum(), policy.parameters())
            return torch.cat([grad.contiguous().view(-1) for grad in grads]) + v * 0.1

        loss = surrogate()
        gradient = parameters_to_vector(torch.autograd.grad(loss, policy.parameters()))
        direction = conjugate_gradients(fisher, -gradient)
        half = 0.5 * direction.dot(fisher(direction))
        full_step = direction * math.sqrt(1e-2 / half)
        before = parameters_to_vector(policy.parameters()).detach().clone()
        improved = False
        for shrink in [0.5**k for k in range(6)]:
            vector_to_parameters(before + shrink * full_step, policy.parameters())
            with torch.no_grad():
                improved = bool(surrogate() < loss)
            if improved:
                break
        kept += [loss.item(), half.item(), improved, shrink]
    return kept, parameters_to_vector(policy.parameters()), returns
