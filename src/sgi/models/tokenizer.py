"""Tokenizes texts with the tokenizer of a model: a file ``tokenizer.json``, or BERT's vocabulary."""

from __future__ import annotations

import json
import unicodedata
from contextlib import contextmanager
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import regex  # type: ignore[import-untyped]  # ships no types

from sgi.kernel.errors import EmbedderError, ModelCorruptError, SgiError, require_extra
from sgi.kernel.parsing import read_whole, reason
from sgi.text.read_share import reads_enough

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from tokenizers import Tokenizer


CLS, SEP = "[CLS]", "[SEP]"
UNKNOWN = "[UNK]"
_SPECIAL = ("[PAD]", UNKNOWN, CLS, SEP, "[MASK]")
_MAX_WORD = 100
"""A longer word is unknown."""
_CACHED_WORDS = 1 << 16
_CJK = (
    r"\u4e00-\u9fff\u3400-\u4dbf\U00020000-\U0002a6df\U0002a700-\U0002b73f\U0002b740-\U0002b81f"
    r"\U0002b920-\U0002ceaf\uf900-\ufaff\U0002f800-\U0002fa1f"
)
_PUNCTUATION = r"\p{P}!-/:-@\[-`{-~"
_REMOVED = regex.compile(r"(?V1)[\x00\ufffd[\p{Cc}\p{Cf}\p{Co}--[\t\n\r]]]")
_MARKS = regex.compile(r"\p{Mn}+")
_SPECIAL_WORDS = regex.compile("({})".format("|".join(map(regex.escape, _SPECIAL))))
_WORDS = regex.compile(rf"[{_CJK}{_PUNCTUATION}]|[^\s{_CJK}{_PUNCTUATION}]+")


class WordPieces:
    """Splits texts into the pieces of a vocabulary.

    It converts to lower case, removes accents and control characters, separates punctuation and CJK
    characters, and takes the longest pieces from the beginning of each word. A word of more than 100
    characters, or with a part that has no piece, is unknown. Special tokens in a text are read as such.

    The ids equal the ids of the package tokenizers, except for characters that are newer than its tables of
    Unicode.
    Source: Devlin et al. (2018), arXiv:1810.04805, and the tokenizer that its authors published.

    Args:
        pieces: the vocabulary; a piece within a word begins with ``##``. The position is the id.

    Raises KeyError if the vocabulary lacks a special token.

    >>> pieces = WordPieces(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un", "##able", "cafe", "!"])
    >>> list(pieces.tokenize("Unable, Café!"))
    [5, 6, 1, 7, 8]
    """

    def __init__(self, pieces: Iterable[str]) -> None:
        self.ids = {piece: position for position, piece in enumerate(pieces)}
        self._special = {word: self.ids[word] for word in _SPECIAL}
        self._of_word = lru_cache(_CACHED_WORDS)(self._split)

    def tokenize(self, text: str, limit: int | None = None) -> Iterator[int]:
        """Yield the ids of a text, or only the first ``limit`` of them.

        Raises TypeError if the text is not a str, UnicodeEncodeError if it is not valid Unicode.
        """
        if not isinstance(text, str):
            raise TypeError(text)
        if not text.isascii():
            text.encode()
        return islice(self._all(text), limit)

    def reads(self, text: str) -> bool:
        """Return whether enough of a text is in words with pieces; see `sgi.text.read_share.reads_enough`.

        >>> WordPieces(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "cafe"]).reads("Café ab")
        False
        """
        unknown = (self.ids[UNKNOWN],)
        words = [(f"{unicodedata.normalize('NFC', word)} ", pieces) for word, pieces in self._words(text)]
        unread = [pieces == unknown for word, pieces in words for _ in word]
        return reads_enough("".join(word for word, _ in words), unread)

    def _all(self, text: str) -> Iterator[int]:
        for _, pieces in self._words(text):
            yield from pieces

    def _words(self, text: str) -> Iterator[tuple[str, tuple[int, ...]]]:
        for part in _SPECIAL_WORDS.split(text) if "[" in text else (text,):
            if part in self._special:
                yield part, (self._special[part],)
                continue
            for word in _WORDS.finditer(_normalize(part)):
                yield word[0], self._of_word(word[0])

    def _split(self, word: str) -> tuple[int, ...]:
        unknown = (self.ids[UNKNOWN],)
        if len(word) > _MAX_WORD:
            return unknown
        found: list[int] = []
        start = 0
        while start < len(word):
            prefix = "##" if start else ""
            ends = range(len(word), start, -1)
            end = next((end for end in ends if prefix + word[start:end] in self.ids), None)
            if end is None:
                return unknown
            found.append(self.ids[prefix + word[start:end]])
            start = end
        return tuple(found)


