"""Sentences whose meaning can be put in other words: data for the examples.

meaning = meanings(2)              # (2, slots): the group of words in each slot
put_into_words(meaning)            # ["medic found odd boat today", …]
put_into_words(meaning)            # ["doctor discovered strange ship today", …]
"""

from __future__ import annotations

import tinytensor as tt

SLOTS = (  # of a sentence; the words of one string are synonyms
    ("nurse carer", "pilot flier", "teacher tutor", "baker cook", "doctor medic", "boss chief",
     "kid child", "thief robber", "singer vocalist", "guard sentry"),
    ("bought purchased", "found discovered", "hid concealed", "broke smashed", "fixed repaired",
     "sold traded", "lost mislaid", "drew sketched"),
    ("big large", "small little", "old ancient", "pretty beautiful", "quick fast", "odd strange"),
    ("car automobile", "house home", "boat ship", "stone rock", "coat jacket", "picture image",
     "gift present", "seat chair"),
    ("today now", "yesterday before", "tomorrow later"),
)  # fmt: skip
WORDS = sorted({word for slot in SLOTS for group in slot for word in group.split()})


def meanings(count: int) -> tt.Tensor:
    """Random meanings (count, slots): the group of words in each slot."""
    return tt.stack([tt.randint(len(slot), (count,)) for slot in SLOTS], dim=1)


def put_into_words(meaning: tt.Tensor) -> list[str]:
    """A sentence for each meaning, with random words from its groups."""
    draws = tt.randint(2, meaning.shape).tolist()
    return [
        " ".join(slot[g].split()[d] for slot, g, d in zip(SLOTS, groups, drawn))
        for groups, drawn in zip(meaning.tolist(), draws)
    ]


__all__ = ["WORDS", "meanings", "put_into_words"]
