"""The answers to check of a run: how many, how often such flags are right, and why each is one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sgi.analysis.flag_precision import expected_precision, flag_table
from sgi.engine.review import FINDING, FINDINGS
from sgi.kernel.short_text import metric_label, pluralize, pluralize_part
from sgi.metrics.grounding.evidence_map import EvidenceMap
from sgi.reporting.formatting import NOTHING, beginning, format_difference
from sgi.reporting.table import Table
from sgi.reporting.views.evidence_checks import fact_reason
from sgi.text.language import LANGUAGE_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sgi.engine.review import ReviewCounts
    from sgi.engine.summary import MetricSummary
    from sgi.metrics.grounding.evidence_map import FactEvidence, SentenceEvidence
    from sgi.reporting.views.row_view import SampleView
    from sgi.stats.intervals import Interval

_CHANCE = 0.5
_QUOTED = 80


def review_clause(metric: MetricSummary) -> str:
    """Return a clause for the overview: how many answers need a check, and what the checks found in them."""
    counts = metric.review
    if counts is None:  # only the findings are known
        flagged = sum(metric.classes.get(name, 0) for name in FINDINGS)
        return f"the checks flag {flagged:,} of {_answers(metric)}" if metric.classes else ""
    if not counts.rows:
        return f"the checks flag none of {_answers(metric)}, and no score is below {counts.limit:g}"
    facts = dict.fromkeys(_kind_words(kind).split()[0] for kind in counts.kinds)
    flags = f"the checks flag {counts.flagged:,} ({', '.join(facts) or 'a fact'})"
    low = f"{counts.low:,} more {'has' if counts.low == 1 else 'have'} a score below {counts.limit:g}"
    if not counts.flagged:
        low = f"no check flags an answer, but {counts.low:,} {low.partition('more ')[2]}"
    found = ", and ".join(text for text, count in ((flags, counts.flagged), (low, counts.low)) if count)
    scored = "answer" if metric.ok == metric.rows else "scored answer"
    return f"{pluralize_part(counts.rows, metric.ok, scored)} to check, worst first: {found}"


def _answers(metric: MetricSummary) -> str:
    return pluralize(metric.ok, "answer")


def _with_value(metric: MetricSummary) -> str:
    return "" if metric.ok == metric.rows else " with a value"


def _kind_words(kind: str) -> str:
    return kind.replace("polarity", "negation")


def evidence_sentences(metric: MetricSummary) -> Iterator[str]:
    """Yield what labels say about the answers to check and about the score."""
    counts = metric.review
    if counts is not None and counts.rows:
        yield from _measured(counts)
    if counts is not None and counts.languages:
        yield unmeasured_languages(counts.languages)
    ranking = metric.ranking
    if ranking is None:
        return
    if counts is not None and counts.labelled:
        rows = ranking.positives + ranking.negatives
        yield (
            f"In this run, {pluralize_part(counts.wrong, counts.labelled, 'labelled answer')} to check"
            f" {'has' if counts.wrong == 1 else 'have'} label 0;"
            f" of all {pluralize(rows, 'labelled answer')}{_with_value(metric)}, {ranking.negatives:,}."
        )
    yield _ranks(metric)


def unmeasured_languages(languages: Mapping[str, int]) -> str:
    """Say how many answers were identified as in a language for which nothing was measured.

    >>> unmeasured_languages({"de": 1})
    '1 answer was identified as German: grounding was measured on labelled answers in English only.'
    """
    names = ", ".join(LANGUAGE_NAMES.get(code, code) for code in languages)
    who = pluralize(sum(languages.values()), "answer was", "answers were")
    return f"{who} identified as {names}: grounding was measured on labelled answers in English only."


def _measured(counts: ReviewCounts) -> Iterator[str]:
    table, expected = flag_table(), expected_precision(counts.all_kinds)
    if expected is None or counts.version != table.version:
        return
    such = " or ".join(["such flags"] * bool(counts.flagged) + ["so low a score"] * bool(counts.low))
    yield (
        f"On {sum(table.sets.values()):,} labelled answers of public data sets, about"
        f" {expected.share * 10:.0f} of 10 answers with {such} are not supported,"
        f" against {expected.base_rate * 10:.0f} of 10 of all answers."
    )


def _ranks(metric: MetricSummary) -> str:
    """Say whether a metric ranks the labels better than chance, and than content-word precision."""
    ranking, difference = metric.ranking, metric.content_difference
    if ranking is None:
        return ""
    how = _compared(ranking.interval, _CHANCE, " the labels")
    ends = "" if ranking.interval is None else f" [{ranking.interval.low:.3f}, {ranking.interval.high:.3f}]"
    text = f"{metric_label(metric.metric)} {how} chance (AUROC {ranking.auroc:.3f}{ends})"
    if difference is None:
        return f"{text}."
    words = f"content-word precision alone (difference {format_difference(difference)})"
    return f"{text}, and {_compared(difference.interval, 0.0)} {words}."


def _compared(interval: Interval | None, limit: float, what: str = "") -> str:
    if interval is None or interval.low <= limit <= interval.high:
        return f"is not shown to rank{what} better or worse than"
    return f"ranks{what} better than" if interval.low > limit else f"ranks{what} worse than"


def flags_tables(metrics: Iterable[MetricSummary]) -> list[Table]:
    """Return, for each metric with findings, a table of its kinds of flags with their measured precision."""
    return [
        Table(
            (f"flags of {metric_label(metric.metric)}", "answers", *_MEASURED),
            [
                (_kind_words(kind), f"{count:,}", *_precision_cells(kind, counts.version))
                for kind, count in counts.all_kinds.items()
                if count
            ],
            title=f"Flags of {metric_label(metric.metric)}, and how often they are right on public data sets",
        )
        for metric in metrics
        if (counts := metric.review) is not None and counts.rows
    ]


_MEASURED = ("public data: not supported", "95 % interval", "of all answers", "measured on")
"""Columns: precision of a kind of flag, its interval, the base rate, and the number of flagged answers."""


def _precision_cells(kind: str, version: int) -> list[str]:
    table = flag_table()
    flag = next((flag for flag in table.flags if flag.kind == kind), None)
    if flag is None or version != table.version:
        return [NOTHING] * len(_MEASURED)
    share, low, high, base_rate = (
        f"{100 * part:.0f}" for part in (flag.share, flag.low, flag.high, flag.base_rate)
    )
    return [f"{share} %", f"[{low}, {high}]", f"{base_rate} %", pluralize(flag.answers, "answer")]


def has_evidence(sample: SampleView, metric: str) -> bool:
    """Return whether the score has an evidence map, which says why it is low."""
    return metric in sample.scores and EvidenceMap.read(sample.scores[metric].details) is not None


def reason_to_check(sample: SampleView, metric: str) -> str:
    """Return why an answer needs a check, in one line: the fact, what the passage has, and the sentence.

    Without an evidence map, it is the judge's reason or the finding, if there is one, and the response.
    """
    score = sample.scores[metric]
    evidence = EvidenceMap.read(score.details)
    if evidence is None:
        why = score.evidence.get("reasoning") or score.details.get(FINDING)
        return beginning(f"{why} – {sample.response}" if why else sample.response, _LONGEST)
    claims = [sentence for sentence in evidence.sentences if sentence.score is not None]
    if not claims:
        return beginning(sample.response, _LONGEST)
    flagged = [
        (_FLAG_ORDER.index(check.verdict), sentence.score or 0.0, number, at)
        for number, sentence in enumerate(claims)
        for at, check in enumerate(sentence.checks)
        if check.verdict in _FLAG_ORDER
    ]
    if flagged and evidence.finding in FINDINGS:
        *_, number, at = min(flagged)
        sentence = claims[number]
        why = _fact_reason(sentence.checks[at], sample.contexts)
    else:
        sentence = min(claims, key=lambda claim: claim.score or 0.0)
        why = _words_reason(sentence)
    return beginning(f"{why}{' – ' if why else ''}{sentence.text}", _LONGEST)


_FLAG_ORDER = ("contradicted", "absent")
_LONGEST = 300


def _fact_reason(check: FactEvidence, passages: Sequence[str]) -> str:
    if check.verdict == "contradicted":
        if check.kind == "polarity":  # the fact is the sentence
            where = "the question" if check.passage is None else f"passage {check.passage + 1}"
            return f"negation: {where} has “{beginning(check.found, _QUOTED)}”"
        return f"{check.kind} {check.fact}: {fact_reason(check)}"
    word = re.compile(rf"(?<!\w){re.escape(check.fact)}(?!\w)", re.IGNORECASE)
    if any(map(word.search, passages)):
        return f"{check.kind} {check.fact}: not confirmed by a passage"
    return f"{check.kind} {check.fact}: {fact_reason(check)}"


def _words_reason(sentence: SentenceEvidence) -> str:
    """Quote the longest part that no passage has; without such a part, say what a low score means."""
    parts = [sentence.text[start - sentence.start : end - sentence.start] for start, end in sentence.unbacked]
    if parts:
        return f"no passage has “{beginning(max(parts, key=len), _QUOTED)}”"
    return "" if sentence.verdict in {None, "supported"} else "its words match the passages only in part"
