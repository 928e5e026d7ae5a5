"""Sentences, and tokenizers that the metrics use.

Most return the tokens joined by spaces, so that `sgi.text.token_columns` can split many texts at once.
"""

from __future__ import annotations

import re
import string
import unicodedata
from functools import cache
from itertools import accumulate, chain, pairwise
from operator import add
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Characters that the library does not handle (lone surrogates, white space beyond ASCII before a full stop)
# and their replacements of the same length.
_REPLACEMENTS = (
    (re.compile("[\ud800-\udfff]"), "\ufffd"),
    (re.compile("[\x85\u2028\u2029]"), "\n"),
    (re.compile(r"[^\S\x00-\x7f]"), " "),
)
# The number or sign of a list item, at the beginning of a line
_LIST_MARK = re.compile(r"(?m)^([^\S\n]*)(\(?\d{1,3}[.)]|[*•-])(?=[^\S\n])")
_LOOK_BACK = 24
_QUOTATION_MARKS = "`'\"\u00ab\u00bb\u201c\u201d\u201e\u2018\u2019"
_MAX_QUOTATION_MARKS, _PIECE = 1000, 4000
# German ordinals before a noun, at which the library splits: "im frühen 18. Jahrhundert"
_GERMAN_ORDINAL = re.compile(
    r"\b(?:i[mns]|am|des|de[mnr]|die|das|vo[mn]|zu[mr]?|beim|und|bis|frühen|späten|mittleren|ausgehenden)"
    r"\s\d{1,2}\.\s*$",
    re.IGNORECASE,
)


def sentences(text: str, language: str = "en") -> list[str]:
    r"""Split a text into sentences, without the white space around them; a blank text has none.

    A blank line or a list item ends a sentence; most abbreviations of the language (ISO 639-1) do not.

    Source: the rules of the library sentencex.

    >>> sentences("Dr. Curie won twice. First in 1903!\n\n- physics\n- chemistry")
    ['Dr. Curie won twice.', 'First in 1903!', '- physics', '- chemistry']
    """
    return [text[start:end] for start, end in sentence_spans(text, language)]


def sentence_spans(text: str, language: str = "en") -> tuple[tuple[int, int], ...]:
    """Return start and end of each sentence, as character offsets."""
    readable = text
    for pattern, replacement in () if text.isascii() else _REPLACEMENTS:
        readable = pattern.sub(replacement, readable)
    items = [match.start() for match in _LIST_MARK.finditer(readable)]
    # The library does not split list items, and it splits after "1."
    if items:
        readable = _LIST_MARK.sub(lambda match: match[1] + "A" * len(match[2]), readable)
    parts = chain.from_iterable(
        _segments(language, readable[start:end]) for start, end in pairwise([0, *items, len(text)])
    )
    spans = []
    for start, end in pairwise(accumulate(map(len, parts), initial=0)):
        part = text[start:end]
        if not part.isspace():
            first = start + len(part) - len(part.lstrip())
            spans.append((first, first + len(part.strip())))
    return tuple(spans)


def _segments(language: str, text: str) -> list[str]:
    import sentencex

    parts = chain.from_iterable(sentencex.segment(language, piece) for piece in _pieces(text))
    return _joined(parts) if language == "de" else list(parts)


