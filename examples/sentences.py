"""A small language whose words agree with each other: sentences for the examples.

A wrong one has one word that does not agree.

    sentence()       # ["[start]", "the", "dogs", "near", "the", "girl", "chase", "the", "cat", …]
    sentence(False)  # [… "chases" …]
"""

from __future__ import annotations

from collections.abc import Iterable

import tinytensor as tt

NOUNS = {  # singular: (plural, pronoun of the singular)
    "dog": ("dogs", "it"), "cat": ("cats", "it"), "bird": ("birds", "it"),
    "girl": ("girls", "she"), "queen": ("queens", "she"), "aunt": ("aunts", "she"),
    "boy": ("boys", "he"), "king": ("kings", "he"), "uncle": ("uncles", "he"),
}  # fmt: skip
VERBS = {"chases": "chase", "sees": "see", "likes": "like", "hears": "hear", "finds": "find"}
MOODS = ("tired", "happy", "alone", "hungry", "late")
PLACES = ("near", "behind", "with")

PAD, START, MASK = range(3)
WORDS = ["[pad]", "[start]", "[mask]", "the", "because", "they", "he", "she", "it", "is", "are"]
WORDS += [*PLACES, *MOODS, *VERBS, *VERBS.values(), *NOUNS, *(many for many, _ in NOUNS.values())]
ID = {word: i for i, word in enumerate(WORDS)}
LENGTH = 13


def choice(items: Iterable[str], u: float) -> str:
    """The item at fraction u, in [0, 1), of the list."""
    known = list(items)
    return known[int(u * len(known))]


def sentence(right: bool = True) -> list[str]:
    """the NOUN [PLACE the NOUN] VERB the NOUN because PRONOUN is|are MOOD

    Verb, pronoun and is|are agree with the first noun; in a wrong sentence, one of them does not.
    """
    u = tt.rand(11).tolist()  # all random numbers in one call
    singular, *others = (choice(NOUNS, v) for v in u[:3])
    verb = choice(VERBS, u[3])
    many, pronoun = NOUNS[singular]
    plural = u[4] < 0.5
    forms = [(verb, VERBS[verb]), (pronoun, "they"), ("is", "are")]
    agreeing = [pair[plural] for pair in forms]
    if not right:
        at = int(3 * u[5])
        agreeing[at] = forms[at][not plural]
    others = [NOUNS[noun][0] if v < 0.5 else noun for noun, v in zip(others, u[6:8])]
    place = [choice(PLACES, u[8]), "the", others[0]] if u[9] < 0.5 else []
    begin = ["[start]", "the", many if plural else singular, *place, agreeing[0]]
    return [*begin, "the", others[1], "because", *agreeing[1:], choice(MOODS, u[10])]


def ids_of(sentences: list[list[str]]) -> tt.Tensor:
    """Ids (N, LENGTH), padded at the end."""
    return tt.tensor([[ID[w] for w in s] + [PAD] * (LENGTH - len(s)) for s in sentences])


__all__ = ["LENGTH", "MASK", "PAD", "WORDS", "ids_of", "sentence"]
