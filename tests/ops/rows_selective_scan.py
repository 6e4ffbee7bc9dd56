"""Rows of the op table: linear recurrences. PyTorch has none; they are loops over time here."""

import importlib
from typing import Any

from .table import Row, T


def recurrence(a: Any, b: Any, dim: int = -1) -> Any:
    torch = importlib.import_module("torch")
    states = [b.select(dim, 0)]
    for t in range(1, a.shape[dim]):
        states.append(a.select(dim, t) * states[-1] + b.select(dim, t))
    return torch.stack(states, dim)


def scan(u: Any, delta: Any, A: Any, B: Any, C: Any, D: Any = None, z: Any = None,
         delta_bias: Any = None, delta_softplus: bool = False,
         return_last_state: bool = False) -> Any:  # fmt: skip
    torch = importlib.import_module("torch")
    if delta_bias is not None:
        delta = delta + delta_bias.reshape(1, -1, 1)
    if delta_softplus:
        delta = torch.nn.functional.softplus(delta)
    samples, channels, steps = u.shape
    h = u.new_zeros(samples, channels, A.shape[1])
    y = []
    for t in range(steps):
        decay = torch.einsum("ne,es->nes", delta[:, :, t], A).exp()
        h = decay * h + torch.einsum("ne,ns->nes", delta[:, :, t] * u[:, :, t], B[:, :, t])
        y.append(torch.einsum("nes,ns->ne", h, C[:, :, t]))
    out = torch.stack(y, 2)
    if D is not None:
        out = out + u * D.reshape(1, -1, 1)
    if z is not None:
        out = out * torch.nn.functional.silu(z)
    return (out, h) if return_last_state else out


def operands(samples: int, channels: int, states: int, steps: int) -> list[T]:
    """u, delta, A, B, C"""
    series, shared = (samples, channels, steps), (samples, states, steps)
    A = T(channels, states, low=-2, high=-0.1)
    return [T(*series), T(*series, low=0.1, high=1), A, T(*shared), T(*shared)]


SMALL = operands(2, 2, 3, 4)
ROWS = [
    Row("linear_scan", T(2, 5), T(2, 5), torch=recurrence, method=False),
    Row("linear_scan", T(4, 2, 2), T(4, 2, 2), dim=0, torch=recurrence, method=False),
    Row("linear_scan", T(2, 1), T(2, 1), dim=-1, torch=recurrence, method=False),
]
for name in ("selective_scan", "selective_scan_ref"):
    ROWS += [
        Row(name, *SMALL, torch=scan, method=False),
        Row(name, *SMALL, return_last_state=True, torch=scan, method=False),
        Row(name, *SMALL, D=T(2), z=T(2, 2, 4), torch=scan, method=False),
        Row(name, *SMALL, delta_bias=T(2), delta_softplus=True, torch=scan, method=False),
        Row(name, *operands(1, 1, 1, 1), return_last_state=True, torch=scan, method=False),
    ]
