"""A generator fills masked words in, a discriminator finds the replaced ones: labels of float64."""

from collections import namedtuple
from functools import reduce

import torch
import torch.nn.functional as F
from torch import nn

Results = namedtuple("Results", ["loss", "mlm_loss", "disc_loss", "gen_acc", "disc_acc"])


def log(t, eps=1e-9):
    return torch.log(t + eps)


def gumbel_sample(t, temperature=1.0):
    noise = -log(-log(torch.rand_like(t)))
    return ((t / temperature) + noise).argmax(dim=-1)


def prob_mask_like(t, prob):
    return torch.rand(t.shape) < prob


def mask_with_tokens(t, token_ids):
    none = torch.full_like(t, False, dtype=torch.bool)
    return reduce(lambda acc, el: acc | (t == el), token_ids, none)


def get_mask_subset_with_prob(mask, prob):
    batch, length = mask.shape
    count = max(1, int(prob * length))
    tokens = mask.sum(dim=-1, keepdim=True)
    excess = mask.cumsum(dim=-1) > (tokens * prob).ceil()
    excess = excess[:, :count]
    rand = torch.rand((batch, length)).masked_fill(~mask, -1e9)
    _, chosen = rand.topk(count, dim=-1)
    chosen = (chosen + 1).masked_fill_(excess, 0)
    new_mask = torch.zeros((batch, length + 1))
    new_mask.scatter_(-1, chosen, 1)
    return new_mask[:, 1:].bool()


class Network(nn.Module):
    def __init__(self, words, dim, out):
        super().__init__()
        self.token_emb = nn.Embedding(words, dim)
        self.mix = nn.GRU(dim, dim, batch_first=True)
        self.to_out = nn.Linear(dim, out)

    def forward(self, x):
        return self.to_out(self.mix(self.token_emb(x))[0])


class Electra(nn.Module):
    def __init__(self, words=16):
        super().__init__()
        self.generator = Network(words, 6, words)
        self.discriminator = Network(words, 8, 1)

    def forward(self, input, mask_token_id=2, mask_prob=0.3):
        no_mask = mask_with_tokens(input, {0, 1})
        mask = get_mask_subset_with_prob(~no_mask, mask_prob)
        places = torch.nonzero(mask, as_tuple=True)
        masked = input.clone().detach().masked_fill(mask & prob_mask_like(input, 0.85), 2)
        logits = self.generator(masked)
        mlm_loss = F.cross_entropy(logits.transpose(1, 2), input.masked_fill(~mask, 0),
                                   ignore_index=0)  # fmt: skip
        sampled = gumbel_sample(logits[places].detach())
        disc_input = masked.clone()
        disc_input[places] = sampled.detach()
        labels = (input != disc_input).double().detach()
        known = torch.nonzero(input != 0, as_tuple=True)
        disc_logits = self.discriminator(disc_input).reshape_as(labels)
        disc_loss = F.binary_cross_entropy_with_logits(disc_logits[known], labels[known])
        with torch.no_grad():
            gen_acc = (labels[mask] == 0).float().mean()
            disc_acc = 0.5 * ((torch.sign(disc_logits) + 1.0) * 0.5 == labels).float().mean()
        return Results(mlm_loss + 50 * disc_loss, mlm_loss, disc_loss, gen_acc, disc_acc)


def make():
    return Electra()


def train(model, folder):
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=0.01)
    history = []
    for _ in range(5):
        words = torch.randint(1, 16, (4, 10))
        words[1, 7:] = 0
        optimizer.zero_grad()
        results = model(words)
        results.loss.backward()
        optimizer.step()
        history.append([value.item() for value in results])
    assert results.disc_loss.dtype == results.loss.dtype == torch.float64
    return history
