"""A small language of reviews, and a reader with preferences: data for the examples.

review()                                # ["the", "soup", "was", "very", "cold", "."]
score(["the", "soup", "was", "fresh", "."])     # 1.0
prefers(first, second)                  # True if the reader prefers the first; partly random
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

import tinytensor as tt

NOUNS = ("soup", "bread", "wine", "room", "staff", "music")
GOOD = ("lovely", "warm", "fresh", "kind")
BAD = ("awful", "cold", "stale", "rude")
PLAIN = ("small", "usual", "simple")
ADJECTIVES = (*GOOD, *BAD, *PLAIN)
WORDS = [".", "the", "was", "very", "and", *NOUNS, *ADJECTIVES]
STOP = WORDS.index(".")
CLAUSES = 4  # at most
PROMPT = 2  # words: "the soup"
LENGTH = 6 * CLAUSES  # words of the longest review, its full stop included

CLAUSE = rf"the ({'|'.join(NOUNS)}) was (very )?({'|'.join(ADJECTIVES)})"
REVIEW = re.compile(rf"{CLAUSE}( and {CLAUSE})* \.")


def choice(words: tuple[str, ...]) -> str:
    """A random one of the words."""
    return words[int(tt.randint(len(words), ()))]


def review() -> list[str]:
    """the NOUN was [very] ADJECTIVE and the NOUN was [very] ADJECTIVE …"""
    words: list[str] = []
    for _ in range(CLAUSES):
        very = ["very"] if tt.rand(()) < 0.3 else []
        words += ["the", choice(NOUNS), "was", *very, choice(ADJECTIVES)]
        if tt.rand(()) < 0.4:
            break
        words.append("and")
    return [*words, "."] if words[-1] != "and" else [*words[:-1], "."]


def score(words: list[str]) -> float:
    """How much the reader likes a review.

    A good word is worth 1, a bad one −1, with "very" twice as much; any repeated adjective is worth
    −1. A text that is not a review is worth −4.
    """
    text = " ".join(words)
    if not REVIEW.fullmatch(text):
        return -4.0
    total, said = 0.0, set()
    for _, very, adjective in re.findall(CLAUSE, text):
        worth = (adjective in GOOD) - (adjective in BAD)
        total += -1 if adjective in said else worth * (2 if very else 1)
        said.add(adjective)
    return total


def prefers(first: list[str], second: list[str]) -> bool:
    """Whether the reader prefers the first, with probability σ(score(first) − score(second))."""
    return bool(tt.rand(()) < 1 / (1 + math.exp(score(second) - score(first))))


def ids_of(reviews: Iterable[list[str]]) -> tt.Tensor:
    """Ids (N, LENGTH), padded with full stops."""
    rows = [[WORDS.index(w) for w in words] + [STOP] * (LENGTH - len(words)) for words in reviews]
    return tt.tensor(rows)


def words_of(ids: tt.Tensor) -> list[list[str]]:
    """The words of each row of ids (N, T), up to the first full stop."""
    rows = [[WORDS[i] for i in row] for row in ids.tolist()]
    return [row[: row.index(".") + 1] if "." in row else row for row in rows]


def prompts(count: int) -> tt.Tensor:
    """Beginnings of reviews (count, PROMPT): "the soup", "the bread", …; the nouns take turns."""
    begins = tt.tensor([[WORDS.index("the"), WORDS.index(noun)] for noun in NOUNS])
    return begins[tt.arange(count) % len(NOUNS)]


def is_answer(ids: tt.Tensor, prompt: int = PROMPT) -> tt.Tensor:
    """(N, T − 1): True for words 2, …, T that follow the prompt, up to the full stop."""
    stops = (ids[:, :-1] == STOP).long().cumsum(dim=1)  # full stops before the word
    return (stops == 0) & (tt.arange(1, ids.shape[1]) >= prompt)


__all__ = [
    "LENGTH",
    "PROMPT",
    "STOP",
    "WORDS",
    "ids_of",
    "is_answer",
    "prefers",
    "prompts",
    "review",
    "score",
    "words_of",
]
