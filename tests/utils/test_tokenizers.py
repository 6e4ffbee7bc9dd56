"""Tokenizers: exact round trips, unknown tokens, special tokens, files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tinytensor as tt
from tinytensor.utils.tokenizers import BPETokenizer, CharTokenizer, Tokenizer, WordTokenizer

TEXT = "I like the cat. The cat likes me!\n\tIt's 12 o'clock — naïve café, 日本語, 🙂🙂.  " * 20
PART = TEXT[: len(TEXT) // 20]
SPECIAL = ["<pad>", "<eos>", "<eos2>"]

MAKERS: dict[str, Any] = {
    "char": lambda: CharTokenizer.train(TEXT, SPECIAL),
    "word": lambda: WordTokenizer.train(TEXT, special_tokens=SPECIAL, unk=None),
    "bpe": lambda: BPETokenizer.train(TEXT, 300, SPECIAL),
}


@pytest.mark.parametrize("kind", MAKERS)
def test_round_trip_and_files(kind: str, tmp_path: Path) -> None:
    tokenizer = MAKERS[kind]()
    text = "<pad>" + PART + "<eos2><eos>"
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert tokenizer.decode(tt.tensor(ids)) == text
    assert tokenizer.decode(ids, skip_special_tokens=True) == PART
    assert (ids[0], ids[-2], ids[-1]) == (0, 2, 1)
    assert max(ids) < len(tokenizer) == tokenizer.vocab_size
    tokenizer.save(tmp_path / "t.json")
    again = Tokenizer.load(tmp_path / "t.json")
    assert type(again) is type(tokenizer)
    assert again.vocab == tokenizer.vocab and again.encode(text) == ids


bpe = MAKERS["bpe"]()


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_bpe_gives_back_any_text(text: str) -> None:
    assert bpe.decode(bpe.encode(text)) == text


def test_bpe_merges_the_most_frequent_pairs_first() -> None:
    tokenizer = BPETokenizer.train("abab abab abab xy", 256 + 3)
    assert tokenizer.merges[0] == ("a", "b")
    assert tokenizer.merges[1] == ("ab", "ab")
    assert tokenizer.tokenize("abab") == ["abab"] and len(tokenizer.encode("abxy")) == 3
    assert len(bpe.encode(TEXT)) < len(TEXT.encode()) / 2


def test_unknown_tokens() -> None:
    words = WordTokenizer.train("a b c", unk="<unk>")
    assert words.decode(words.encode("a z c")) == "a <unk> c"
    assert words.encode("z") == [words.ids["<unk>"]]
    few = WordTokenizer.train("a a a b b c", vocab_size=4, special_tokens=["<pad>"])
    assert len(few) == 4 and few.tokenize("c") == ["c"] and few.encode("c") == [1]
    with pytest.raises(KeyError, match="CharTokenizer: 'z' is not in the vocabulary of 3 tokens"):
        CharTokenizer.train("abc").encode("z")
    with pytest.raises(IndexError, match="id 7 is out of range, expected 0 to 2"):
        CharTokenizer.train("abc").decode([7])


def test_damaged_files(tmp_path: Path) -> None:
    for content in ("", "[]", "{}", '{"kind": "quux"}', '{"kind": "char", "x": 1}'):
        (tmp_path / "t").write_text(content)
        with pytest.raises(RuntimeError, match="load: .*not a tokenizer's file"):
            Tokenizer.load(tmp_path / "t")