def _normalize(text: str) -> str:
    if text.isascii() and text.isprintable():  # the common case
        return text.lower()
    plain = _MARKS.sub("", unicodedata.normalize("NFD", _REMOVED.sub("", text)))
    return "".join(map(str.lower, plain))  # letter by letter: the form of a letter depends on no other


_UNKNOWN_TOKENS = (UNKNOWN, "<unk>")
"""The usual names of the unknown token; a Unigram model does not tell its own."""
_MAX_ENTRIES = 1_200_000
"""The maximum number of keys and lists of a file; XLM-V has 902,000 and Gemma 776,000."""
_MAX_VALUES = 2_500_000
"""The maximum number of commas of a file; XLM-V has 1,800,000."""
_MAX_SPECIAL = 64
"""The maximum number of special tokens around a text."""
_MAX_GROWTH = 32
"""How many times longer the replacements of a tokenizer may make a text."""
_TEXTS_PER_CALL = 2048
"""The number of texts tokenized in one call; it limits the memory for offsets and masks, which are unused."""


class SpecialTokens(NamedTuple):
    """The tokens that a tokenizer adds around a text, such as [CLS] and [SEP]."""

    before: int
    """The number of special tokens before the text."""
    after: int
    """The number of special tokens after the text."""
    ids: tuple[int, ...]
    """The distinct ids of the special tokens."""

    @classmethod
    def of(cls, ids: Sequence[int], mask: Sequence[int]) -> SpecialTokens:
        """Find the special tokens in a tokenized text that also has at least one other token.

        ``mask`` is 1 for a special token and 0 for every other token.
        """
        own = [position for position, special in enumerate(mask) if not special]
        if not own or len(ids) - len(own) > _MAX_SPECIAL:
            raise ValueError(
                f"it makes {len(own)} tokens and {len(ids) - len(own)} special tokens of a letter"
            )
        distinct = tuple(dict.fromkeys(token for token, special in zip(ids, mask, strict=True) if special))
        return cls(own[0], len(ids) - 1 - own[-1], distinct)


class Tokens(NamedTuple):
    """The token ids of texts, and which texts were truncated."""

    ids: list[NDArray[np.int64]]
    truncated: NDArray[np.bool_]


class TextTokenizer(Protocol):
    """Converts texts to token ids; special tokens are around each text."""

    @property
    def special_tokens(self) -> SpecialTokens:
        """The special tokens that it adds around a text."""

    @property
    def unknown(self) -> int | None:
        """The id of the token for text that the vocabulary lacks; None if there is no such token."""

    def reads(self, text: str) -> bool:
        """Return whether known tokens cover enough of a text; see `sgi.text.read_share`."""

    def token_ids(self, texts: Sequence[str], limit: int | None = None) -> list[NDArray[np.int64]]:
        """Return the ids of each text; with a limit, it may stop one token after the limit.

        Raises TypeError or UnicodeEncodeError for a text that is not a str or not valid Unicode.
        """


