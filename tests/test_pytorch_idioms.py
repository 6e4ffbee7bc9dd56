"""Programs as learners write them for PyTorch, continued: classic methods, optimisers written by
hand, generative models, second derivatives, user-written functions, and idioms of every kind.

See test_pytorch_programs.py for what a program is.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from .both import Numbers, assert_same_in_both

# ------------------------------------------------------------------------------------------
# Without neural networks
# ------------------------------------------------------------------------------------------


def regressions(torch: Any, F: Any, make: Numbers) -> list:
    X = make.normal(40, 2)
    y = (torch.matmul(X, torch.tensor([2, -3.4])) + 4.2).reshape((-1, 1))
    w, b = torch.zeros((2, 1), requires_grad=True), torch.zeros(1, requires_grad=True)
    for start in range(0, len(X), 10):
        rows = torch.tensor(list(range(start, min(start + 10, len(X)))))
        ((torch.matmul(X[rows], w) + b - y[rows]) ** 2 / 2).sum().backward()
        with torch.no_grad():
            for p in (w, b):
                p -= 0.03 * p.grad / 10
                p.grad.zero_()
    t = (X[:, 0] + X[:, 1] > 0).float()
    v, c = torch.zeros(2, requires_grad=True), torch.tensor(0.0, requires_grad=True)
    for _ in range(5):
        z = X @ v + c
        loss = F.binary_cross_entropy_with_logits(z, t)
        loss.backward()
        with torch.no_grad():
            v -= v.grad
            c -= c.grad
        v.grad = c.grad = None
    accuracy = ((z.sigmoid() > 0.5) == t.bool()).float().mean()
    labels, W = make.integers(3, 40), torch.zeros(2, 3, requires_grad=True)
    e = torch.exp(X @ W - (X @ W).max(dim=1, keepdim=True)[0])
    probs = e / e.sum(1, keepdim=True)
    (-torch.log(probs[range(len(probs)), labels])).mean().backward()
    confusion = torch.zeros(3, 3, dtype=torch.int64)
    for actual, found in zip(labels, (X @ W.grad).argmax(1)):
        confusion[actual.long(), found.long()] += 1
    text = f"loss {float(loss):.3f}, accuracy {accuracy:.2f}, {loss:8.3f}"
    return [w, b, v, c, loss, accuracy, W.grad, confusion.diag() / 40, confusion, text]


def clusters_and_components(torch: Any, F: Any, make: Numbers) -> list:
    X = torch.cat([make.normal(15, 2), make.normal(15, 2) + 4])
    centres = X[[0, 1, 25]].clone()
    for _ in range(4):
        nearest = ((X[:, None, :] - centres[None]) ** 2).sum(-1).argmin(1)
        for k in range(len(centres)):
            if (nearest == k).any():
                centres[k] = X[nearest == k].mean(0)
    sums = torch.zeros_like(centres).index_add_(0, nearest, X)
    neighbours = torch.cdist(X[:5], X).topk(3, largest=False)
    votes = torch.mode(nearest[neighbours.indices], dim=1).values
    cov, v = torch.cov(X.T), torch.ones(2)
    for _ in range(30):
        v = cov @ v
        v = v / torch.linalg.norm(v)
    deflated = cov - (v @ cov @ v) * torch.outer(v, v)
    spectrum = [torch.linalg.eigh(cov).eigenvalues, torch.linalg.svd(X)[1], torch.inverse(cov)]
    mu, sigma, weight = X[[0, -1]], torch.ones(2), torch.full((2,), 0.5)
    for _ in range(3):  # a mixture of two Gaussians, by expectation and maximisation
        square = ((X[:, None] - mu) ** 2).sum(-1)
        log_p = torch.log(weight) - 0.5 * square / sigma**2 - 2 * sigma.log()
        r = torch.exp(log_p - torch.logsumexp(log_p, dim=1, keepdim=True))
        share = r.sum(0)
        mu = (r.T @ X) / share[:, None]
        sigma = torch.sqrt((r * square).sum(0) / (2 * share))
        weight = share / len(X)
    quartiles = torch.quantile(X, torch.tensor([0.25, 0.75]), dim=0)
    return [centres, sums, votes, neighbours.values, deflated, spectrum, mu, sigma, quartiles]


def graph_network(torch: Any, F: Any, make: Numbers) -> list:
    n = 6
    edges = torch.tensor([[0, 1, 2, 3, 4, 5, 0, 2], [1, 2, 3, 4, 5, 0, 3, 5]])
    A = torch.zeros(n, n)
    A[edges[0], edges[1]] = 1
    A = torch.max(A, A.t()) + torch.eye(n)
    D = torch.diag(A.sum(1).pow(-0.5))
    X, W1, W2 = make.normal(n, 4), make.leaf(4, 8), make.leaf(8, 3)
    hidden = F.relu(D @ A @ D @ X @ W1)
    out = F.log_softmax(D @ A @ D @ hidden @ W2, dim=1)
    mask, y = torch.tensor([1, 1, 0, 1, 0, 1], dtype=torch.bool), torch.tensor([0, 1, 2, 0, 1, 2])
    F.nll_loss(out[mask], y[mask]).backward()
    src, dst = edges
    h = make.leaf(n, 8)
    score = F.leaky_relu((h[src] * h[dst]).sum(-1), 0.2)
    score = torch.exp(score - score.max())
    attention = score / torch.zeros(n).index_add_(0, dst, score)[dst]
    gathered = torch.zeros(n, 8).index_add(0, dst, attention[:, None] * h[src])
    summed = torch.zeros(n, 8).scatter_add(0, dst.view(-1, 1).expand(-1, 8), h[src])
    (gathered.pow(2).sum() + summed.exp().mean()).backward()
    return [out, W1.grad, W2.grad, attention, gathered, h.grad, A.nonzero().t().contiguous()]


def convolution_by_windows(torch: Any, F: Any, make: Numbers) -> list:
    x, W = make.leaf(2, 3, 6, 6), make.leaf(4, 3, 3, 3)
    patches = x.unfold(2, 3, 1).unfold(3, 3, 1)
    first = torch.einsum("bchwij,ocij->bohw", patches, W)
    columns = patches.permute(0, 2, 3, 1, 4, 5).reshape(2, 16, -1)
    second = (columns @ W.view(4, -1).t()).transpose(1, 2).view(2, 4, 4, 4)
    i = torch.arange(4)[:, None] + torch.arange(3)[None, :]
    picked = x[:, :, i][:, :, :, :, i].permute(0, 1, 2, 4, 3, 5)
    third = (picked[:, None] * W[None, :, :, None, None]).sum((2, 5, 6))
    s = x[0, 0].detach().contiguous().stride()
    fourth = x[0, 0].contiguous().as_strided((4, 4, 3, 3), s + s)
    pooled = F.pad(x, (1, 1, 1, 1)).reshape(2, 3, 4, 2, 4, 2).amax((3, 5))
    (first * second + third).sum().add(pooled.exp().sum()).add((fourth**2).sum()).backward()
    return [first, second, third, fourth, pooled, x.grad, W.grad]


# ------------------------------------------------------------------------------------------
# Optimisers, functions and hooks of one's own
# ------------------------------------------------------------------------------------------


def optimisers_by_hand(torch: Any, F: Any, make: Numbers) -> list:
    X, Y, start = make.normal(10, 3), make.normal(10, 2), make.normal(3, 2)

    def momentum(w: Any, g: Any, s: dict, t: int) -> None:
        v = s.setdefault("v", torch.zeros_like(w))
        v.mul_(0.9).add_(g)
        w.add_(v, alpha=-0.1)

    def adam(w: Any, g: Any, s: dict, t: int) -> None:
        m = s.setdefault("m", torch.zeros_like(w.data))
        v = s.setdefault("v", torch.zeros_like(w.data))
        m.lerp_(g, 0.1)
        v.mul_(0.999).addcmul_(g, g, value=0.001)
        scale = (v.sqrt() / math.sqrt(1 - 0.999**t)).add_(1e-8)
        w.addcdiv_(m, scale, value=-0.1 / (1 - 0.9**t))

    def rmsprop(w: Any, g: Any, s: dict, t: int) -> None:
        s["a"] = 0.9 * s.get("a", g.new_zeros(g.shape)) + 0.1 * g**2
        w -= 0.01 * g / (torch.sqrt(s["a"]) + 1e-8)

    def clipped(w: Any, g: Any, s: dict, t: int) -> None:
        g.clamp_(-0.1, 0.1)
        w.data = w.data - g.data * (1.0 / (torch.norm(g) + 1e-6)).clamp(max=1.0)

    found = []
    for update in (momentum, adam, rmsprop, clipped):
        w, state = start.clone().requires_grad_(), {}  # type: ignore[var-annotated]
        for t in range(1, 5):
            ((X @ w - Y) ** 2).mean().backward()
            with torch.no_grad():
                update(w, w.grad, state, t)
            w.grad.zero_()
        found.append(w)
    return found


def functions_and_hooks(torch: Any, F: Any, make: Numbers) -> list:
    class Step(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return (x > 0).float()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return F.hardtanh(g)

    class Linear(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, input: Any, weight: Any, bias: Any = None) -> Any:
            ctx.save_for_backward(input, weight, bias)
            output = input.mm(weight.t())
            if bias is not None:
                output += bias.unsqueeze(0).expand_as(output)
            return output

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            input, weight, bias = ctx.saved_tensors
            dinput = g.mm(weight) if ctx.needs_input_grad[0] else None
            dweight = g.t().mm(input) if ctx.needs_input_grad[1] else None
            dbias = g.sum(0) if bias is not None and ctx.needs_input_grad[2] else None
            return dinput, dweight, dbias

    x, W, b, log = make.leaf(3, 4), make.leaf(2, 4), make.normal(2), []
    handle = W.register_hook(lambda g: g.clamp(-0.1, 0.1))
    z = Linear.apply(x, W, b)
    z.register_hook(lambda g: log.append(g.norm()))
    z.retain_grad()
    hidden = z.tanh()
    hidden.register_hook(lambda g: g * 2)
    (hidden.sum() + (Step.apply(x) * x).sum()).backward()
    clipped = W.grad.clone()
    handle.remove()
    W.grad = None
    (x @ W.t()).sum().backward()
    y = F.softmax(x / 0.5, dim=-1)  # straight through the choice of the largest
    hard = torch.zeros_like(x).scatter_(-1, y.max(dim=-1, keepdim=True)[1], 1.0)
    (through,) = torch.autograd.grad(((hard - y.detach() + y) * x.detach()).sum(), x)
    return [x.grad, clipped, W.grad, b.grad, z.grad, log, through]


# ------------------------------------------------------------------------------------------
# Generative models, policies, derivatives of derivatives
# ------------------------------------------------------------------------------------------


def autoencoder_and_critic(torch: Any, F: Any, make: Numbers) -> list:
    x, We, Wm, Wl, Wd = (
        torch.sigmoid(make.normal(5, 8)),
        *(make.leaf(*shape, scale=0.3) for shape in ((8, 6), (6, 3), (6, 3), (3, 8))),
    )
    h = F.relu(x @ We)
    mu, logvar = h @ Wm, h @ Wl
    z = mu + make.normal(5, 3).to(mu) * torch.exp(0.5 * logvar)
    rebuilt = F.binary_cross_entropy(torch.sigmoid(z @ Wd), x.view(-1, 8), reduction="sum")
    (rebuilt - 0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())).backward()
    D1, D2 = make.leaf(8, 16), make.leaf(16, 1)
    fake, alpha = make.normal(5, 8), torch.tensor([[0.1], [0.3], [0.5], [0.7], [0.9]])
    between = (alpha * x + (1 - alpha) * fake).requires_grad_(True)
    score = F.leaky_relu(between @ D1, 0.2) @ D2
    gradient = torch.autograd.grad(
        outputs=score, inputs=between, grad_outputs=torch.ones(score.size()),
        create_graph=True, retain_graph=True, only_inputs=True,
    )[0]  # fmt: skip
    penalty = ((gradient.view(gradient.size(0), -1).norm(2, dim=1) - 1) ** 2).mean()
    penalty.backward()
    return [rebuilt, [w.grad for w in (We, Wm, Wl, Wd)], gradient, penalty, D1.grad, D2.grad]


def policy_gradient(torch: Any, F: Any, make: Numbers) -> list:
    S, W, Vw, actions = make.normal(7, 4), make.leaf(4, 3), make.leaf(4, 1), make.integers(3, 7)
    rewards, returns = make.rng.standard_normal(7).tolist(), []
    for r in rewards[::-1]:
        returns.insert(0, r + 0.99 * (returns[0] if returns else 0))
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-8)
    log_probs = F.log_softmax(S @ W, dim=1)
    chosen = log_probs.gather(1, actions.unsqueeze(1)).squeeze(1)
    value = (S @ Vw).squeeze(-1)
    advantage = returns - value.detach()
    ratio = torch.exp(chosen - (chosen.detach() - 0.1))
    clipped = torch.min(ratio * advantage, torch.clamp(ratio, 0.8, 1.2) * advantage)
    entropy = -(log_probs.exp() * log_probs).sum(1).mean()
    (-clipped.mean() + 0.5 * F.mse_loss(value, returns) - 0.01 * entropy).backward()
    done = torch.tensor([0, 0, 1, 0, 0, 0, 1])
    target = torch.tensor(rewards) + 0.9 * (S @ W).max(1)[0].detach() * (1 - done)
    return [returns, chosen, W.grad, Vw.grad, F.smooth_l1_loss(value, target)]


def derivatives_of_derivatives(torch: Any, F: Any, make: Numbers) -> list:
    W1, W2 = make.leaf(1, 10), make.leaf(10, 1)
    t = torch.linspace(0, 1, 8).view(-1, 1).requires_grad_(True)
    u = torch.tanh(t @ W1) @ W2
    du = torch.autograd.grad(u, t, torch.ones_like(u), create_graph=True)[0]
    ddu = torch.autograd.grad(du, t, torch.ones_like(du), create_graph=True)[0]
    ((ddu + 4 * du + 4 * u) ** 2).mean().backward()
    X, y, w, v = make.normal(6, 4), make.integers(3, 6), make.leaf(4, 3), make.normal(4, 3)
    (g,) = torch.autograd.grad(F.cross_entropy(torch.tanh(X @ w), y), w, create_graph=True)
    (hvp,) = torch.autograd.grad(g, w, grad_outputs=v)
    theta = [make.leaf(1, 8), torch.zeros(8, requires_grad=True), make.leaf(8, 1)]
    meta = 0
    for amplitude in (0.5, 2.0):  # MAML: through the steps of the inner loop
        fast, xs = theta, make.normal(5, 1)
        for _ in range(2):
            error = F.mse_loss(torch.tanh(xs @ fast[0] + fast[1]) @ fast[2], amplitude * xs.sin())
            grads = torch.autograd.grad(error, fast, create_graph=True)
            fast = [p - 0.1 * d for p, d in zip(fast, grads)]
        meta = meta + F.mse_loss(torch.tanh(xs @ fast[0] + fast[1]) @ fast[2], amplitude * xs.sin())
    meta.backward()
    return [du, ddu, W1.grad, W2.grad, hvp, meta, [p.grad for p in theta]]


# ------------------------------------------------------------------------------------------
# Idioms
# ------------------------------------------------------------------------------------------


def views_and_writes(torch: Any, F: Any, make: Numbers) -> list:
    x = make.normal(3, 4)
    x.view(-1)[0] = 9.0
    row = x[1]
    row += 1
    x.t()[0, 0] = 4
    x.numpy()[2, 2] = -1
    copied = x[[0]]
    copied[:] = 0
    x.fill_diagonal_(7.0)
    w = make.leaf(3, 3)
    h = w * 1
    h[0].mul_(2)
    h[:, 1] = h[:, 1] + h[0]
    h.diagonal().add_(1)
    h[1:].t()[0] *= 3
    rows = torch.zeros(4, 3)
    for i in range(3):
        rows[i] = w[i] * (i + 1) + (rows[i - 1] if i else 0)
    rows[rows > 1] = 0.0
    ((h**2).sum() + rows.exp().sum()).backward()
    mask = torch.tensor([1, 0, 1]).bool()
    mask.unsqueeze_(1)
    return [x, row, copied, h, rows, w.grad, x.masked_fill(mask, -1e9), copy.deepcopy(w)]


def python_and_numpy(torch: Any, F: Any, make: Numbers) -> list:
    x, i, v = make.normal(3, 4), torch.tensor([2, 0, 1]), torch.tensor([3.0, 1.0, 2.0])
    rows, columns = x.shape
    _, *rest = x
    shared = np.zeros(3)
    t = torch.from_numpy(shared)
    t += 1
    shared[0] = 5
    s, k = torch.tensor(2.5), torch.tensor(7)
    text = f"{s} {k} {s:.3f} {k:03d} {x.mean():+.2f} {v} {x.dtype.is_floating_point}"
    return [
        [rows, columns, len(rest), list(x.shape + (1,)), list((1,) + x.shape), x.size(-1)], text,
        t, shared.tolist(), [float(e) for e in v], [int(e) for e in i], max(v), sum(v), sorted(v),
        3.0 in v, {v: 1}[v], "abc"[i[0]], list(range(k))[-1], math.sqrt(s), int(s), bool(k > 3),
        k / 2, k // 2, -k // 2, k % 3, 2**k, i * 0.5, (v > 1).sum().item(), ~(v > 1), v[i > 0],
        x[:, None].shape == (3, 1, 4), x[..., None, 0], x[i, :2], x[range(3), i], x[x > 0],
        x[torch.arange(3)[:, None], [0, 2]], torch.arange(end=3), torch.tensor([s, k]),
        torch.tensor(np.float64(3)), torch.tensor([np.float32(1)]), np.array(v).tolist(),
        (i == 0).nonzero(as_tuple=True)[0], (v == 2).nonzero().squeeze(), torch.where(v > 1)[0],
        x.max(1)[0], x.max(1).indices, torch.max(x, -x), x.std(unbiased=False), x.sum((0, 1)),
        torch.where(x > 0, 1.0, 0.0), x.type_as(t), x.to(t), x.long(), (x > 0).float() @ x.T,
        torch.unique(i % 2, return_counts=True), torch.stack([a * b for a, b in zip(v, i)]),
        torch.cartesian_prod(i, i[:2]), torch.meshgrid(i, i, indexing="ij"), x.new_full((2,), 3),
        torch.full_like(i, 3), torch.logaddexp(v, s), torch.xlogy(v - 1, v - 1), x[-1:, ::2],
    ]  # fmt: skip


PROGRAMS = [
    regressions, clusters_and_components, graph_network, convolution_by_windows,
    optimisers_by_hand, functions_and_hooks, autoencoder_and_critic, policy_gradient,
    derivatives_of_derivatives, views_and_writes, python_and_numpy,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_same_as_pytorch(program: Callable) -> None:
    assert_same_in_both(program)
