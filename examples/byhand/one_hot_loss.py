"""One-hot targets, what models say before and after training, and the loss of both."""

from __future__ import annotations

import nn.functional as F
import tinytensor as tt

from .notation import matrix, vector
from .sheet import Sheet, main, worksheet

VOCABULARY = ["a", "am", "I", "thanks", "student", "<eos>"]
SENTENCE = ["I", "am", "a", "student", "<eos>"]


def words(ids: tt.Tensor) -> list[str]:
    return [VOCABULARY[i] for i in ids.tolist()]


@worksheet("003/004-onehot-loss", "One-hot targets and the loss of a sentence")
def one_hot_loss(sheet: Sheet) -> None:
    sheet.given("vocabulary", VOCABULARY)
    sheet.given("sentence", SENTENCE)
    ids = tt.tensor([VOCABULARY.index(word) for word in SENTENCE])
    targets = F.one_hot(ids, len(VOCABULARY)).double()
    am = sheet.check("“am”", targets[1], "0 1 0 0 0 0")
    figure = "0 0 1 0 0 0; 0 1 0 0 0 0; 1 0 0 0 0 0; 0 0 0 0 1 0; 0 0 0 0 0 1"
    sheet.check("the sentence", targets, figure)

    untrained = sheet.given("untrained", vector("0.2 0.2 0.1 0.2 0.2 0.1"))
    sheet.check("sum", untrained.sum(), "1")
    log_p = untrained.log()
    sheet.check("cross-entropy of “am”", F.nll_loss(log_p, ids[1]), "1.60944")
    sheet.check("KL divergence", F.kl_div(log_p, am, reduction="sum"), "1.60944")
    tied = words((untrained == untrained.max()).nonzero().flatten())
    sheet.words("equally likely", tied, ["a", "am", "thanks", "student"])

    trained = matrix(
        "0.01 0.02 0.93 0.01 0.03 0.01; 0.01 0.8 0.1 0.05 0.01 0.03; "
        "0.99 0.001 0.001 0.001 0.002 0.001; 0.001 0.002 0.001 0.02 0.94 0.01; "
        "0.01 0.01 0.001 0.001 0.001 0.98"
    )
    sheet.given("trained", trained)
    sheet.check("sums", trained.sum(dim=1), "1.01 1 0.996 0.974 1.003")
    losses = F.nll_loss(trained.log(), ids, reduction="none")
    sheet.check("cross-entropy", losses, "0.0725707 0.223144 0.0100503 0.0618754 0.0202027")
    sheet.check("its mean", F.nll_loss(trained.log(), ids), "0.0775685")
    sheet.words("the likeliest words", words(trained.argmax(dim=1)), SENTENCE)
    sheet.misread("trained, “I”", trained[0, 2], "0.03", "one digit")
    sheet.misread("trained, “student”", trained[3, 3:], "0.002 0.04 0.01", "one digit")
    sheet.misread("trained, “<eos>”", trained[4, 5], "0", "one digit")
    sheet.note("the trained rows are illustrations: they do not sum to 1 exactly")


if __name__ == "__main__":
    main()
