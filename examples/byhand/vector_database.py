"""A vector database: sentences become short vectors, and the nearest to a question is looked up."""

from __future__ import annotations

import nn
import tinytensor as tt

from .notation import layer, matrix, table
from .sheet import Sheet, main, worksheet

VOCABULARY = [
    "a", "an", "the", "how", "why", "who", "what", "are", "is", "am", "be", "was", "you", "we", "I",
    "they", "she", "he", "she", "me", "him", "her",
]  # fmt: skip
EMBEDDINGS = """
    0 -1 0 1 0 1 0 0 -1 1 0 0 0 3 1 0 -1 0 0 0 -1 0;
    2 0 2 0 0 0 -1 1 0 0 0 2 1 0 2 0 2 0 0 2 0 0;
    -1 0 -1 1 2 0 0 1 0 1 -1 0 0 -1 0 3 0 0 -1 0 2 -1;
    0 1 0 0 1 0 1 0 1 0 1 -2 0 0 0 1 0 1 0 1 0 1
"""
DATA = ["how are you", "who are you", "who am I"]
QUERY = "am I you"

# Embeddings, encoder, mean and index of each sentence.
FIGURES = {
    "how are you": ("1 0 0; 0 1 1; 1 1 0; 0 0 0", "1 1 1; 0 1 1; 1 0 0; 1 0 0",
                    "1; 2/3; 1/3; 1/3", "5/3; 2/3"),
    "who are you": ("1 0 0; 0 1 1; 0 1 0; 0 0 0", "1 1 1; 0 1 1; 0 0 0; 1 0 0",
                    "1; 2/3; 0; 1/3", "5/3; 1/3"),
    "who am I": ("1 1 1; 0 0 2; 0 1 0; 0 0 0", "1 1 3; 0 0 2; 0 1 0; 1 1 0",
                 "5/3; 2/3; 1/3; 2/3", "7/3; 1"),
    "am I you": ("1 1 0; 0 2 1; 1 0 0; 0 0 0", "1 3 1; 0 2 1; 1 0 0; 1 0 0",
                 "5/3; 1; 1/3; 1/3", "8/3; 2/3"),
}  # fmt: skip


@worksheet("002-14-VectorDB", "Vector database: three sentences and a query")
def vector_database(sheet: Sheet) -> None:
    vectors = sheet.given("embeddings", matrix(EMBEDDINGS))
    sheet.given("vocabulary", VOCABULARY)
    embedding = nn.Embedding.from_pretrained(vectors.mT)  # a row for each word
    encoder = layer("1 1 0 0 0; 0 1 0 1 0; 1 0 1 0 -1; 1 -1 0 0 0")
    projection = layer("1 1 0 0; 0 0 1 1", bias=False)
    sheet.given("[encoder | b]", table(encoder))
    sheet.given("projection", table(projection))

    means, index = {}, {}
    for sentence in [*DATA, QUERY]:
        words, encoded, mean, position = FIGURES[sentence]
        ids = tt.tensor([VOCABULARY.index(word) for word in sentence.split()])
        X = sheet.check(f"{sentence}: embeddings", embedding(ids).mT, words)
        H = sheet.check(f"{sentence}: ReLU(encoder)", encoder(X).relu(), encoded)
        means[sentence] = H.mean(dim=1, keepdim=True)
        sheet.check(f"{sentence}: mean", means[sentence], mean)
        index[sentence] = sheet.check(f"{sentence}: index", projection(means[sentence]), position)

    database = tt.cat([index[sentence] for sentence in DATA], dim=1)  # 3 × (2, 1) → (2, 3)
    dots = sheet.check("query · data", index[QUERY].mT @ database, "44/9 42/9 62/9")
    sheet.check("times 9", 9 * dots, "44 42 62")
    sheet.words("the nearest", DATA[int(dots.argmax())], "who am I")
    cause = "“who” gives 1 there, not 0"
    sheet.slip("mean of who are you, row 4", means["who are you"][3], "0", cause)
    sheet.slip("index of who are you", index["who are you"], "5/3; 0", "follows")
    sheet.slip("query · who are you", dots[0, 1], "40/9", "follows")
    cause = "“who” and “am” both give 1 there"
    sheet.slip("mean of who am I, row 4", means["who am I"][3], "1/3", cause)
    sheet.slip("index of who am I", index["who am I"], "7/3; 2/3", "follows")
    sheet.slip("query · who am I", dots[0, 2], "60/9", "follows; the nearest stays the nearest")


if __name__ == "__main__":
    main()
