"""How a sentence is drawn: a random number for each word, and the sum of probabilities it falls in.

The sheet adds the probabilities from the bottom of the list.
"""

from __future__ import annotations

import tinytensor as tt
from nn.generation.sampling import inverse_cdf

from .notation import matrix, vector
from .sheet import Sheet, main, worksheet

VOCABULARY = ["I", "you", "they", "are", "am", "how", "why", "where", "who", "what"]


def words(ids: tt.Tensor, vocabulary: list[str]) -> list[str]:
    return [vocabulary[i] for i in ids.tolist()]


@worksheet("002-5-LLM-sampling", "Three words drawn with given random numbers")
def sampling(sheet: Sheet) -> None:
    sheet.given("vocabulary", VOCABULARY)
    p = sheet.given(
        "p, a row for each word",
        matrix(
            "0.01 0.01 0.01 0.01 0.01 0.5 0.1 0.1 0.15 0.1; "
            "0.01 0.01 0.01 0.4 0.4 0.05 0.05 0.05 0.01 0.01; "
            "0.03 0.5 0.4 0.01 0.01 0.01 0.01 0.01 0.01 0.01"
        ),
    )
    listed = sheet.given("random numbers", vector("0.34 0.52 0.92 0.65"))
    u = sheet.check("used, from the last on", listed.flip(0)[:3], "0.65 0.92 0.52")
    sheet.check("sums", p.sum(dim=1), "1 1 1")

    upwards = p.flip(1)  # what, who, where, …
    sheet.check(
        "added from below",
        upwards.cumsum(dim=1).flip(1),
        "1 0.99 0.98 0.97 0.96 0.95 0.45 0.35 0.25 0.1; "
        "1 0.99 0.98 0.97 0.57 0.17 0.12 0.07 0.02 0.01; "
        "1 0.97 0.47 0.07 0.06 0.05 0.04 0.03 0.02 0.01",
    )
    drawn = words(inverse_cdf(upwards, u), VOCABULARY[::-1])
    sheet.words("drawn", drawn, ["how", "are", "you"])
    # From above, 0.65 is the very border of “why” and “where”; the sheet counts it to “why”.
    downwards = words(inverse_cdf(p, u - 1e-9), VOCABULARY)
    sheet.words("drawn, added from above", downwards, ["why", "why", "you"])
    sheet.words("the likeliest", words(p.argmax(dim=1), VOCABULARY), ["how", "are", "you"])
    sheet.note("“are” and “am” are equally likely: the first is taken")


if __name__ == "__main__":
    main()
