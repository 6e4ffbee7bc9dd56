"""Words and vocabulary of two sentences."""

from __future__ import annotations

from tinytensor.utils.tokenizers import WordTokenizer

from .sheet import Sheet, main, worksheet

TEXT = "I like to drink Apple Juice. My friend likes mango juice"
STEMS = {"likes": "like"}


@worksheet("004-tokenization", "Words and vocabulary of two sentences")
def tokenization(sheet: Sheet) -> None:
    text = sheet.given("text", TEXT)
    tokens = WordTokenizer.train(text).tokenize(text)
    words = [token for token in tokens if token.isalpha()]
    sheet.check("sentences", 1 + tokens.count("."), "2")
    sheet.check("words", len(words), "11")
    sheet.check("vocabulary, case kept", len(set(words)), "11")
    folded = [word.casefold() for word in words]
    sheet.check("vocabulary, lower case", len(set(folded)), "10")
    stemmed = {STEMS.get(word, word) for word in folded}
    sheet.check("with likes → like", len(stemmed), "9")


if __name__ == "__main__":
    main()