class BertTokenizer:
    """BERT's uncased tokenizer, for a vocabulary with one word piece per line.

    >>> from importlib.resources import files
    >>> tokenizer = BertTokenizer(files("sgi") / "data" / "bert_vocab.txt")
    >>> [ids.tolist() for ids in tokenizer.token_ids(["Café 日本"])]
    [[101, 7668, 1864, 1876, 102]]
    """

    def __init__(self, vocabulary: Path) -> None:
        self._pieces = WordPieces(vocabulary.read_text(encoding="utf-8").splitlines())
        self._before, self._after = self._pieces.ids[CLS], self._pieces.ids[SEP]
        self.special_tokens = SpecialTokens(1, 1, (self._before, self._after))
        self.unknown = self._pieces.ids[UNKNOWN]

    def reads(self, text: str) -> bool:
        """Return whether enough of a text is in known words; see `TextTokenizer`."""
        return self._pieces.reads(text)

    def token_ids(self, texts: Sequence[str], limit: int | None = None) -> list[NDArray[np.int64]]:
        """Return the ids of each text; see `TextTokenizer`."""
        return [
            np.array([self._before, *self._pieces.tokenize(text, limit), self._after], dtype=np.int64)
            for text in texts
        ]


class FileTokenizer:
    """The tokenizer of a file ``tokenizer.json``."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        tokenizer.no_padding()
        tokenizer.no_truncation()
        self._tokenizer = tokenizer
        letter = tokenizer.encode("a")
        self.special_tokens = SpecialTokens.of(letter.ids, letter.special_tokens_mask)
        self.unknown = unknown_id(tokenizer)

    def reads(self, text: str) -> bool:
        """Return whether enough of a text is in known tokens; see `TextTokenizer`."""
        with native_errors(EmbedderError, "The tokenizer failed"):
            return reads_without(self._tokenizer, self.unknown, text)

    def token_ids(self, texts: Sequence[str], limit: int | None = None) -> list[NDArray[np.int64]]:
        """Return the ids of each text; see `TextTokenizer`."""
        del limit  # it reads whole texts
        ids: list[NDArray[np.int64]] = []
        for start in range(0, len(texts), _TEXTS_PER_CALL):
            with native_errors(EmbedderError, "The tokenizer failed"):
                encodings = self._tokenizer.encode_batch(texts[start : start + _TEXTS_PER_CALL])
            ids += [np.asarray(encoding.ids, dtype=np.int64) for encoding in encodings]
        return ids


def open_tokenizer(path: Path) -> TextTokenizer:
    """Open a ``tokenizer.json``, or a vocabulary (``.txt``). Raises ModelCorruptError if it is neither."""
    with native_errors(ModelCorruptError, f"{path} is not a tokenizer"):
        return BertTokenizer(path) if path.suffix == ".txt" else FileTokenizer(open_tokenizer_file(path))


def open_tokenizer_file(path: Path) -> Tokenizer:
    """Open a ``tokenizer.json``.

    Raises ModelCorruptError if it is not a tokenizer, is too large, or makes texts much longer, and
    MissingExtraError without the extra ``models``.
    """
    with require_extra(f"The model with the tokenizer {path}", "models"):
        from tokenizers import Tokenizer
    raw = read_whole(path, error=ModelCorruptError)
    if raw.count(b'":') + raw.count(b"[") > _MAX_ENTRIES or raw.count(b",") > _MAX_VALUES:
        raise ModelCorruptError(f"{path} is not a tokenizer: it has more than {_MAX_ENTRIES:,} entries.")
    with native_errors(ModelCorruptError, f"{path} is not a tokenizer"):
        tokenizer = Tokenizer.from_buffer(raw)
        growth = (
            1 if tokenizer.normalizer is None else _growth(json.loads(tokenizer.normalizer.__getstate__()))
        )
    if growth > _MAX_GROWTH:
        message = f"{path} is not a tokenizer: its replacements make a text {growth:,} times longer."
        raise ModelCorruptError(message)
    return tokenizer


def _growth(normalizer: dict[str, Any]) -> int:
    """Return how many times longer a normalizer can make a text, of those whose settings say it."""
    if normalizer.get("type") == "Sequence":
        growth = 1
        for part in normalizer.get("normalizers", []):
            growth *= _growth(part)
        return growth
    return max(1, *(len(str(normalizer.get(name, ""))) for name in ("content", "prepend")))


@contextmanager
def native_errors(kind: type[SgiError], what: str) -> Iterator[None]:
    """Context manager that converts the errors and panics of the package tokenizers to another error.

    Errors of SGI, and errors about an invalid text, are not converted.
    """
    try:
        yield
    except (SgiError, TypeError, UnicodeEncodeError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        raise kind(f"{what}: {reason(error)}.") from error


def tokenize(tokenizer: TextTokenizer, texts: Sequence[str], limit: int | None = None) -> Tokens:
    """Return the token ids of every text, truncated at a limit, special tokens included; None for no limit.

    Raises an EmbedderError if a text has a lone surrogate, or is not a str.
    """
    try:
        ids = tokenizer.token_ids(texts, limit)
    except (TypeError, UnicodeEncodeError) as error:
        raise EmbedderError(_invalid_text(texts), hint="A text must be valid Unicode.") from error
    if limit is None:
        return Tokens(ids, np.zeros(len(ids), dtype=np.bool_))
    truncated = np.array([len(own) > limit for own in ids], dtype=np.bool_)
    after = tokenizer.special_tokens.after
    for place in np.flatnonzero(truncated).tolist():
        own = ids[place]
        ids[place] = np.concatenate([own[: limit - after], own[len(own) - after :]])
    return Tokens(ids, truncated)


def unknown_id(tokenizer: Tokenizer) -> int | None:
    """Return the id of the unknown token of a tokenizer, or None."""
    for token in (getattr(tokenizer.model, "unk_token", None), *_UNKNOWN_TOKENS):
        number = None if token is None else tokenizer.token_to_id(token)
        if number is not None:
            return number
    return None


def reads_without(tokenizer: Tokenizer, unknown: int | None, text: str) -> bool:
    """Return whether a tokenizer knows enough of the characters or words of a text."""
    encoding = tokenizer.encode(text, add_special_tokens=False)
    unread = np.zeros(len(text), dtype=np.bool_)
    for token, (start, end) in zip(encoding.ids, encoding.offsets, strict=True):
        if token == unknown:
            unread[start:end] = True
    return reads_enough(text, unread.tolist())


def unread_texts(
    texts: Sequence[str],
    ids: Sequence[NDArray[np.int64]],
    *,
    unknown: int | None,
    reads: Callable[[str], bool],
    added: int,
) -> NDArray[np.bool_]:
    """Return which texts have too many letters that a vocabulary lacks, or no token at all, shape (n,).

    A blank text counts as read.

    Args:
        texts: the texts.
        ids: the token ids of each text.
        unknown: the id of the unknown token; None if there is none.
        reads: returns whether enough of a text is read; called only if one of its tokens is unknown.
        added: the number of tokens of an empty text.
    """
    lengths = np.fromiter(map(len, ids), dtype=np.int64, count=len(ids))
    unread = lengths <= added
    for text in np.flatnonzero(unread).tolist():
        unread[text] = bool(texts[text].strip())
    if unknown is None:
        return unread
    places = np.flatnonzero(np.concatenate([np.zeros(0, np.int64), *ids]) == unknown)
    for text in np.unique(np.searchsorted(lengths.cumsum(), places, side="right")).tolist():
        unread[text] = not reads(texts[text])
    return unread


def window_starts(length: int, width: int) -> list[int]:
    """Return the first positions of windows over a text; adjacent windows overlap by at least half.

    ``length`` is the number of tokens of the text, which is greater than ``width``, the number of tokens of a
    window. The last window ends at the end of the text.

    >>> window_starts(11, 4)
    [0, 2, 4, 6, 7]
    """
    step = max(1, width // 2)
    return [*range(0, length - width, step), length - width]


def _invalid_text(texts: Sequence[object]) -> str:
    for text in texts:
        if not isinstance(text, str):
            return f"A text must be a str, not {type(text).__name__}."
        try:
            text.encode()
        except UnicodeEncodeError as error:
            return f"A text has a lone surrogate at character {error.start}: {text[:60]!a}."
    return "The tokenizer cannot tokenize a text."