def _pieces(text: str) -> Iterator[str]:
    """Cut a text with very many quotation marks, for which the library takes quadratic time."""
    start = 0
    if sum(map(text.count, _QUOTATION_MARKS)) > _MAX_QUOTATION_MARKS:
        while len(text) - start > _PIECE:
            end = start + _PIECE
            ends = (text.rfind(mark, start, end) + len(mark) for mark in ("\n\n", '." ', ". ", " "))
            end = next((each for each in ends if each > start + _PIECE // 2), end)
            yield text[start:end]
            start = end
    yield text[start:]


def _joined(parts: Iterable[str]) -> list[str]:
    """Join the parts of a German text that were split after an ordinal.

    >>> _joined(["Sie stammt aus dem 18. ", "Jahrhundert. ", "Er kam."])
    ['Sie stammt aus dem 18. Jahrhundert. ', 'Er kam.']
    """
    joined: list[str] = []
    for part in parts:
        if joined and _GERMAN_ORDINAL.search(joined[-1][-_LOOK_BACK:]):
            joined[-1] += part
        else:
            joined.append(part)
    return joined


# Each byte that is not a token character becomes a space.
_ROUGE_SIGNS = bytes(
    sign if chr(sign) in "abcdefghijklmnopqrstuvwxyz0123456789" else 32 for sign in range(256)
)
_PUNCTUATION = re.compile(r"([{-~\[-`!-&(-+:-@/])")
# The script's substitution consumes the sign before a mark, so every second of several marks in a row stays.
_MARKS_BEHIND = re.compile(r"([.,])(?<=[^0-9].)([.,]?)")
_MARKS_BEFORE = re.compile(r"([.,])([^0-9])")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")
_HYPHENS = re.compile(r"(-)(?<=[0-9].)")
_WORD = re.compile(r"\w+")
_CONTENT_WORD = re.compile(r"\w{3,}")
# Scripts written without spaces between words, and the marks that join characters of one word.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_DENSE = rf"{_UNSPACED}\p{{Hangul}}"
_JOINERS = r"\p{M}\u200C\u200D"
_WORD_PARTS = rf"[[\p{{L}}\p{{N}}{_JOINERS}]--[[{_UNSPACED}]--\p{{M}}]]"
_ANY_WORD = rf"[[\p{{L}}\p{{N}}]--[{_UNSPACED}]]{_WORD_PARTS}*|[[{_UNSPACED}]&&[\p{{L}}\p{{N}}]][{_JOINERS}]*"


def rouge_words(text: str) -> str:
    """Return ROUGE tokens: runs of a–z and digits in the lower-cased text; other characters separate them.

    Source: the tokens that the package rouge-score compares, without a stemmer.

    >>> rouge_words("Paris, the city-of-light: 2,102,650 Café").split()
    ['paris', 'the', 'city', 'of', 'light', '2', '102', '650', 'caf']
    """
    return text.lower().encode("ascii", "replace").translate(_ROUGE_SIGNS).decode("ascii")


def mteval_words(text: str) -> str:
    """Return BLEU tokens, as WMT's scoring script ``mteval-v13a`` does; case is kept.

    ASCII punctuation separates words and is a token itself, except apostrophes, hyphens that do not follow a
    digit, and full stops and commas between digits. Four XML entities are decoded.

    Source: the tokenizer ``13a`` of the package sacrebleu, with equal results.

    >>> mteval_words("It's U.S. $3.50, state-of-the-art.").split()
    ["It's", 'U', '.', 'S', '.', '$', '3.50', ',', 'state-of-the-art', '.']
    """
    text = text.replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    for entity, sign in (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">")):
        text = text.replace(entity, sign)
    # Splitting and joining is faster than a substitution with a callback.
    text = " ".join(_PUNCTUATION.split(f" {text} "))
    for marks in (_MARKS_BEHIND, _MARKS_BEFORE):
        pieces = marks.split(text)  # the text before a mark, the mark, the sign after it, and so on
        rests = map(add, pieces[2::3], pieces[3::3])
        text = " ".join([pieces[0], *chain.from_iterable(zip(pieces[1::3], rests, strict=True))])
    return " ".join(" ".join(_HYPHENS.split(text)).split())


def normalise_answer(text: str) -> str:
    r"""Return an answer in small letters, without ASCII punctuation, *a*, *an*, *the* and extra white space.

    Source: Rajpurkar et al. (2016), "SQuAD: 100,000+ Questions for Machine Comprehension of Text".

    >>> normalise_answer("  The Eiffel\tTower, in a  U.S. city!")
    'eiffel tower in us city'
    """
    bare = text.lower().translate(_NO_PUNCTUATION)
    return " ".join(_ARTICLE.sub(" ", bare).split())


def unicode_words(text: str) -> str:
    """Return tokens of any script: words if the script separates them by spaces, otherwise characters.

    The text is normalised (NFKC) and casefolded. A token is a run of letters, digits and their combining
    marks; in Chinese, Japanese, Thai, Lao, Khmer and Burmese script, which put no spaces between words, it is
    one letter with its marks. Punctuation, symbols and emoji separate tokens.

    Source: Unicode Standard Annexes 15 (normalisation forms) and 24 (scripts).

    >>> unicode_words("東京は Ｔokyo, Straße 12!").split()
    ['東', '京', 'は', 'tokyo', 'strasse', '12']
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(_pattern(_ANY_WORD).findall(folded))


def word_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each token of `unicode_words`, in the text as it is.

    >>> [*word_spans("Tokyo 東京")]
    [(0, 5), (6, 7), (7, 8)]
    """
    return (word.span() for word in _pattern(_ANY_WORD).finditer(text))


def content_words(text: str) -> str:
    r"""Return the casefolded words of three characters or more that are not all digits.

    A word is a run of letters, digits, underscores and combining marks, which Hindi has within words. Words
    of scripts with syllables or words in one character, such as Korean and Chinese, may be shorter.

    >>> content_words("It is in the Capital: Paris, 1889.").split(), content_words("यह कीमत, 京都")
    (['the', 'capital', 'paris'], 'कीमत 京都')
    """
    folded = text.casefold()
    if text.isascii() or not _pattern(rf"[\p{{M}}{_DENSE}]").search(folded):
        words = _CONTENT_WORD.findall(folded)
    else:
        word = rf"[\w\p{{M}}]{{3,}}|[\w\p{{M}}]*[{_DENSE}][\w\p{{M}}]*"
        words = _pattern(word).findall(unicodedata.normalize("NFC", folded))
    return " ".join([word for word in words if not word.isdigit()])


def unicode_content_words(text: str) -> str:
    """Return the words of `unicode_words` that are as long as `content_words` requires and not numbers.

    >>> unicode_content_words("東京 is in Japan, 1889.").split()
    ['東', '京', 'japan']
    """
    content = _pattern(rf"[\w\p{{M}}]{{3,}}|\w*[{_DENSE}]")
    return " ".join([w for w in unicode_words(text).split() if content.match(w) and not w.isdigit()])


def word_tokens(text: str) -> list[str]:
    r"""Return the casefolded words (``\w+``) of any length, including numbers, as a list.

    >>> word_tokens("In 1889, L'Étoile opened.")
    ['in', '1889', 'l', 'étoile', 'opened']
    """
    return _WORD.findall(text.casefold())


@cache
def _pattern(pattern: str) -> Any:
    """Compile a pattern with classes for scripts and marks, which the module re does not have."""
    import regex  # type: ignore[import-untyped]  # ships no types

    return regex.compile(pattern, regex.V1)
