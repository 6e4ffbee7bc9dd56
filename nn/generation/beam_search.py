"""Beam search: extend several hypotheses at a time to find the most probable continuation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tinytensor as tt
from tinytensor.tensor import Tensor

from .. import functional as F
from .next_logits import NextLogits, check_prompt, inference, modules_of, stop_tokens
from .sampling import penalize_repetition


def beam_search(
    model: Any,
    idx: Tensor,
    max_new_tokens: int,
    beams: int,
    *,
    n_best: int = 1,
    length_penalty: float = 0.0,
    stop: int | Sequence[int] | None = None,
    pad: int | None = None,
    repetition_penalty: float = 1.0,
    use_cache: bool = True,
    block_size: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the n_best continuations of each row, (N, n_best, T + new), and scores (N, n_best).

    score = (log p₁ + … + log pₗ) / l^length_penalty, for l new tokens, including a stop token.

    Each step extends each of the `beams` best hypotheses by every token of the vocabulary and keeps
    the best results. A hypothesis that ends in a stop token is set aside as finished. The greedy
    hypothesis always keeps a place, so that the result never scores less than greedy search.

    length_penalty: 0 finds the most probable continuation, which tends to be short; above 0, longer
    continuations score better. The other arguments are those of `generate`.
    """
    check_prompt(idx, max_new_tokens)
    if not 1 <= n_best <= beams:
        raise ValueError(
            f"beam_search: got beams={beams} and n_best={n_best}, expected 1 <= n_best <= beams"
        )
    stops, pad = stop_tokens(stop, pad, idx)
    longest = idx.shape[1] + max_new_tokens
    next_logits = NextLogits(model, longest, use_cache, block_size)
    search = _Search(idx, beams, n_best, longest, length_penalty, stops, pad)
    with inference(modules_of(model)):
        if max_new_tokens == 0:
            return search.best()
        rows = tt.arange(len(idx), device=idx.device).repeat_interleave(beams)  # (N·B,)
        logits = next_logits(idx)[rows]  # (N, V) → (N·B, V)
        next_logits.reorder(rows)
        while True:
            if repetition_penalty != 1:
                logits = penalize_repetition(logits, search.so_far(), repetition_penalty)
            rows = search.advance(logits)
            if search.over():
                return search.best()
            next_logits.reorder(rows)
            logits = next_logits(search.so_far())


