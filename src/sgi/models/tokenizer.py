"""Opens a model's tokenizer, from its file or from a BERT vocabulary; tokenizes texts and finds windows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sgi.kernel.errors import EmbedderError, ModelCorruptError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from tokenizers import Encoding, Tokenizer

_TEXTS_PER_CALL = 2048
"""The number of texts tokenized in one call; it limits the memory for offsets and masks, which are unused."""
_FIRST_CHARACTERS = 32_768
"""A longer text is cut after this many characters for a first try, which mostly exceeds the limit by far."""
_SAFE_OVERFLOW = 256
"""The number of extra tokens beyond the limit that show that the cut did not change the tokens within it."""
_UNKNOWN = "[UNK]"


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
        distinct = tuple(dict.fromkeys(token for token, special in zip(ids, mask, strict=True) if special))
        return cls(own[0], len(ids) - 1 - own[-1], distinct)


class Tokens(NamedTuple):
    """The token ids of texts, and which texts were truncated."""

    ids: list[NDArray[np.int64]]
    truncated: NDArray[np.bool_]


def open_tokenizer(path: Path, limit: int) -> Tokenizer:
    """Open a tokenizer that truncates at ``limit`` tokens (special ones included) and does not pad.

    ``path`` is a ``tokenizer.json``, or a vocabulary with one word piece per line (``.txt``). Raises a
    ModelCorruptError if it is not a tokenizer.
    """
    from tokenizers import Tokenizer

    try:
        tokenizer = bert_tokenizer(path) if path.suffix == ".txt" else Tokenizer.from_file(str(path))
    except Exception as error:  # tokenizers raises bare Exception
        raise ModelCorruptError(f"{path} is not a tokenizer: {error}.") from error
    tokenizer.no_padding()
    tokenizer.enable_truncation(limit)
    return tokenizer


def bert_tokenizer(vocabulary: Path) -> Tokenizer:
    """Return BERT's uncased tokenizer for a vocabulary.

    It converts to lower case, removes accents, splits CJK characters, and takes the longest word pieces.
    Source: Devlin et al. (2018), arXiv:1810.04805, and the tokenizer that its authors published.

    >>> from importlib.resources import files
    >>> bert_tokenizer(files("sgi") / "data" / "bert_vocab.txt").encode("Café 日本").tokens
    ['[CLS]', 'cafe', '日', '本', '[SEP]']
    """
    from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors

    pieces = vocabulary.read_text(encoding="utf-8").splitlines()
    ids = {piece: position for position, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token=_UNKNOWN, max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=True, strip_accents=True, lowercase=True
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    specials = ("[PAD]", _UNKNOWN, "[CLS]", "[SEP]", "[MASK]")
    tokenizer.add_special_tokens([AddedToken(word, special=True, normalized=False) for word in specials])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[(word, ids[word]) for word in ("[CLS]", "[SEP]")]
    )
    return tokenizer


def tokenize(tokenizer: Tokenizer, texts: Sequence[str]) -> Tokens:
    """Return the token ids of every text, truncated at the tokenizer's limit.

    Only the needed part of a very long text is tokenized. Raises an EmbedderError if a text has a lone
    surrogate, or is not a str.
    """
    ids: list[NDArray[np.int64]] = []
    truncated = []
    for start in range(0, len(texts), _TEXTS_PER_CALL):
        for encoding in _encode(tokenizer, texts[start : start + _TEXTS_PER_CALL]):
            ids.append(np.asarray(encoding.ids, dtype=np.int64))
            truncated.append(bool(encoding.overflowing))
    return Tokens(ids, np.asarray(truncated, dtype=np.bool_))


def token_counts(tokenizer: Tokenizer, texts: Sequence[str]) -> list[int]:
    """Return the number of tokens of each whole text, including special tokens; ignore the limit."""
    special = tokenizer.num_special_tokens_to_add(is_pair=False)
    whole = [(encoding, *encoding.overflowing) for encoding in tokenizer.encode_batch(list(texts))]
    return [special + sum(len(part.ids) - special for part in parts) for parts in whole]


def window_starts(length: int, width: int) -> list[int]:
    """Return the first positions of windows over a text; adjacent windows overlap by at least half.

    ``length`` is the number of tokens of the text, which is greater than ``width``, the number of tokens of a
    window. The last window ends at the end of the text.

    >>> window_starts(11, 4)
    [0, 2, 4, 6, 7]
    """
    step = max(1, width // 2)
    return [*range(0, length - width, step), length - width]


def _encode(tokenizer: Tokenizer, texts: Sequence[str]) -> list[Encoding]:
    try:
        encodings = tokenizer.encode_batch([text[:_FIRST_CHARACTERS] for text in texts])
        for position, text in enumerate(texts):
            if len(text) > _FIRST_CHARACTERS:
                text.encode()  # the rest of the text must be valid too
                overflow = sum(len(part.ids) for part in encodings[position].overflowing)
                if overflow < _SAFE_OVERFLOW:
                    encodings[position] = tokenizer.encode(text)
    except (TypeError, UnicodeEncodeError) as error:
        raise EmbedderError(_invalid_text(texts), hint="A text must be valid Unicode.") from error
    return encodings


def _invalid_text(texts: Sequence[object]) -> str:
    for text in texts:
        if not isinstance(text, str):
            return f"A text must be a str, not {type(text).__name__}."
        try:
            text.encode()
        except UnicodeEncodeError as error:
            return f"A text has a lone surrogate at character {error.start}: {text[:60]!a}."
    return "The tokenizer refused a text."
