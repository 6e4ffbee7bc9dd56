"""Bags of words: EmbeddingBag with offsets, a collate function, fastText's tricks, word vectors."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader
from torch.utils.data.dataset import random_split

TEXTS = [
    (1, "the market fell on fears of war"), (2, "the striker scored twice in the final"),
    (3, "shares rose as profits doubled"), (4, "a new telescope maps the dark sky"),
    (2, "the coach left the team"), (3, "oil prices fell again"),
    (1, "talks on the treaty ended"), (4, "the chip runs twice as fast"),
]  # fmt: skip


class TextClassificationModel(nn.Module):
    def __init__(self, vocab_size, embed_dim, num_class):
        super(TextClassificationModel, self).__init__()
        self.embedding = nn.EmbeddingBag(vocab_size, embed_dim, sparse=False)
        self.fc = nn.Linear(embed_dim, num_class)
        self.init_weights()

    def init_weights(self):
        initrange = 0.5
        self.embedding.weight.data.uniform_(-initrange, initrange)
        self.fc.weight.data.uniform_(-initrange, initrange)
        self.fc.bias.data.zero_()

    def forward(self, text, offsets):
        embedded = self.embedding(text, offsets)
        return self.fc(embedded)


class SkipGram(nn.Module):
    """Word vectors by negative sampling."""

    def __init__(self, n_vocab, n_embed):
        super().__init__()
        self.in_embed = nn.Embedding(n_vocab, n_embed)
        self.out_embed = nn.Embedding(n_vocab, n_embed)
        self.in_embed.weight.data.uniform_(-1, 1)
        self.out_embed.weight.data.uniform_(-1, 1)

    def forward(self, words, context, noise):
        v = self.in_embed(words)
        u = self.out_embed(context)
        out_loss = torch.bmm(u.view(-1, 1, u.size(1)), v.view(-1, v.size(1), 1)).sigmoid().log()
        noise_loss = torch.bmm(self.out_embed(noise).neg(), v.unsqueeze(2)).sigmoid().log()
        return -(out_loss.squeeze() + noise_loss.squeeze().sum(1)).mean()


class Weighted(nn.Module):
    """Words weighted by how rare they are, the large softmax cut into clusters."""

    def __init__(self, n_vocab, dim):
        super().__init__()
        self.bag = nn.EmbeddingBag(n_vocab, dim, mode="sum", padding_idx=0)
        self.peak = nn.EmbeddingBag(n_vocab, dim, mode="max")
        self.out = nn.AdaptiveLogSoftmaxWithLoss(dim, n_vocab, cutoffs=[5, 12], div_value=2.0)

    def forward(self, words, weights, target):
        h = self.bag(words, per_sample_weights=weights) + self.peak(words)
        return self.out(torch.tanh(h), target)


VOCAB = {w: i + 1 for i, w in enumerate(sorted({w for _, text in TEXTS for w in text.split()}))}


def text_pipeline(x):
    return [VOCAB.get(word, 0) for word in x.split()]


def collate_batch(batch):
    label_list, text_list, offsets = [], [], [0]
    for _label, _text in batch:
        label_list.append(int(_label) - 1)
        processed_text = torch.tensor(text_pipeline(_text), dtype=torch.int64)
        text_list.append(processed_text)
        offsets.append(processed_text.size(0))
    label_list = torch.tensor(label_list, dtype=torch.int64)
    offsets = torch.tensor(offsets[:-1]).cumsum(dim=0)
    text_list = torch.cat(text_list)
    return label_list, text_list, offsets


def make():
    n = len(VOCAB) + 1
    return {"news": TextClassificationModel(n, 8, 4), "words": SkipGram(n, 6),
            "weighted": Weighted(n, 8)}  # fmt: skip


def train(models, folder):
    results = []
    model = models["news"]
    train_set, _ = random_split(TEXTS, [len(TEXTS), 0])
    dataloader = DataLoader(TEXTS, batch_size=4, shuffle=False, collate_fn=collate_batch)
    criterion = torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=5)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1.0, gamma=0.1)
    model.train()
    total_acc, total_count = 0, 0
    for _ in range(2):
        for idx, (label, text, offsets) in enumerate(dataloader):
            optimizer.zero_grad()
            predicted_label = model(text, offsets)
            loss = criterion(predicted_label, label)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            optimizer.step()
            total_acc += (predicted_label.argmax(1) == label).sum().item()
            total_count += label.size(0)
            results.append(loss.item())
        scheduler.step()
    results += [total_acc / total_count, len(train_set)]

    model = models["words"]
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    words, context = torch.randint(0, 20, (16,)), torch.randint(0, 20, (16,))
    noise_dist = torch.ones(20) ** 0.75
    for _ in range(2):
        noise = torch.multinomial(noise_dist, 16 * 5, replacement=True).view(16, 5)
        loss = model(words, context, noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        results.append(loss.item())
    embed = model.in_embed.weight.detach()
    similarity = F.cosine_similarity(embed[3].unsqueeze(0), embed)
    results.append(torch.topk(similarity, 4).indices)

    model = models["weighted"]
    words, weights = torch.randint(0, 20, (6, 4)), torch.rand(6, 4, requires_grad=True)
    output, loss = model(words, weights, torch.randint(0, 20, (6,)))
    loss.backward()
    results += [output, loss, weights.grad, model.out.log_prob(torch.ones(2, 8))]
    return results + [model.out.predict(torch.ones(2, 8))]