class _Search:
    """The hypotheses of N prompts: for each, B that still grow and up to B that are finished.

    The first growing hypothesis is the greedy one until that is finished.
    """

    def __init__(
        self,
        idx: Tensor,
        beams: int,
        n_best: int,
        longest: int,
        length_penalty: float,
        stops: Tensor,
        pad: int,
    ) -> None:
        count, self.start = idx.shape
        self.beams, self.n_best, self.longest, self.stops = beams, n_best, longest, stops
        self.length_penalty = length_penalty
        self.new = 0  # number of tokens added
        self.prompts = tt.arange(count, device=idx.device).unsqueeze(1)  # (N, 1)
        self.tokens = idx.new_full((count, beams, longest), pad)
        self.tokens[:, :, : self.start] = idx.unsqueeze(1)  # (N, T) → (N, 1, T)
        # Σ log p. All hypotheses are equal at first; −∞ leaves only one of them in the race.
        self.log_p = tt.full((count, beams), -math.inf, dtype=tt.float64, device=idx.device)
        self.log_p[:, 0] = 0.0
        self.greedy_grows = tt.ones(count, dtype=tt.bool, device=idx.device)
        self.finished_tokens = self.tokens
        self.finished_score = tt.full_like(self.log_p, -math.inf)
        self.finished_new = tt.zeros((count, beams), dtype=tt.int64, device=idx.device)

    def so_far(self) -> Tensor:
        """The growing hypotheses, (N·B, T + new)."""
        return self.tokens[:, :, : self.start + self.new].flatten(0, 1)

    def advance(self, logits: Tensor) -> Tensor:
        """Add a token to each, given logits (N·B, V); return the rows (N·B,) that they continue."""
        count, beams, vocabulary = len(self.tokens), self.beams, logits.shape[-1]
        if beams > vocabulary:
            raise ValueError(
                f"beam_search: got beams={beams}, expected at most {vocabulary}, the vocabulary"
            )
        total = self.log_p.reshape(-1, 1) + F.log_softmax(logits.double(), dim=-1)
        total = total.reshape(count, -1)  # (N·B, V) → (N, B·V)

        # All stop tokens of each hypothesis may be among the best: consider that many more.
        considered = min(beams * (1 + len(self.stops)), total.shape[1])
        # The greedy token of hypothesis 0 ranks first; its id is also its index in B·V.
        greedy = logits[::beams].argmax(dim=-1, keepdim=True)  # (N·B, V) → (N, V) → (N, 1)
        rank = total.scatter(1, greedy, math.inf)
        rank = tt.where(self.greedy_grows.unsqueeze(1), rank, total)
        order = rank.topk(considered, dim=1)[1]  # (N, B·V) → (N, considered)
        log_p, parent, token = total.gather(1, order), order // vocabulary, order % vocabulary

        self.new += 1
        ends = tt.isin(token, self.stops)
        if len(self.stops):
            self._finish(log_p[:, :beams], parent[:, :beams], token[:, :beams], ends[:, :beams])
            self.greedy_grows = self.greedy_grows & ~ends[:, 0]
            log_p = log_p.masked_fill(ends, -math.inf)
        # The best that do not end, in order of rank: the sort is stable.
        grows = ends.long().argsort(dim=1, stable=True)[:, :beams]
        self.log_p, parent = log_p.gather(1, grows), parent.gather(1, grows)
        self.tokens = self._with(parent, token.gather(1, grows))
        return (self.prompts * beams + parent).flatten()  # (N, B) → (N·B,)

    def _with(self, parent: Tensor, token: Tensor) -> Tensor:
        """Hypotheses `parent` (N, B), each extended by one token (N, B)."""
        tokens = self.tokens[self.prompts, parent]  # (N, B, longest), new memory
        tokens[:, :, self.start + self.new - 1] = token
        return tokens

    def _finish(self, log_p: Tensor, parent: Tensor, token: Tensor, ends: Tensor) -> None:
        """Keep the best B of the finished hypotheses and those that end now."""
        score = self._score(log_p).masked_fill(~ends, -math.inf)
        self.finished_score, best = _best(tt.cat([self.finished_score, score], 1), self.beams)
        tokens = tt.cat([self.finished_tokens, self._with(parent, token)], 1)
        self.finished_tokens = tokens[self.prompts, best]
        new = tt.cat([self.finished_new, tt.full_like(self.finished_new, self.new)], 1)
        self.finished_new = new.gather(1, best)

    def _score(self, log_p: Tensor, new: int | None = None) -> Tensor:
        return log_p / max(1, self.new if new is None else new) ** self.length_penalty

    def over(self) -> bool:
        """True at full length, or when no growing hypothesis can enter the n_best finished ones."""
        if self.start + self.new == self.longest:
            return True
        if not len(self.stops):
            return False
        # Σ log p only falls; with a penalty above 0, the divisor is largest at full length.
        most = self.longest - self.start if self.length_penalty > 0 else self.new
        reachable = self._score(self.log_p.amax(dim=1), most)
        return bool((reachable <= self.finished_score[:, self.n_best - 1]).all())

    def best(self) -> tuple[Tensor, Tensor]:
        """The n_best hypotheses (N, n_best, T + new) and their scores, best first."""
        score = tt.cat([self.finished_score, self._score(self.log_p)], 1)
        tokens = tt.cat([self.finished_tokens, self.tokens], 1)
        new = tt.cat([self.finished_new, tt.full_like(self.finished_new, self.new)], 1)
        score, best = _best(score, self.n_best)
        longest = self.start + int(new.gather(1, best).max())
        return tokens[self.prompts, best][:, :, :longest], score


def _best(score: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The highest scores (N, count) and their indices; ties in order of index."""
    ordered, order = score.sort(dim=1, descending=True, stable=True)
    return ordered[:, :count], order[:, :count]


__all__ = ["beam_search"]
