"""Programs as learners write them for PyTorch: both libraries give the same numbers.

Each is a function of the library (`torch` below, whichever it is) and of a source of numbers, and
returns what is to be compared. This file: from the bigram model to the transformer. Training
loops, second derivatives and idioms are in test_pytorch_idioms.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from .both import Numbers, assert_same_in_both

WORDS = ["emma", "olivia", "ava", "isabella", "sophia", "charlotte", "mia", "amelia", "harper"]
LETTERS = ["."] + sorted(set("".join(WORDS)))
NUMBER = {letter: i for i, letter in enumerate(LETTERS)}
V = len(LETTERS)


def contexts(torch: Any, length: int) -> tuple[Any, Any]:
    """(N, length) letters that came before, and the N letters that came next."""
    xs, ys = [], []
    for word in WORDS:
        context = [0] * length
        for letter in word + ".":
            xs.append(context)
            ys.append(NUMBER[letter])
            context = context[1:] + [NUMBER[letter]]
    return torch.tensor(xs), torch.tensor(ys)


# ------------------------------------------------------------------------------------------
# Names, letter by letter
# ------------------------------------------------------------------------------------------


def bigram_by_counting(torch: Any, F: Any, make: Numbers) -> list:
    N = torch.zeros((V, V), dtype=torch.int32)
    for word in WORDS:
        for a, b in zip("." + word, word + "."):
            N[NUMBER[a], NUMBER[b]] += 1
    P = (N + 1).float()
    P /= P.sum(1, keepdims=True)
    g = torch.Generator().manual_seed(2147483647)
    samples, ix = [], 0
    for _ in range(5):
        ix = torch.multinomial(P[ix], num_samples=1, replacement=True, generator=g).item()
        samples.append(LETTERS[ix])
    log_likelihood = 0.0
    for word in WORDS[:3]:
        for a, b in zip("." + word, word + "."):
            log_likelihood += torch.log(P[NUMBER[a], NUMBER[b]])
    return [N, P, len(samples), log_likelihood, f"{log_likelihood=}", f"{-log_likelihood:.4f}"]


def bigram_by_gradient(torch: Any, F: Any, make: Numbers) -> list:
    xs, ys = contexts(torch, 1)
    xs, n = xs.squeeze(1), ys.nelement()
    W = make.leaf(V, V)
    losses = []
    for _ in range(5):
        counts = (F.one_hot(xs, num_classes=V).float() @ W).exp()
        probs = counts / counts.sum(1, keepdims=True)
        loss = -probs[torch.arange(n), ys].log().mean() + 0.01 * (W**2).mean()
        W.grad = None
        loss.backward()
        W.data += -10 * W.grad
        losses.append(loss.item())
    return [losses, W, W.grad, probs]


def mlp_with_embeddings(torch: Any, F: Any, make: Numbers) -> list:
    X, Y = contexts(torch, 3)
    C, W1, b1, W2 = make.normal(V, 2), make.normal(6, 20), make.normal(20), make.normal(20, V)
    parameters = [C, W1, b1, W2]
    for p in parameters:
        p.requires_grad = True
    lrs = 10 ** torch.linspace(-3, -1, 6)
    for lr in lrs:
        ix = make.integers(X.shape[0], 8)
        emb = C[X[ix]]  # (8, 3, 2)
        h = torch.tanh(emb.view(-1, 6) @ W1 + b1)
        same = torch.tanh(torch.cat(torch.unbind(emb, 1), 1) @ W1 + b1)
        loss = F.cross_entropy(h @ W2, Y[ix])
        for p in parameters:
            p.grad = None
        loss.backward()
        for p in parameters:
            p.data += -lr * p.grad
    with torch.no_grad():
        everything = F.cross_entropy(torch.tanh(C[X].view(X.shape[0], -1) @ W1 + b1) @ W2, Y)
    return [torch.allclose(h, same), loss, everything, parameters, [p.grad for p in parameters]]


def backprop_by_hand(torch: Any, F: Any, make: Numbers) -> list:
    X, Y = contexts(torch, 3)
    n = 16
    C, W1, W2, b2 = make.leaf(V, 4), make.leaf(12, 9), make.leaf(9, V), make.leaf(V)
    gain, bias = torch.ones((1, 9), requires_grad=True), torch.zeros((1, 9), requires_grad=True)
    Xb, Yb = X[:n], Y[:n]
    emb = C[Xb]
    embcat = emb.view(emb.shape[0], -1)
    hprebn = embcat @ W1
    diff = hprebn - 1 / n * hprebn.sum(0, keepdim=True)
    var_inv = (1 / (n - 1) * (diff**2).sum(0, keepdim=True) + 1e-5) ** -0.5
    raw = diff * var_inv
    hpreact = gain * raw + bias
    h = torch.tanh(hpreact)
    logits = h @ W2 + b2
    norm_logits = logits - logits.max(1, keepdim=True).values
    counts = norm_logits.exp()
    probs = counts * counts.sum(1, keepdims=True) ** -1
    loss = -probs.log()[range(n), Yb].mean()
    kept = [probs, counts, norm_logits, logits, h, hpreact, raw, var_inv, diff, hprebn, emb]
    for t in kept:
        t.retain_grad()
    loss.backward()

    dlogits = F.softmax(logits, 1).detach()
    dlogits[range(n), Yb] -= 1
    dlogits /= n
    dhpreact = (1.0 - h**2) * (dlogits @ W2.T)
    scale = gain * var_inv / n
    spread = n / (n - 1) * raw * (dhpreact * raw).sum(0)
    dhprebn = scale * (n * dhpreact - dhpreact.sum(0) - spread)
    demb = (dhprebn @ W1.T).view(emb.shape)
    dC = torch.zeros_like(C)
    for k in range(Xb.shape[0]):
        for j in range(Xb.shape[1]):
            dC[Xb[k, j]] += demb[k, j]
    pairs = [(dlogits, logits), (dC, C), (embcat.T @ dhprebn, W1), (h.T @ dlogits, W2)]
    agree = [torch.allclose(d, t.grad, atol=1e-5) for d, t in pairs]
    return [loss, agree, all(agree), [t.grad for t in kept], dC]


def wavenet_with_batch_norm(torch: Any, F: Any, make: Numbers) -> list:
    X, Y = contexts(torch, 4)
    C, W1, W2, W3 = make.normal(V, 4), make.normal(8, 6), make.normal(12, 6), make.normal(6, V)
    gains = [torch.ones(6), torch.ones(6)]
    means, variances = [torch.zeros(6)] * 2, [torch.ones(6)] * 2
    with torch.no_grad():
        W3 *= 0.1
    parameters = [C, W1, W2, W3, *gains]
    for p in parameters:
        p.requires_grad = True
    for _ in range(3):
        x = C[X]
        for i, W in enumerate((W1, W2)):
            B, T, channels = x.shape
            x = x.view(B, T // 2, channels * 2)
            if x.shape[1] == 1:
                x = x.squeeze(1)
            x = x @ W
            dim = 0 if x.ndim == 2 else (0, 1)
            mean, var = x.mean(dim, keepdim=True), x.var(dim, keepdim=True)
            x = torch.tanh(gains[i] * (x - mean) / torch.sqrt(var + 1e-5))
            with torch.no_grad():
                means[i] = 0.9 * means[i] + 0.1 * mean
                variances[i] = 0.9 * variances[i] + 0.1 * var
        loss = F.cross_entropy(x @ W3, Y)
        for p in parameters:
            p.grad = None
        loss.backward()
        for p in parameters:
            p.data += -0.1 * p.grad
    update = [((0.1 * p.grad).std() / p.data.std()).log10().item() for p in parameters[:4]]
    return [loss, update, means, variances, parameters]


def recurrent_cells(torch: Any, F: Any, make: Numbers) -> list:
    B, T, D, H = 3, 5, 4, 6
    x, Wi, Wh, b = make.normal(B, T, D), make.leaf(4 * H, D), make.leaf(4 * H, H), make.leaf(4 * H)
    h, c, hs = torch.zeros(B, H), x.new_zeros(B, H), []
    for xt in x.unbind(1):
        i, f, g, o = (F.linear(xt, Wi, b) + F.linear(h, Wh)).chunk(4, 1)
        i, f, o = map(torch.sigmoid, (i, f, o))
        c = f * c + i * g.tanh()
        h = o * c.tanh()
        hs.append(h)
    lstm = torch.stack(hs, dim=1)
    Ui, Uh = make.leaf(D, 3 * H), make.leaf(H, 3 * H)
    h, gru = torch.zeros((B, H), dtype=x.dtype, device=x.device), torch.zeros(T, B, H)
    for t in range(T):
        ir, iz, inew = torch.split(x[:, t, :] @ Ui, H, -1)
        hr, hz, hnew = (h @ Uh).split([H, H, H], dim=-1)
        z = torch.sigmoid(iz + hz)
        h = (1 - z) * torch.tanh(inew + torch.sigmoid(ir + hr) * hnew) + z * h
        gru[t] = h
    lengths = torch.tensor([5, 2, 3])
    mask = torch.arange(T)[None, :] < lengths[:, None]
    last = lstm[torch.arange(B), lengths - 1]
    also = lstm.gather(1, (lengths - 1).view(-1, 1, 1).expand(-1, 1, H)).squeeze(1)
    pooled = (lstm * mask.unsqueeze(-1)).sum(1) / lengths.unsqueeze(1)
    (last.pow(2).sum() + (pooled * also).sum() + gru.permute(1, 0, 2)[mask].exp().sum()).backward()
    return [lstm, gru, pooled, [p.grad for p in (Wi, Wh, b, Ui, Uh)]]


def state_space_scan(torch: Any, F: Any, make: Numbers) -> list:
    B, L, D, N = 2, 5, 3, 4
    u, delta = make.leaf(B, L, D), F.softplus(make.normal(B, L, D))
    A = -torch.arange(1, N + 1, dtype=torch.float32).repeat(D, 1)
    Bm, Cm = make.normal(B, L, N), make.normal(B, L, N)
    decay = torch.exp(torch.einsum("bld,dn->bldn", delta, A))
    push = torch.einsum("bld,bln,bld->bldn", delta, Bm, u)
    state, ys = torch.zeros(B, D, N), []
    for i in range(L):
        state = decay[:, i] * state + push[:, i]
        ys.append(torch.einsum("bdn,bn->bd", state, Cm[:, i, :]))
    y = torch.stack(ys, dim=1) + u
    betas = torch.linspace(1e-4, 0.02, 10)  # and a diffusion schedule
    kept = torch.cumprod(1 - betas, dim=0)
    steps = torch.tensor([1, 4])
    noisy = kept.gather(-1, steps).sqrt().view(-1, 1, 1) * u
    (y * y + noisy.exp()).sum().backward()
    return [y, F.pad(kept[:-1], (1, 0), value=1.0), torch.logcumsumexp(u, 1), u.grad]


# ------------------------------------------------------------------------------------------
# Attention
# ------------------------------------------------------------------------------------------


def attention_four_ways(torch: Any, F: Any, make: Numbers) -> list:
    B, T, C, H = 2, 5, 12, 3
    x, W = make.leaf(B, T, C), make.leaf(3 * C, C, scale=0.3)
    qkv = F.linear(x, W)
    q, k, v = (part.view(B, T, H, C // H).transpose(1, 2) for part in qkv.split(C, dim=2))
    att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
    tril = torch.tril(torch.ones(T, T)).view(1, 1, T, T)
    att = F.softmax(att.masked_fill(tril[:, :, :T, :T] == 0, float("-inf")), dim=-1)
    first = (att @ v).transpose(1, 2).contiguous().view(B, T, C)
    q2, k2, v2 = qkv.view(B, T, 3, H, C // H).unbind(2)
    scores = torch.einsum("bqhd,bkhd->bhqk", q2, k2) / math.sqrt(C // H)
    scores.masked_fill_(torch.triu(torch.ones(T, T, dtype=torch.bool), diagonal=1), -torch.inf)
    second = torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), v2).reshape(B, T, C)
    q3, k3, v3 = qkv.reshape(B, T, 3, H, -1).permute(2, 0, 3, 1, 4)
    bias = torch.zeros(T, T).masked_fill(~torch.ones(T, T).tril().bool(), float("-inf"))
    third = torch.softmax(q3 @ k3.mT / (C // H) ** 0.5 + bias, -1) @ v3
    third = third.permute(0, 2, 1, 3).flatten(2)
    fourth = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    (first * second + third.exp()).sum().backward()
    return [first, second, third, fourth, x.grad, W.grad, q.is_contiguous(), list(q.stride())]


def positions(torch: Any, F: Any, make: Numbers) -> list:
    d, T = 8, 6
    pe = torch.zeros(T, d)
    position = torch.arange(0, T, dtype=torch.float).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d, 2).float() * (-math.log(10000.0) / d))
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term)
    x = make.leaf(2, T, 3, d)
    angles = torch.outer(torch.arange(T).float(), 1.0 / (10000 ** (torch.arange(0, d, 2) / d)))
    cos, sin = angles.cos()[None, :, None, :], angles.sin()[None, :, None, :]
    x1, x2 = x[..., ::2], x[..., 1::2]
    pairs = torch.stack([x1 * cos - x2 * sin, x1 * sin + x2 * cos], dim=-1).flatten(-2)
    written = torch.empty_like(x)
    written[..., 0::2] = x1 * cos - x2 * sin
    written[..., 1::2] = x1 * sin + x2 * cos
    left, right = x.chunk(2, dim=-1)
    whole = torch.cat((angles, angles), dim=-1).unsqueeze(1)
    halves = x * whole.cos() + torch.cat((-right, left), dim=-1) * whole.sin()
    (pairs * halves + written**2).sum().backward()
    distance = torch.arange(T)[None] - torch.arange(T)[:, None]
    alibi = torch.pow(2.0, -torch.arange(1, 5) * 2.0).view(4, 1, 1) * -distance.abs()
    table = make.leaf(5, 2)
    bias = table[distance.clamp(-2, 2) + 2].permute(2, 0, 1)
    (bias * bias).sum().backward()
    return [pe.unsqueeze(0), pairs, halves, x.grad, alibi, bias, table.grad]


def sampling(torch: Any, F: Any, make: Numbers) -> list:
    logits = make.normal(3, 20, scale=3.0)
    top_k = logits / 0.8
    v, _ = torch.topk(top_k, min(5, top_k.size(-1)))
    top_k[top_k < v[:, [-1]]] = -float("Inf")
    ordered, order = torch.sort(logits, descending=True)
    remove = torch.cumsum(F.softmax(ordered, dim=-1), dim=-1) > 0.9
    remove[..., 1:] = remove[..., :-1].clone()
    remove[..., 0] = 0
    top_p = logits.masked_fill(remove.scatter(1, order, remove), float("-inf"))
    one_row = logits[0].clone()
    one_row[order[0][remove[0]]] = -float("Inf")
    seen = torch.tensor([[1, 2, 2], [0, 5, 7], [19, 3, 3]])
    score = torch.gather(logits, 1, seen)
    penalised = logits.scatter(1, seen, torch.where(score < 0, score * 1.3, score / 1.3))
    probs, ix = torch.sort(F.softmax(logits, -1), dim=-1, descending=True)
    probs[torch.cumsum(probs, -1) - probs > 0.7] = 0.0
    probs.div_(probs.sum(dim=-1, keepdim=True))
    token = torch.gather(ix, -1, torch.multinomial(probs, num_samples=1))
    ids = torch.cat((torch.zeros((3, 1), dtype=torch.long), token), dim=1)
    seqs, total = torch.zeros(1, 1, dtype=torch.long), torch.zeros(1)  # beam search
    W = make.normal(7, 7)
    for _ in range(4):
        scores = (total.unsqueeze(1) + F.log_softmax(W[seqs[:, -1]], dim=-1)).view(-1)
        total, best = scores.topk(3)
        seqs = torch.cat([seqs[best // 7], (best % 7).unsqueeze(1)], dim=1)
    return [top_k, top_p, one_row, penalised, probs, list(ids.shape), seqs, total]


def key_value_cache(torch: Any, F: Any, make: Numbers) -> list:
    B, H, T, D = 2, 2, 5, 4
    q, k, v = (make.normal(B, H, T, D) for _ in range(3))
    grown_k = grown_v = None
    fixed_k, fixed_v, outs = torch.zeros(B, H, T, D), torch.zeros(B, H, T, D), []
    with torch.inference_mode():
        for t in range(T):
            new_k, new_v = k[:, :, t : t + 1], v[:, :, t : t + 1]
            grown_k = new_k if grown_k is None else torch.cat([grown_k, new_k], dim=2)
            grown_v = new_v if grown_v is None else torch.cat([grown_v, new_v], dim=-2)
            fixed_k[:, :, t : t + 1] = new_k
            fixed_v[:, :, t] = new_v.squeeze(2)
            weights = F.softmax(q[:, :, [t]] @ grown_k.transpose(-1, -2) / D**0.5, dim=-1)
            outs.append(weights @ grown_v)
        out = torch.cat(outs, 2)
    full = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    same = [torch.allclose(out, full, atol=1e-6), torch.equal(fixed_k, k), torch.equal(fixed_v, v)]
    return [same, all(same), out.tolist()[0][0]]


# ------------------------------------------------------------------------------------------
# Both libraries
# ------------------------------------------------------------------------------------------

PROGRAMS = [
    bigram_by_counting, bigram_by_gradient, mlp_with_embeddings, backprop_by_hand,
    wavenet_with_batch_norm, recurrent_cells, state_space_scan, attention_four_ways, positions,
    sampling, key_value_cache,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_same_as_pytorch(program: Callable) -> None:
    assert_same_in_both(program)
