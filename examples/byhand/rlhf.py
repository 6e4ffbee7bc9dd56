"""RLHF: a reward model learns which of two answers is preferred, then a language model follows it.

The last layer of the reward model is chosen to give the rewards on the sheet, which does not show
it in full.
"""

from __future__ import annotations

import nn
import tinytensor as tt

from .notation import layer, matrix, table
from .sheet import Sheet, main, worksheet

EMBEDDINGS = {"him": "0; 1; 0", "her": "1; 0; 1", "them": "1; 0; 0", "doc": "1; 1; 0",
              "CEO": "0; 1; 1", "is": "1; 1; 1", "[S]": "-1; -1; -1"}  # fmt: skip
NEXT_WORDS = ["him", "her", "them", "is", "doc", "CEO"]


def embed(sentence: str) -> tt.Tensor:
    """(3, words), a column for each word."""
    return tt.cat([matrix(EMBEDDINGS[word]) for word in sentence.split()], dim=1)


@worksheet("002-20-RLHF", "RLHF: a reward model and a language model")
def rlhf(sheet: Sheet) -> None:
    for word, embedding in EMBEDDINGS.items():
        sheet.given(word, matrix(embedding).mT)
    hidden = layer("1 0 1 0; 0 1 0 0; 1 0 -1 0; 1 1 0 0")
    output = layer("6 6 6 -6 -1")
    sheet.given("[reward model | b]", table(hidden))
    sheet.given("[its output | b]", table(output))

    def pooled(sentence: str) -> tt.Tensor:
        return hidden(embed(sentence)).relu().mean(dim=1, keepdim=True)  # (4, words) → (4, 1)

    loser, winner = sheet.given("loser", "doc is him"), sheet.given("winner", "doc is them")
    sheet.check("mean of the loser", pooled(loser), "1; 1; 1/3; 5/3")
    low = sheet.check("reward of the loser", output(pooled(loser)), "3")
    high = sheet.check("reward of the winner", output(pooled(winner)), "5")
    gap = sheet.check("gap", high - low, "2")
    probability = sheet.check("σ(gap)", gap.sigmoid(), "0.880797")
    loss = sheet.check("−log σ(gap)", nn.PairwiseRewardLoss()(high, low), "0.126928")
    (g,) = tt.autograd.grad(loss, high)
    sheet.check("dL/dgap = σ(gap) − 1", g, "-0.119203")
    sheet.printed("σ in one digit", probability, "0.9", within=0.02)
    sheet.printed("its gradient in one digit", g, "-0.1", within=0.02)
    sheet.note("the target of σ is 1; the minus before it is that of σ − 1")

    answer = language_model(sheet)
    reward = sheet.check(f"reward of {answer}", output(pooled(answer)), "3")
    loss = sheet.check("loss = −reward", -reward, "-3")
    (g,) = tt.autograd.grad(loss, reward)
    sheet.check("dL/dreward", g, "-1")


def language_model(sheet: Sheet) -> str:
    """The likeliest next word at each position of the prompt, as one sentence."""
    X = embed(sheet.given("prompt", "[S] CEO is"))
    A = sheet.given("A", matrix("5 1 0; 0 4 1; 0 0 4"))
    feed_forward = layer("1 0 -1 2; -1 1 0 0")
    output = layer("1 1 0; 0 1 0; 1 0 0; -1 1 1; 2 0 -2; 2 0 -1")
    sheet.given("[feed-forward | b]", table(feed_forward))
    sheet.given("[next words | b]", table(output))
    features = sheet.check("X·A", nn.attention_pooling(X, A), "-5 -1 4; -5 3 5; -5 3 5")
    h = sheet.check("feed-forward, ReLU", feed_forward(features).relu(), "2 0 1; 0 4 1")
    logits = sheet.check("logits", output(h), "2 4 2; 0 4 1; 2 0 1; -1 5 1; 2 -2 0; 3 -1 1")
    words = [NEXT_WORDS[i] for i in logits.argmax(dim=0).tolist()]
    sheet.words("next words", words, ["CEO", "is", "him"])
    return " ".join(words)


if __name__ == "__main__":
    main()
