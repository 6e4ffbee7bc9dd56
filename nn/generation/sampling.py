"""Sampling: from next-token logits to one token, by filters and a draw.

Each filter maps logits (…, V), one for each token of the vocabulary, to logits (…, V). A token that
is filtered out gets −∞, probability 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import tinytensor as tt
from tinytensor.errors import ShapeError
from tinytensor.tensor import Tensor

from .. import functional as F


def penalize_repetition(logits: Tensor, idx: Tensor, penalty: float) -> Tensor:
    """lᵥ ← lᵥ / penalty if lᵥ > 0, else lᵥ · penalty, for each token v that occurs in idx (…, T).

    As in CTRL: a penalty above 1 makes tokens that occur in idx less probable, below 1 more.
    """
    _check_penalty(penalty)
    seen = logits.gather(-1, idx)  # (…, V) → (…, T)
    return logits.scatter(-1, idx, tt.where(seen > 0, seen / penalty, seen * penalty))


def apply_temperature(logits: Tensor, temperature: float) -> Tensor:
    """lᵥ ← (lᵥ − max l) / temperature: below 1 sharper, above 1 flatter.

    Subtracting the maximum changes no probability and keeps small temperatures from overflowing.
    """
    if not 0 < temperature < math.inf:
        raise ValueError(f"temperature: got {temperature}, expected a finite number above 0")
    return (logits - logits.amax(dim=-1, keepdim=True)) / temperature


def top_k_filter(logits: Tensor, k: int) -> Tensor:
    """lᵥ ← −∞ unless lᵥ is at least the k-th largest; ties with the k-th stay."""
    _check_top_k(k)
    kept = min(k, logits.shape[-1])
    smallest = logits.topk(kept, dim=-1)[0][..., -1:]  # (…, V) → (…, 1)
    return logits.masked_fill(logits < smallest, -math.inf)


def top_p_filter(logits: Tensor, p: float) -> Tensor:
    """lᵥ ← −∞ unless v is in the nucleus, the fewest tokens whose probabilities sum to at least p.

    A token belongs to it if the more probable tokens sum to less than p.
    """
    _check_top_p(p)
    if p == 1:
        return logits
    ordered, order = logits.sort(dim=-1, descending=True, stable=True)
    cumulative = F.softmax(ordered, dim=-1).double().cumsum(dim=-1)
    before = F.pad(cumulative[..., :-1], (1, 0))  # 0, p₁, p₁ + p₂, …
    return logits.scatter(-1, order, ordered.masked_fill(before >= p, -math.inf))


def inverse_cdf(probabilities: Tensor, u: Tensor) -> Tensor:
    """The first token v with p₀ + … + pᵥ > u, for probabilities (…, V) and u (…) in [0, 1).

    For uniform u, token v is drawn with probability pᵥ.
    """
    if tuple(u.shape) != tuple(probabilities.shape[:-1]):
        raise ShapeError(
            f"inverse_cdf: u has shape {tuple(u.shape)}, expected "
            f"{tuple(probabilities.shape[:-1])}, a number for each row of probabilities"
        )
    cumulative = probabilities.double().cumsum(dim=-1)
    below = (cumulative <= u.unsqueeze(-1)).sum(dim=-1)  # number of tokens before v
    # Rounding may leave the sum at or below u: then take the last token with p > 0.
    last = (cumulative < cumulative[..., -1:]).sum(dim=-1)
    return tt.minimum(below, last)


@dataclass
class Sampler:
    """Picks one token for each row: the most probable at temperature 0, otherwise a random one.

    The order is: repetition penalty, temperature, top_k, top_p, inverse CDF.
    """

    temperature: float = 0.0
    top_k: int | None = None
    top_p: float | None = None
    repetition_penalty: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < math.inf:
            raise ValueError(
                f"temperature: got {self.temperature}, expected 0 (the likeliest token) or a "
                "finite number above"
            )
        _check_penalty(self.repetition_penalty)
        if self.top_k is not None:
            _check_top_k(self.top_k)
        if self.top_p is not None:
            _check_top_p(self.top_p)

    def __call__(self, logits: Tensor, idx: Tensor, u: Tensor | None) -> Tensor:
        """Tokens (N,) for logits (N, V), the tokens so far idx (N, T), and u (N,) in [0, 1)."""
        if self.repetition_penalty != 1:
            logits = penalize_repetition(logits, idx, self.repetition_penalty)
        if self.temperature == 0 or u is None:
            return logits.argmax(dim=-1)
        logits = apply_temperature(logits, self.temperature)
        if self.top_k is not None:
            logits = top_k_filter(logits, self.top_k)
        if self.top_p is not None:
            logits = top_p_filter(logits, self.top_p)
        return inverse_cdf(F.softmax(logits, dim=-1), u)


def _check_penalty(penalty: float) -> None:
    if not 0 < penalty < math.inf:
        raise ValueError(
            f"repetition penalty: got {penalty}, expected a finite number above 0; 1 does nothing"
        )


def _check_top_k(k: int) -> None:
    if k < 1:
        raise ValueError(f"top_k: got {k}, expected at least 1 token")


def _check_top_p(p: float) -> None:
    if not 0 < p <= 1:
        raise ValueError(f"top_p: got {p}, expected a probability, 0 < top_p <= 1")


__all__ = [
    "Sampler",
    "apply_temperature",
    "inverse_cdf",
    "penalize_repetition",
    "top_k_filter",
    "top_p_filter",
]
