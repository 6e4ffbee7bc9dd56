"""A small language whose words agree with each other: sentences for the examples.

A wrong one has one word that does not agree.

    sentence()       # ["[start]", "the", "dogs", "near", "the", "girl", "chase", "the", "cat", …]
    sentence(False)  # [… "chases" …]
"""

from __future__ import annotations

from collections.abc import Iterable

import tinytensor as tt

NOUNS = {  # one, many, and the pronoun of one
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


def choice(items: Iterable[str]) -> str:
    """One of them, drawn at random."""
    known = list(items)
    return known[int(tt.randint(len(known), ()))]


def sentence(right: bool = True) -> list[str]:
    """the NOUN [PLACE the NOUN] VERB the NOUN because PRONOUN is|are MOOD

    Verb, pronoun and is|are agree with the first noun; in a wrong sentence, one of them does not.
    """
    singular, others, verb = choice(NOUNS), [choice(NOUNS), choice(NOUNS)], choice(VERBS)
    many, pronoun = NOUNS[singular]
    plural = bool(tt.rand(()) < 0.5)
    forms = [(verb, VERBS[verb]), (pronoun, "they"), ("is", "are")]
    agreeing = [pair[plural] for pair in forms]
    if not right:
        at = int(tt.randint(3, ()))
        agreeing[at] = forms[at][not plural]
    others = [NOUNS[noun][0] if tt.rand(()) < 0.5 else noun for noun in others]
    place = [choice(PLACES), "the", others[0]] if tt.rand(()) < 0.5 else []
    begin = ["[start]", "the", many if plural else singular, *place, agreeing[0]]
    return [*begin, "the", others[1], "because", *agreeing[1:], choice(MOODS)]


def ids_of(sentences: list[list[str]]) -> tt.Tensor:
    """Ids (N, LENGTH), padded at the end."""
    return tt.tensor([[ID[w] for w in s] + [PAD] * (LENGTH - len(s)) for s in sentences])


__all__ = ["LENGTH", "MASK", "PAD", "WORDS", "ids_of", "sentence"]
