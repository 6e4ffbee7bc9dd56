"""Tokenizers: convert text to ids and back, by character, by word, or by byte-pair encoding.

    tokenizer = BPETokenizer.train(text, vocab_size=512, special_tokens=["<pad>", "<eos>"])
    ids = tokenizer.encode("a sentence<eos>")
    assert tokenizer.decode(ids) == "a sentence<eos>"

Special tokens have the first ids, and are recognised in the text.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ..serialize import write_whole


class Tokenizer:
    """Base class. vocab: every token, in the order of their ids. unk: replaces unknown ones."""

    kind = ""

    def __init__(
        self, vocab: Sequence[str], special_tokens: Sequence[str] = (), unk: str | None = None
    ):
        self.special_tokens = list(special_tokens)
        self.unk = unk
        if unk is not None and unk not in self.special_tokens:
            self.special_tokens.append(unk)
        others = [token for token in vocab if token not in self.special_tokens]
        self.vocab = [*self.special_tokens, *others]
        self.ids = {token: i for i, token in enumerate(self.vocab)}
        if len(self.ids) != len(self.vocab):
            raise ValueError(f"{type(self).__name__}: a token occurs twice in the vocabulary")
        # Longest first, so that "<eos2>" is not read as "<eos" and "2>".
        longest_first = sorted(self.special_tokens, key=len, reverse=True)
        self._special = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")

    def __len__(self) -> int:
        return len(self.vocab)

    @property
    def vocab_size(self) -> int:
        return len(self.vocab)

    def token_to_id(self, token: str) -> int:
        """The id of a token; that of `unk` for an unknown one, or an error without `unk`."""
        found = self.ids.get(token)
        if found is None:
            if self.unk is None:
                raise KeyError(
                    f"{type(self).__name__}: {token!r} is not in the vocabulary of "
                    f"{len(self.vocab)} tokens; pass unk= for unknown tokens"
                )
            found = self.ids[self.unk]
        return found

    def id_to_token(self, id: int) -> str:
        """The token with an id."""
        if not 0 <= id < len(self.vocab):
            top = len(self.vocab) - 1
            raise IndexError(f"{type(self).__name__}: id {id} is out of range, expected 0 to {top}")
        return self.vocab[id]

    def tokenize(self, text: str) -> list[str]:
        """The tokens of a text, special ones included."""
        tokens: list[str] = []
        end = 0
        for match in self._special.finditer(text):
            tokens += self._split(text[end : match.start()])
            tokens.append(match.group())
            end = match.end()
        return tokens + self._split(text[end:])

    def encode(self, text: str) -> list[int]:
        """The ids of a text's tokens."""
        return [self.token_to_id(token) for token in self.tokenize(text)]

    def decode(self, ids: Iterable[Any], skip_special_tokens: bool = False) -> str:
        """The text of a list or tensor of ids."""
        tokens = [self.id_to_token(int(i)) for i in ids]
        if skip_special_tokens:
            tokens = [token for token in tokens if token not in self.special_tokens]
        return self._join(tokens)

    def _split(self, text: str) -> list[str]:
        raise NotImplementedError(f"{type(self).__name__}: _split is not implemented")

    def _join(self, tokens: list[str]) -> str:
        return "".join(tokens)

    # --------------------------------------------------------------------------------------
    # Files
    # --------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """The arguments that recreate this tokenizer."""
        return {"vocab": self.vocab, "special_tokens": self.special_tokens, "unk": self.unk}

    def save(self, f: str | os.PathLike) -> None:
        """Write to a JSON file, atomically."""
        content = json.dumps({"kind": self.kind, **self.state()})
        write_whole(Path(f), content.encode())

    @staticmethod
    def load(f: str | os.PathLike) -> Tokenizer:
        """Read a file written by `save`; returns a tokenizer of the kind that was saved."""
        try:
            state = json.loads(Path(f).read_text())
            kind = _KINDS[state.pop("kind")]
            return kind(**state)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise RuntimeError(f"load: {f} is not a tokenizer's file ({error})") from None


class CharTokenizer(Tokenizer):
    """One token per character. Decoding restores the exact text, except unknown characters."""

    kind = "char"

    @classmethod
    def train(
        cls, text: str, special_tokens: Sequence[str] = (), unk: str | None = None
    ) -> CharTokenizer:
        """The vocabulary is the text's characters, in order."""
        return cls(sorted(set(text)), special_tokens, unk)

    def _split(self, text: str) -> list[str]:
        return list(text)


