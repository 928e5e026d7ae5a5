"""The metric ``grounding``: how well the passages support a response, without a judge."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, groupby
from operator import attrgetter
from typing import TYPE_CHECKING, ClassVar, get_args

import numpy as np

from sgi.kernel.entailment_profile import EntailmentProfile, profile_or_default
from sgi.kernel.metric import SCORE, Metric, MetricHelp, MetricSpec, Question, Scores
from sgi.kernel.sample import CONTEXTS, RESPONSE
from sgi.metrics.grounding.evidence_map import EvidenceMap, Finding
from sgi.metrics.grounding.explain import SentenceScore, build_evidence_map
from sgi.metrics.grounding.grounding_model import grounding_model, sigmoid
from sgi.metrics.grounding.nli import Band, ResponseEntailment, entailment_pairs_of
from sgi.metrics.grounding.prepared_row import PreparedRow
from sgi.metrics.grounding.signals import Signals, sentence_signals, signals_of, table
from sgi.text.conversation import with_earlier_passages

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pydantic import JsonValue

    from sgi.kernel.sample import Batch
    from sgi.kernel.vectors import EntailmentNeeds, Features
    from sgi.metrics.grounding.analysis import ResponseAnalysis

_CITATION = "our own, the worst stretch of lexical and factual support; trained on labelled rows"
_NOTHING: Mapping[str, JsonValue] = {}


def _prepare_rows(batch: Batch, *, history: bool) -> tuple[PreparedRow, ...]:
    rows: list[PreparedRow] = []
    for sample in batch.samples:
        row = with_earlier_passages(sample) if history else sample
        rows.append(PreparedRow.of(row, rows[-1] if rows else None))
    return tuple(rows)


def _analysed(rows: Iterable[PreparedRow]) -> Iterator[PreparedRow]:
    """Yield the rows that get a value; then drop the analysis of their passages."""
    for source, group in groupby(rows, key=attrgetter("source")):
        for row in group:
            if not row.reason:
                yield row
        source.forget()


@dataclass(frozen=True)
class Grounding(Metric[tuple[PreparedRow, ...]]):
    r"""How well the passages support every part of the response, without a judge.

    .. math:: \sigma\Big(b + \sum_k w_k (x_k - m_k) / s_k\Big), \quad w_k \ge 0

    The signals x are numbers that measure support (`sgi.metrics.grounding.signals.Signals`): the words, word
    pairs and copied word sequences that the passages contain, each in the part of the response where they
    are fewest; the numbers, dates and names that the passages do not support; and those that they
    contradict, as a share of the sentences. The weights w are part of the package. They were trained to be
    non-negative, with the length of the response as a control variable. No model is needed.

    In [0, 1]; higher = better supported. It is a score, not a probability; ``sgi judge calibrate`` turns it
    into a probability, with labelled rows of your own. Seven languages are read (documentation:
    "Languages and embedding models"). There is no value if the response or all passages are blank or in
    another language, if they are in different languages, or if the response claims nothing ("Yes", "I don't
    know", "the passages do not say").

    Citation markers in the response, such as ``[1]`` or ``(Source 2)``, are removed first, and so are ids of
    ``context_ids`` in square brackets. Version 1 read them as words.

    With ``nli``, an entailment model also scores whether each sentence follows from one of its best passages.
    The lowest score of a sentence gives one more signal: 0.5 of its log odds, clipped to ±6, are added to the
    log odds of support, unless the model's profile has another weight (see
    `sgi.metrics.grounding.nli.ResponseEntailment`).

    Attributes:
        nli: an entailment model: a profile (`sgi study models entailment` lists them) or a profile file
            ``….toml``, a folder, or ``owner/model`` on the Hugging Face hub; ``torch:`` before one of these
            runs it with PyTorch. "" means no model.
        nli_band: ``LOW:HIGH``, such as ``0.2:0.9``: the model reads only sentences whose first score, from
            words alone, is from LOW to HIGH. "" means all sentences.
        history: whether the passages of earlier messages in ``turns`` count as passages too. They follow the
            passages of the row. The texts of earlier answers do not count.

    Details: ``finding``, which summaries count: whether a passage contradicts a fact, or a fact is in no
    passage; ``signals`` with their value and contribution in log odds; ``sentences`` with text, position,
    score, best passage, unsupported parts and checked facts; ``unused``, the passages that support no
    sentence. With ``nli`` also the signal ``entailment``, and for each sentence ``entailment``,
    ``contradiction`` and the number of windows into which a passage was split for the model.

    >>> Grounding().spec.unit
    'score'
    """

    spec: ClassVar[MetricSpec] = MetricSpec(
        "grounding",
        6,
        needs=CONTEXTS | RESPONSE,
        unit=SCORE,
        citation=_CITATION,
        guide=MetricHelp(
            Question.SUPPORTED,
            "Low: some part of the response is not supported, for example a number that no passage has. It "
            "is a score, not a probability, so compare values instead of reading one alone.",
            "It measures support, not truth, and knows words and facts rather than meaning: an answer in "
            "other words than the passages gets a lower score. A row has no value if the response claims "
            "nothing, or is in a language that it does not read.",
        ),
        category="finding",
        classes=get_args(Finding),
        details=EvidenceMap,
    )
    nli: str = ""
    history: bool = False
    nli_band: str = ""

    def __post_init__(self) -> None:
        if type(self.history) is not bool:
            raise TypeError(f"history must be true or false, not {self.history!r}")
        model_name: object = self.nli
        if not isinstance(model_name, str):
            raise TypeError(f"nli must be the name of an entailment model or its folder, not {model_name!r}")
        if not isinstance(self.nli_band, str):
            raise TypeError(f"nli_band must be a text such as 0.2:0.9, not {self.nli_band!r}")
        Band.parse(self.nli_band)
        if self.nli_band and not self.nli:
            raise ValueError("nli_band needs nli, an entailment model")

    @property
    def entailment_model(self) -> str:
        """The name or folder of the entailment model, from ``nli``."""
        return self.nli

    @cached_property
    def entailment_profile(self) -> EntailmentProfile:
        """How the entailment model's probability is used; see `sgi.kernel.entailment_profile`."""
        return profile_or_default(self.nli)

    @property
    def entailment_needs(self) -> EntailmentNeeds | None:
        """This metric if ``nli`` names a model, otherwise None."""
        return self if self.nli else None

    def prepare(self, rows: Batch, /) -> tuple[PreparedRow, ...]:
        """Normalise the texts of each row; the result is cached with the batch."""
        return rows.compute_once(_prepare_rows, history=self.history)

    def pairs(self, rows: tuple[PreparedRow, ...], /) -> Iterable[tuple[str, str]]:
        """List the (passage, sentence) pairs: each sentence that claims something, with its best passages."""
        for row in _analysed(rows):
            pairs = entailment_pairs_of(row.analysis, self.entailment_profile, Band.parse(self.nli_band))
            yield from chain.from_iterable(own or () for own in pairs)

    def score(self, rows: tuple[PreparedRow, ...], features: Features, /) -> Scores:
        """Return the score of each row, with its evidence map."""
        reasons = [row.reason for row in rows]
        values = np.full(len(rows), np.nan)
        details: list[Mapping[str, JsonValue]] = [_NOTHING] * len(rows)
        usable = [number for number, reason in enumerate(reasons) if not reason]
        for number, row in zip(usable, _analysed(rows), strict=True):
            entailment = self._entailment(row.analysis, features) if self.nli else None
            values[number], details[number] = score_row(row, entailment)
        undefined = {
            reason: np.array([reason == other for other in reasons], dtype=np.bool_)
            for reason in dict.fromkeys(filter(None, reasons))
        }
        return Scores.of(values, undefined=undefined, details=details)

    def _entailment(self, analysis: ResponseAnalysis, features: Features) -> ResponseEntailment:
        band = Band.parse(self.nli_band)
        return ResponseEntailment.of(analysis, features.entailments, self.entailment_profile, band)


