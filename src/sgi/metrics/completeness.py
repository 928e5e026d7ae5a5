"""Completeness: the share of the statements of the reference that the response states, without a judge."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING, Any, ClassVar

from typing_extensions import TypedDict

from sgi.kernel.details import closed
from sgi.kernel.metric import Metric, MetricHelp, MetricSpec, Question
from sgi.kernel.sample import REFERENCE, RESPONSE
from sgi.metrics.grounding.analysis import ResponseAnalysis
from sgi.metrics.grounding.check_facts import Verdict
from sgi.metrics.grounding.grounding_model import grounding_model, sigmoid
from sgi.metrics.grounding.prepared_row import PreparedRow
from sgi.metrics.grounding.signals import sentence_signals, table
from sgi.metrics.listed_facts import listed_facts, scores_of_facts, set_needs
from sgi.metrics.references import BLANK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi.kernel.metric import Scores
    from sgi.kernel.sample import Batch, Sample
    from sgi.kernel.vectors import Features

NO_STATEMENTS = "the reference states nothing that a response could repeat"
YES_OR_NO = re.compile(r"\W{0,3}(yes|no)\b\s*(?:[,.;:!–-]|$)", re.IGNORECASE)
"""A text that begins with "yes" or "no", as an answer of its own."""


@closed
class Statement(TypedDict):
    """A statement of the reference.

    Attributes:
        stated: whether the response states it.
        text: its words.
        beside: the part of the response that is closest to it by words that the question lacks, or "yes" or
            "no" with a word of the statement in the question; "" if there is none.
        score: the support score of the statement, if the response is the passage, from 0 to 1.
    """

    stated: bool
    text: str
    beside: str
    score: float


@closed
class CompletenessDetails(TypedDict, total=False):
    """The statements of the reference, or the facts.

    Attributes:
        statements: the statements of the best reference, or the facts, in order.
    """

    statements: list[Statement]


@dataclass(frozen=True)
class Completeness(Metric["Batch"]):
    r"""Share of the statements of the reference that the response states, without a judge.

    .. math:: \frac{|\text{stated statements of the reference}|}{|\text{statements of the reference}|}

    In [0, 1]. `grounding` with exchanged roles: the reference is the text that is checked, and the response
    is its only passage. A statement is a sentence or an item of a list. It is stated if `grounding` calls it
    supported and finds each of its numbers, dates and names in the response or the question. Other words of
    the question do not count, unless the statement has no others, so "1867" states "She was born in 1867" if
    that was asked; another number, date or negation does not.

    With several references, the best one counts. A response that is blank, or refuses, states nothing: 0. A
    row is undefined if no reference states anything, or if the texts are in different languages or in one
    that `grounding` does not read.

    Limits: those of `grounding`. A statement in other words than the response counts as missing, and one of
    its words can count as stated with an opposite ("open" for "closed"), with exchanged roles, or with a name
    of which the response has the last word or the initials elsewhere.

    With ``facts``, the statements are the facts in a column of ``metadata`` instead of a reference: a list of
    texts, or objects with a text ``statement``. A fact of several sentences is stated if each of them is. A
    row without the column is ``missing``; it is undefined if a fact cannot be checked.

    Attributes:
        facts: the name of the column; "" means the reference.

    References: our own. Nugget recall (Voorhees, 2003, "Overview of the TREC 2003 Question Answering Track")
    asks people, and its successors a language model.

    >>> import sgi
    >>> row = {"response": "It is 330 m tall.", "reference": "It is 330 m tall. Gustave Eiffel built it."}
    >>> score = sgi.evaluate([row], "completeness")["completeness"].row(0)
    >>> score.value, [each["text"] for each in score.details["statements"] if not each["stated"]]
    (0.5, ['Gustave Eiffel built it.'])
    """

    spec: ClassVar = MetricSpec(
        "completeness",
        1,
        needs=RESPONSE | REFERENCE,
        citation="our own, by the verdicts of grounding",
        guide=MetricHelp(
            Question.RIGHT,
            "1: the response states all of the reference. 0: none of it. The details name what is missing.",
            "A statement in other words counts as missing, and so does one with a name that the response and "
            "the question lack; an opposite can count as stated. What the response says beyond the reference "
            "does not count. A row has no value if the reference states nothing, or is in a language that "
            "grounding does not read.",
        ),
        details=CompletenessDetails,
    )
    facts: str = ""

    def __post_init__(self) -> None:
        set_needs(self, self.facts)

    def score(self, batch: Batch, _features: Features, /) -> Scores:
        """Return the share of stated statements of each row."""
        facts = [listed_facts(sample, self.facts) if self.facts else () for sample in batch.samples]
        rows = [
            each if isinstance(each, str) else _with_facts(sample, each) if self.facts else _best(sample)
            for sample, each in zip(batch.samples, facts, strict=True)
        ]
        return scores_of_facts(
            [row if isinstance(row, str) else _share(row) for row in rows],
            [each if isinstance(each, str) else "" for each in facts],
            [{} if isinstance(row, str) else {"statements": [*map(_as_json, row)]} for row in rows],
        )


def _share(statements: Sequence[Statement]) -> float:
    return sum(each["stated"] for each in statements) / len(statements)


def _as_json(statement: Statement) -> dict[str, Any]:
    return {**statement}


def _with_facts(sample: Sample, facts: Sequence[str]) -> list[Statement] | str:
    """Return a statement for each fact, or why one of them cannot be checked."""
    statements: list[Statement] = []
    for number, fact in enumerate(facts, 1):
        parts = _check(sample, fact)
        if isinstance(parts, str):
            return parts.replace("the reference", f"fact {number}")
        worst = min(parts, key=lambda part: (part["stated"], part["score"]))
        statements.append({**worst, "text": fact})
    return statements


def _best(sample: Sample) -> list[Statement] | str:
    """Return the statements of the reference with the largest share, or why no reference can be checked."""
    results = [_check(sample, reference) for reference in sample.references]
    checked = [result for result in results if isinstance(result, list)]
    if checked:
        return max(checked, key=_share)
    return next((result for result in results if result != BLANK), BLANK)


def _check(sample: Sample, reference: str) -> list[Statement] | str:
    """Check the statements of a reference; a text says why there are none."""
    response = PreparedRow.of(sample.model_copy(update={"contexts": (reference,)}))
    if not response.passages:
        return BLANK
    if response.language.reason:
        return response.language.reason.replace("passages are", "reference is").replace(
            "the passages", "the reference"
        )
    exchanged = {"response": reference, "contexts": (_evidence(response),), "context_ids": ()}
    row = PreparedRow.of(sample.model_copy(update=exchanged))
    text = row.response_text.without(row.question)
    analysis = ResponseAnalysis.of(text, row.source.index, row.question, denied=row.denied)
    signals = sentence_signals(analysis)
    numbers = [number for number, each in enumerate(signals) if each is not None]
    if not numbers or not row.response_text.claims_something:
        return NO_STATEMENTS
    odds = grounding_model().logistic.log_odds(table(filter(None, signals)))
    pair = _Pair(response, row, analysis)
    statements = [pair.statement(*each) for each in zip(numbers, sigmoid(odds).tolist(), strict=True)]
    said, expected = YES_OR_NO.match(sample.response), YES_OR_NO.match(reference)
    if said and expected:
        agrees = said[1].casefold() == expected[1].casefold()
        if not agrees or row.response.source:
            statements[0]["stated"] = agrees
    return statements


def _evidence(row: PreparedRow) -> str:
    """Return the response with spaces in place of the sentences that say that something is not known."""
    text = row.response_text
    parts = [*text.text]
    for (start, end), about in zip(text.spans, text.about, strict=True):
        if about.silent:
            parts[start:end] = " " * (end - start)
    return "".join(parts)


@dataclass(frozen=True, eq=False)
class _Pair:
    """A row, the same row with response and reference exchanged, and the analysis of the latter."""

    response: PreparedRow
    exchanged: PreparedRow
    analysis: ResponseAnalysis

    def statement(self, number: int, score: float) -> Statement:
        """Describe the sentence of the reference with this number."""
        sentence, flags = self.analysis.sentences[number], self.analysis.flags
        limits = grounding_model().sentence_limits
        has_facts = all(check.verdict is Verdict.SUPPORTED for check in sentence.checks)
        verdict = limits.verdict(score, is_contradicted=bool(sentence.contradictions))
        # Values and names of the question alone are supported, but then the response has none of the words.
        repeats = any(compress(flags.known[sentence.words], flags.claims[sentence.words]))
        span = slice(*self.exchanged.original_spans[number])
        return {
            "stated": verdict == "supported" and has_facts and repeats,
            "text": self.exchanged.sample.response[span],
            "beside": self._beside(number),
            "score": round(score, 4),
        }

    def _beside(self, number: int) -> str:
        support = self.analysis.support
        if not support.places[number]:
            part, words = self.analysis.sentences[number].words, self.analysis.words
            own = compress(words.stems[part], words.content[part].tolist())
            said = self.response.response_text.words.vocabulary
            is_about = self.response.response.source is not None and not said.isdisjoint(own)
            return self.response.sample.response if is_about else ""
        span = self.exchanged.passages[0].original_span(*support.nearest_sentences(number)[0].span)
        return self.response.sample.response[slice(*self.response.response.original_span(*span))]