class WordTokenizer(Tokenizer):
    """One token per word, run of spaces or punctuation mark, so that decoding is exact."""

    kind = "word"
    _pieces = re.compile(r"\w+|\s+|[^\w\s]")

    @classmethod
    def train(
        cls,
        text: str,
        vocab_size: int | None = None,
        special_tokens: Sequence[str] = (),
        unk: str | None = "<unk>",
    ) -> WordTokenizer:
        """The vocabulary is the text's pieces, the most frequent first, up to vocab_size."""
        counts = Counter(cls._pieces.findall(text))
        pieces = sorted(counts, key=lambda piece: (-counts[piece], piece))
        reserved = len({*special_tokens, *([unk] if unk else [])})
        room = None if vocab_size is None else max(0, vocab_size - reserved)
        return cls(pieces[:room], special_tokens, unk)

    def _split(self, text: str) -> list[str]:
        return self._pieces.findall(text)


class BPETokenizer(Tokenizer):
    """Byte-pair encoding: starts from the 256 bytes and merges the most frequent neighbours.

    Any text can be encoded, and decoding restores the exact text. A token is stored as a string
    with one character per byte (Latin-1).
    """

    kind = "bpe"
    # A word with the space before it, so that merges do not run across words.
    _words = re.compile(r" ?\w+| ?[^\w\s]+|\s+")

    def __init__(
        self,
        merges: Sequence[Sequence[str]],
        special_tokens: Sequence[str] = (),
        vocab: Sequence[str] | None = None,
        unk: None = None,
    ):
        self.merges = [(left, right) for left, right in merges]
        self.ranks = {pair: rank for rank, pair in enumerate(self.merges)}
        bytes_ = [chr(i) for i in range(256)]
        pieces = dict.fromkeys([*bytes_, *(left + right for left, right in self.merges)])
        clash = [token for token in special_tokens if token in pieces]
        if clash:
            raise ValueError(f"BPETokenizer: {clash[0]!r} is a special token and a piece of text")
        super().__init__(list(pieces), special_tokens)
        self._known: dict[str, list[str]] = {}  # a cache of words that were split

    def state(self) -> dict[str, Any]:
        return {"merges": self.merges, "special_tokens": self.special_tokens}

    @classmethod
    def train(
        cls, text: str, vocab_size: int = 512, special_tokens: Sequence[str] = ()
    ) -> BPETokenizer:
        """Learn merges until the vocabulary is full or no pair occurs twice."""
        counts = Counter(cls._words.findall(text))
        words = {word: _as_bytes(word) for word in counts}
        pairs: Counter[tuple[str, str]] = Counter()
        where: dict[tuple[str, str], set[str]] = defaultdict(set)  # the words that contain a pair
        for word, pieces in words.items():
            for pair in zip(pieces, pieces[1:]):
                pairs[pair] += counts[word]
                where[pair].add(word)

        merges: list[tuple[str, str]] = []
        pieces_known = 256 + len(special_tokens)
        made: set[str] = set()
        while pairs and pieces_known + len(made) < vocab_size:
            best = max(pairs, key=lambda pair: (pairs[pair], pair))  # ties are broken by the pair
            if pairs[best] < 2:
                break
            merges.append(best)
            made.add(best[0] + best[1])
            for word in where.pop(best):
                before, after = words[word], _merge(words[word], best)
                words[word] = after
                for pair in zip(before, before[1:]):
                    pairs[pair] -= counts[word]
                for pair in zip(after, after[1:]):
                    pairs[pair] += counts[word]
                    where[pair].add(word)
            pairs += Counter()  # drops pairs whose count is 0
        return cls(merges, special_tokens)

    def _split(self, text: str) -> list[str]:
        tokens: list[str] = []
        for word in self._words.findall(text):
            pieces = self._known.get(word)
            if pieces is None:
                pieces = self._known[word] = self._merge_all(_as_bytes(word))
            tokens += pieces
        return tokens

    def _merge_all(self, pieces: list[str]) -> list[str]:
        """Apply the learned merges, in the order in which they were learned."""
        while len(pieces) > 1:
            known = [pair for pair in zip(pieces, pieces[1:]) if pair in self.ranks]
            if not known:
                break
            pieces = _merge(pieces, min(known, key=self.ranks.__getitem__))
        return pieces

    def _join(self, tokens: list[str]) -> str:
        special = set(self.special_tokens)
        encoded = b"".join(t.encode("utf-8" if t in special else "latin-1") for t in tokens)
        return encoded.decode("utf-8", errors="replace")


def _as_bytes(word: str) -> list[str]:
    """A character for each byte of the word."""
    return [chr(byte) for byte in word.encode("utf-8", errors="replace")]


def _merge(pieces: list[str], pair: tuple[str, str]) -> list[str]:
    """Merge every occurrence of the pair into one piece, from the left."""
    merged: list[str] = []
    i = 0
    while i < len(pieces):
        if i + 1 < len(pieces) and (pieces[i], pieces[i + 1]) == pair:
            merged.append(pieces[i] + pieces[i + 1])
            i += 2
        else:
            merged.append(pieces[i])
            i += 1
    return merged


_KINDS: dict[str, Any] = {"char": CharTokenizer, "word": WordTokenizer, "bpe": BPETokenizer}

__all__ = ["BPETokenizer", "CharTokenizer", "Tokenizer", "WordTokenizer"]