def score_row(row: PreparedRow, entailment: ResponseEntailment | None) -> tuple[float, dict[str, JsonValue]]:
    """Return the score of a row that has no ``reason``, and its evidence map."""
    analysis = row.analysis
    each = sentence_signals(analysis)
    whole = _whole(analysis, each)
    logistic = grounding_model().logistic
    measured = table([whole, *(signals for signals in each if signals is not None)])
    parts = logistic.contributions(measured)
    odds = parts.sum(axis=1) + logistic.intercept
    if entailment is not None:
        odds = odds + entailment.log_odds
    scores, contributions = iter(sigmoid(odds).tolist()), iter(parts.tolist())
    value, signals = next(scores), _parts(whole, next(contributions))
    by_sentence = [
        None if sentence_signals is None else SentenceScore(next(scores), next(contributions))
        for sentence_signals in each
    ]
    evidence_map = build_evidence_map(row, analysis, by_sentence, signals)
    if entailment is not None:
        entailment.add_to(evidence_map)
    return value, evidence_map


def row_log_odds(row: PreparedRow) -> float:
    """Return the log odds of the score of a row that has no ``reason``, without evidence map and model."""
    logistic = grounding_model().logistic
    parts = logistic.contributions(table([signals_of(row.analysis)]))
    return float(parts.sum() + logistic.intercept)


def _whole(analysis: ResponseAnalysis, each: Sequence[Signals | None]) -> Signals:
    """Return the signals of the response: those of its sentence if it has only one."""
    if (
        len(each) == 1
        and each[0] is not None
        and analysis.sentences[0].words == slice(0, len(analysis.words))
    ):
        return each[0]
    return signals_of(analysis)


def _parts(signals: Signals, parts: Sequence[float]) -> dict[str, dict[str, float | None]]:
    return {
        name: {
            "value": None if math.isnan(value) else round(value, 6) + 0.0,
            "log_odds": round(part, 4) + 0.0,
        }
        for name, value, part in zip(Signals._fields, signals, parts, strict=True)
    }
