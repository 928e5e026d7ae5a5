"""A model's tokenizer: read from its file, or built from a BERT vocabulary."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sgi.kernel.errors import EmbedderError, ModelCorruptError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from tokenizers import Encoding, Tokenizer

_AT_ONCE = 2048
"""Texts tokenized at once: bounds what their offsets and masks, which nobody needs, take in memory."""
_FIRST_CHARACTERS = 32_768
"""Of a longer text this much is tokenized first; as a rule it holds many times the tokens that are kept."""
_SAFE_OVERFLOW = 256
"""So many tokens beyond the limit show that the cut through the text touched none that is kept."""
_UNKNOWN = "[UNK]"


class Tokens(NamedTuple):
    """The token ids of texts, and which texts were longer than the limit."""

    ids: list[NDArray[np.int64]]
    truncated: NDArray[np.bool_]


def open_tokenizer(path: Path, limit: int) -> Tokenizer:
    """The tokenizer in ``path``, cutting at ``limit`` tokens, without padding.

    Args:
        path: ``tokenizer.json``, or a vocabulary with a word piece a line (``.txt``).
        limit: the most tokens of a text, special ones included.

    Raises:
        ModelCorruptError: the file is no tokenizer.
    """
    from tokenizers import Tokenizer

    try:
        tokenizer = bert_tokenizer(path) if path.suffix == ".txt" else Tokenizer.from_file(str(path))
    except Exception as error:  # tokenizers raises bare Exception
        raise ModelCorruptError(f"{path} is no tokenizer: {error}.") from error
    tokenizer.no_padding()
    tokenizer.enable_truncation(limit)
    return tokenizer


def bert_tokenizer(vocabulary: Path) -> Tokenizer:
    """BERT's uncased tokenizer: clean, lower case, no accents, CJK signs apart; then longest word pieces.

    Source: Devlin et al. (2018), arXiv:1810.04805, and the tokenizer its authors published.

    >>> from importlib.resources import files
    >>> bert_tokenizer(files("sgi") / "data" / "bert_vocab.txt").encode("Café 日本").tokens
    ['[CLS]', 'cafe', '日', '本', '[SEP]']
    """
    from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors

    pieces = vocabulary.read_text(encoding="utf-8").splitlines()
    ids = {piece: place for place, piece in enumerate(pieces)}
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
    """The ids of every text, cut at the tokenizer's limit.

    Of a very long text only as much is tokenized as it takes to know the tokens that are kept.

    Raises:
        EmbedderError: a text has no UTF-8 form (a lone surrogate), or is none.
    """
    ids: list[NDArray[np.int64]] = []
    truncated = []
    for start in range(0, len(texts), _AT_ONCE):
        for encoding in _encoded(tokenizer, texts[start : start + _AT_ONCE]):
            ids.append(np.asarray(encoding.ids, dtype=np.int64))
            truncated.append(bool(encoding.overflowing))
    return Tokens(ids, np.asarray(truncated, dtype=np.bool_))


def token_counts(tokenizer: Tokenizer, texts: Sequence[str]) -> list[int]:
    """The tokens of each whole text, special ones included, whatever the tokenizer's limit.

    >>> from importlib.resources import files
    >>> tokenizer = open_tokenizer(files("sgi") / "data" / "bert_vocab.txt", limit=4)
    >>> token_counts(tokenizer, ["a b c d e"])
    [7]
    """
    special = tokenizer.num_special_tokens_to_add(is_pair=False)
    whole = [(encoding, *encoding.overflowing) for encoding in tokenizer.encode_batch(list(texts))]
    return [special + sum(len(part.ids) - special for part in parts) for parts in whole]


def _encoded(tokenizer: Tokenizer, texts: Sequence[str]) -> list[Encoding]:
    try:
        encodings = tokenizer.encode_batch([text[:_FIRST_CHARACTERS] for text in texts])
        for place, text in enumerate(texts):
            if len(text) > _FIRST_CHARACTERS:
                text.encode()  # what was left out must be text too
                if _overflow(encodings[place]) < _SAFE_OVERFLOW:
                    encodings[place] = tokenizer.encode(text)
    except (TypeError, UnicodeEncodeError) as error:
        raise EmbedderError(_blame(texts), hint="Text must be valid Unicode.") from error
    return encodings


def _overflow(encoding: Encoding) -> int:
    return sum(len(part.ids) for part in encoding.overflowing)


def _blame(texts: Sequence[object]) -> str:
    for text in texts:
        if not isinstance(text, str):
            return f"A text is wanted, not {type(text).__name__}."
        try:
            text.encode()
        except UnicodeEncodeError as error:
            return f"A text has a lone surrogate at character {error.start}: {text[:60]!a}."
    return "The tokenizer refused a text."
