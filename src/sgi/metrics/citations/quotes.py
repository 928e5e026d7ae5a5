"""Quote accuracy: whether quotations are in the cited passages, word for word."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, Self

from typing_extensions import TypedDict

from sgi.kernel.details import closed
from sgi.kernel.metric import MetricHelp, MetricSpec, Question
from sgi.kernel.sample import CONTEXTS, RESPONSE
from sgi.metrics.citations.cited_row import BLANK, NO_PASSAGES, RowValue
from sgi.metrics.citations.markers import OfMarkers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgi.kernel.vectors import Features
    from sgi.metrics.citations.cited_row import CitedRow

_DIGITS = 4
QuoteVerdict = Literal["exact", "elsewhere", "different"]


@closed
class QuoteEvidence(TypedDict):
    """A quotation.

    Attributes:
        text: the quotation without quotation marks.
        start: start in the response, in characters.
        end: end in the response.
        cited: indices of the existing contexts that its statement cites; empty if it cites none.
        verdict: ``exact`` if it is in a cited passage (in any passage if none is cited), ``elsewhere`` if it
            is in another passage only, otherwise ``different``.
        passage: index of the context with the quotation or with the nearest text; None if no word occurs.
        nearest: the text of this passage that shares the most words with it; "" if it is there word for word.
        nearest_start: start of this text in the passage.
        nearest_end: end of this text in the passage.
        share: share of its words and punctuation marks that this text has; 1 if it is there word for word.
    """

    text: str
    start: int
    end: int
    cited: list[int]
    verdict: QuoteVerdict
    passage: int | None
    nearest: str
    nearest_start: int | None
    nearest_end: int | None
    share: float


@closed
class QuoteDetails(TypedDict, total=False):
    """The quotations of a response.

    Attributes:
        quotes: the quotations, in order.
    """

    quotes: list[QuoteEvidence]


@dataclass(frozen=True)
class QuoteAccuracy(OfMarkers):
    r"""Share of the quotations that are in a cited passage word for word.

    .. math:: \text{quotations in a cited passage} \,/\, \text{quotations}

    In [0, 1]; higher is better. A quotation is a text in double quotation marks with at least ``min_words``
    words. It must be in a passage that its sentence cites, or in any passage if the sentence cites none.

    Words and punctuation marks are compared after normalisation: Unicode NFKC, no case, plain quotation marks
    and dashes, any white space, no punctuation marks at the ends. ``…`` and ``[...]`` stand for omitted
    words, and words in square brackets for insertions: the parts around them must be in the same passage, in
    their order. A quotation of the question that is in no passage is not counted.

    A row is undefined if the response is blank or has no such quotation, or if there are no passages. It
    needs no model and works for every language that separates words by spaces.

    Attributes:
        pattern: the syntax of inline ids, as for ``citation_recall``.
        min_words: smallest number of words of a quotation; shorter ones are mostly titles and terms.

    >>> from sgi.types import Batch, Features, Sample
    >>> metric = QuoteAccuracy()
    >>> row = Sample(id="1", contexts=["It is very old."], response='It says "it is very OLD" [1].')
    >>> metric.score(metric.prepare(Batch.of([row])), Features()).values.tolist()
    [1.0]
    """

    spec: ClassVar = MetricSpec(
        "quote_accuracy",
        2,
        needs=CONTEXTS | RESPONSE,
        citation="our own",
        details=QuoteDetails,
        guide=MetricHelp(
            Question.CITED,
            "1: every quotation is in a cited passage word for word. 0: none is.",
            "A row has no value if the response has no quotation.",
        ),
    )
    min_words: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        if type(self.min_words) is not int or self.min_words < 1:
            raise ValueError(f"min_words must be a whole number from 1, not {self.min_words!r}")

    def _value(self, row: CitedRow, _features: Features) -> RowValue:
        if not row.sample.response.strip():
            return RowValue(None, BLANK)
        if not row.sample.contexts:
            return RowValue(None, NO_PASSAGES)
        quotes = list(self._quotes(row))
        if not quotes:
            return RowValue(None, f"the response has no quotation of at least {self.min_words} words")
        exact = sum(quote["verdict"] == "exact" for quote in quotes)
        return RowValue(exact / len(quotes), details={"quotes": quotes})

    def _quotes(self, row: CitedRow) -> Iterator[QuoteEvidence]:
        spans = quotation_spans(row.sample.response)
        passages = [QuotedTokens.of(text) for text in row.sample.contexts] if spans else []
        question = QuotedTokens.of(row.sample.question)
        for start, end in spans:
            text = _without_markers(row, start, end)
            parts = quoted_parts(text)
            if sum(part.words for part in parts) < self.min_words:
                continue
            quote = _check(row, passages, start, end, text)
            if quote["verdict"] != "different" or not question.find(parts):
                yield quote


def _without_markers(row: CitedRow, start: int, end: int) -> str:
    """Return a part of the response without the markers in it."""
    parts, at = [], start
    for marker in row.text.markers:
        if start <= marker.start and marker.end <= end:
            parts.append(row.sample.response[at : marker.start].rstrip())
            at = marker.end
    return "".join([*parts, row.sample.response[at:end]])


def _check(row: CitedRow, passages: Sequence[QuotedTokens], start: int, end: int, text: str) -> QuoteEvidence:
    parts = quoted_parts(text)
    cited = [
        context
        for statement in row.statements
        if statement.start < end and start < statement.end
        for context in statement.cited
    ]
    holders = [at for at, passage in enumerate(passages) if passage.find(parts)]
    exact = [at for at in holders if at in cited or not cited]
    quote = QuoteEvidence(
        text=row.sample.response[start:end],
        start=start,
        end=end,
        cited=list(dict.fromkeys(cited)),
        verdict="exact" if exact else "elsewhere" if holders else "different",
        passage=next(iter(exact or holders), None),
        nearest="",
        nearest_start=None,
        nearest_end=None,
        share=1.0 if holders else 0.0,
    )
    return quote if holders else _add_nearest(quote, row, passages, QuotedTokens.of(text).trimmed())


def _add_nearest(
    quote: QuoteEvidence, row: CitedRow, passages: Sequence[QuotedTokens], sought: QuotedTokens
) -> QuoteEvidence:
    """Add the text that is nearest to a quotation, in a cited passage if one is cited."""
    order = quote["cited"] or range(len(passages))
    found = [(at, span) for at in order if (span := passages[at].nearest(sought)) is not None]
    if found:
        place, span = max(found, key=lambda each: each[1].share)
        first, last = passages[place].spans[span.start][0], passages[place].spans[span.end - 1][1]
        quote["passage"], quote["share"] = place, round(span.share, _DIGITS)
        quote["nearest"] = row.sample.contexts[place][first:last]
        quote["nearest_start"], quote["nearest_end"] = first, last
    return quote


MAX_QUOTATION = 2_000
"""Maximum number of characters of a quotation."""

_LIMIT = f"{{1,{MAX_QUOTATION}}}"
_QUOTATION = re.compile(
    rf"“([^“”\n]{_LIMIT})”|„([^„“”\n]{_LIMIT})[“”]|«([^«»\n]{_LIMIT})»"
    rf'|(?<![\w"])"(?!\s)([^"\n]{_LIMIT})(?<!\s)"(?!\w)'
)
_GAP = re.compile(r"\[\s?(?:\.{3,4}|…)\s?\]|\(\s?(?:\.{3,4}|…)\s?\)|\.{3,4}|…|\[[^\[\]\n]{2,80}\]")
_LETTER = re.compile(r"\[([^\W\d_])\]")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]+")
_TOKEN = re.compile("[\\w\u00ad\u200b-\u200f\u2060\ufeff]+|[^\\w\\s]")
_SAME = str.maketrans("‘’‚‛“”„‟«»\u2010\u2011\u2012\u2013\u2014", '\'\'\'\'""""""-----')
_BREAK = "\x00"


def quotation_spans(text: str) -> list[tuple[int, int]]:
    """Return start and end of the texts in double quotation marks, without the marks.

    >>> quotation_spans('It is "very tall" and 5" wide.')
    [(7, 16)]
    """
    return [match.span(match.lastindex or 0) for match in _QUOTATION.finditer(text)]


class TokenSpan(NamedTuple):
    """A part of a text, from token ``start`` to ``end`` (exclusive), and its share of the sought tokens."""

    start: int
    end: int
    share: float


@dataclass(frozen=True, eq=False)
class QuotedTokens:
    """The words and punctuation marks of a text, normalised.

    Normalisation: Unicode NFKC, lower case, plain quotation marks and dashes, no invisible characters.

    Attributes:
        tokens: the normalised tokens.
        spans: start and end of each token in the text, in characters.
    """

    tokens: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, text: str) -> Self:
        """Split a text into tokens; white space is ignored."""
        pairs = [(_normalise(match[0]), match.span()) for match in _TOKEN.finditer(text)]
        pairs = [(token, span) for token, span in pairs if token]
        return cls(tuple(token for token, _ in pairs), tuple(span for _, span in pairs))

    @cached_property
    def _joined(self) -> str:
        return _BREAK + _BREAK.join(self.tokens) + _BREAK

    @property
    def words(self) -> int:
        """The number of tokens that are words or numbers."""
        return sum(token[0].isalnum() for token in self.tokens)

    def trimmed(self) -> QuotedTokens:
        """Return the tokens without punctuation marks at the ends."""
        words = [at for at, token in enumerate(self.tokens) if token[0].isalnum()]
        part = slice(words[0], words[-1] + 1) if words else slice(0, 0)
        return QuotedTokens(self.tokens[part], self.spans[part])

    def find(self, parts: list[QuotedTokens]) -> bool:
        """Return whether the parts occur in this text in their order.

        >>> QuotedTokens.of("It is very old and tall.").find(quoted_parts("It is … Tall"))
        True
        """
        at = 0
        for part in parts:
            found = self._joined.find(part._joined, at)  # noqa: SLF001 - the same class
            if found < 0:
                return False
            at = found + len(part._joined) - 1  # noqa: SLF001 - the same class
        return True

    def nearest(self, sought: QuotedTokens) -> TokenSpan | None:
        """Return the part of this length that has the most of the sought tokens; None if no part has one."""
        width, best, start = len(sought.tokens), 0, 0
        missing = Counter(sought.tokens)
        shared = 0
        for at, token in enumerate(self.tokens):
            missing[token] -= 1
            shared += missing[token] >= 0
            if at >= width:
                left = self.tokens[at - width]
                shared -= missing[left] >= 0
                missing[left] += 1
            if shared > best:
                best, start = shared, max(0, at - width + 1)
        return TokenSpan(start, min(start + width, len(self.tokens)), best / width) if best else None


def quoted_parts(quotation: str) -> list[QuotedTokens]:
    """Return the parts of a quotation between omissions (``…``, ``[...]``) and insertions (``[it]``)."""
    parts = [QuotedTokens.of(part).trimmed() for part in _GAP.split(_LETTER.sub(r"\1", quotation))]
    return [part for part in parts if part.tokens]


def _normalise(token: str) -> str:
    return unicodedata.normalize("NFKC", _INVISIBLE.sub("", token).translate(_SAME)).casefold()
