"""Quote accuracy: whether quotations are in the cited passages, word for word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from typing_extensions import TypedDict

from sgi.kernel.details import closed
from sgi.kernel.metric import MetricSpec
from sgi.kernel.sample import CONTEXTS, RESPONSE
from sgi.metrics.citations.cited_row import BLANK, NO_PASSAGES, RowValue
from sgi.metrics.citations.markers import OfMarkers
from sgi.text.quotations import QuotedTokens, quotation_spans, quoted_parts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgi.kernel.features import Features
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

    >>> from sgi import Batch, Features, Sample
    >>> metric = QuoteAccuracy()
    >>> row = Sample(id="1", contexts=["It is very old."], response='It says "it is very OLD" [1].')
    >>> metric.score(metric.prepare(Batch.of([row])), Features()).values.tolist()
    [1.0]
    """

    spec: ClassVar = MetricSpec(
        "quote_accuracy", 2, needs=CONTEXTS | RESPONSE, citation="our own", details=QuoteDetails
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
