"""Detector card as tables and as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgi.analysis.card.controls import LENGTH, OVERLAP
from sgi.analysis.card.verdicts import number, width_words
from sgi.engine.summary import without_interval
from sgi.reporting.markdown import escape
from sgi.reporting.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sgi.analysis.agreement.report import Estimate
    from sgi.analysis.card.card import Calibration, DetectorCard, MatchedControl
    from sgi.stats.intervals import Interval
    from sgi.stats.ranking import Ranking

_NONE = "–"
_INTERVAL = "95 % interval"


def card_tables(card: DetectorCard) -> list[Table]:
    """The tables of a card that have rows."""
    made = [
        _score(card),
        _controls(card),
        _beside(card),
        _within(card),
        _subgroups(card),
        _calibration(card),
        _dropped_table(card),
    ]
    return [one for one in made if one.rows]


def card_markdown(card: DetectorCard) -> str:
    """A detector card as Markdown."""
    parts = [f"# Detector card: {escape(card.name)}", escape(headline(card))]
    parts += [f"> **Warning.** {escape(one)}" for one in card.warnings]
    parts += ["## Findings", "\n".join(f"- {escape(one)}" for one in card.notes)]
    for table in card_tables(card):
        parts += [f"## {table.title}", table.markdown()]
    parts += [escape(one) for one in remarks(card)]
    if card.signature:
        parts.append(f"Signature: {escape(card.signature)}")
    return "\n\n".join(parts) + "\n"


def headline(card: DetectorCard) -> str:
    """The data of the card in one sentence."""
    side = "higher" if card.higher_is_better else "lower"
    return (
        f"{card.rows:,} labelled rows with a score: {card.grounded:,} grounded, {card.ungrounded:,} not"
        f" ({100 * card.ungrounded_share:.1f} %), from {card.clusters:,} independent groups; {side} scores"
        " mean grounded."
    )


def remarks(card: DetectorCard) -> Iterator[str]:
    """Methods, and why some numbers are missing."""
    yield (
        "AUROC is the probability that a grounded answer scores better than an ungrounded one. Average"
        " precision and false positives treat ungrounded answers as the positive class. Intervals are at"
        " 95 % and treat groups as independent units: score intervals for AUROC, a jackknife for average"
        " precision,"
        f" and {card.draws:,} bootstrap draws (seed {card.seed}) for false positives."
    )
    yield from without_interval(_reasons(card))
    if card.within:
        yield (
            "Within a column, only rows with the same value are compared. The column alone ranks each row by"
            " the share of grounded rows that have its value; p is of a permutation test, corrected for the"
            " number of columns."
        )
    if card.shuffled.reason:
        yield f"Contexts were not shuffled: {card.shuffled.reason}."
    if card.unpermuted:
        yield f"Labels were not permuted: {card.unpermuted}."
    if card.uncalibrated:
        yield f"No calibration was fitted: {card.uncalibrated}"
    if card.calibration:
        yield (
            "Probabilities are P(grounded), out of fold with each group in one fold. ECE is the"
            " expected calibration error over ten bins; the Brier score is reliability − resolution +"
            " uncertainty. Probabilities are rounded to two digits."
        )


def _score(card: DetectorCard) -> Table:
    found = card.ranking
    precision, rate = card.average_precision, card.false_positive_rate
    rows = [
        ("AUROC", f"{found.auroc:.3f}", _span(found.interval), "0.5"),
        ("average precision (ungrounded)", *_estimate(precision), f"{card.ungrounded_share:.3f}"),
        ("false positives at 95 % recall (ungrounded)", *_estimate(rate), "0.95"),
    ]
    if card.permuted is not None:
        name = f"AUROC with labels shuffled, mean of {card.permuted.draws:,} (p = {card.permuted.p:.3f})"
        rows.append((name, f"{card.permuted.auroc:.3f}", _span(card.permuted.interval), "0.5"))
    return Table(("measure", "value", _INTERVAL, "chance"), tuple(rows), "Ranking performance")


def _controls(card: DetectorCard) -> Table:
    alone = {one.name: one.ranking for one in card.baselines}
    rows = [_control("all rows", card.ranking, alone)]
    if card.length_matched is not None:
        rows.append(_matched_cells(card.length_matched, LENGTH))
    if card.length_stratified is not None:
        stratified = card.length_stratified
        left = f", {stratified.dropped:,} rows in strata of one label" if stratified.dropped else ""
        name = f"within {stratified.strata} strata of length{left}"
        rows.append(_control(name, stratified.ranking, {LENGTH: card.length_within}))
    if card.overlap_matched is not None:
        rows.append(_matched_cells(card.overlap_matched, OVERLAP))
    columns = ("rows", "AUROC", _INTERVAL, "matching variable alone", "grounded / not")
    title = "Matched by length and overlap"
    return Table(columns, tuple(rows) if len(rows) > 1 else (), title)


def _matched_cells(made: MatchedControl, unit: str) -> tuple[str, ...]:
    alone = {one.name: one.ranking for one in made.baselines if one.name == unit}
    return _control(f"{made.pairs:,} pairs of {width_words(made.width, unit)}", made.ranking, alone)


def _control(name: str, ranking: Ranking, alone: Mapping[str, Ranking | None]) -> tuple[str, ...]:
    """Row of a table: AUROC of the score, and of length and overlap alone on the same rows."""
    told = "; ".join(
        f"{unit} {_one(made)}" for unit, made in alone.items() if unit in {LENGTH, OVERLAP} and made
    )
    return (name, *_auroc(ranking), told or _NONE, f"{ranking.positives:,} / {ranking.negatives:,}")


def _beside(card: DetectorCard) -> Table:
    made = {"length-matched": card.length_matched, "overlap-matched": card.overlap_matched}
    there = {name: one for name, one in made.items() if one is not None}
    rows = [("this score", *map(_one, (card.ranking, *(one.ranking for one in there.values()))))]
    for one in card.baselines:
        again = [_of(found, one.name) for found in there.values()]
        name = f"{one.name} ({one.direction} = grounded)"
        rows.append((name, _one(one.ranking), *again))
    if card.shuffled.ranking is not None:
        again = [_one(found.shuffled.ranking) for found in there.values()]
        rows.append(("the score with contexts shuffled", _one(card.shuffled.ranking), *again))
    columns = ("AUROC of", "all rows", *there)
    return Table(columns, tuple(rows) if len(rows) > 1 else (), "Comparison with trivial baselines")


def _one(ranking: Ranking | None) -> str:
    return _NONE if ranking is None else number(ranking.auroc, ranking.interval)


def _of(made: MatchedControl, name: str) -> str:
    return _one(next((one.ranking for one in made.baselines if one.name == name), None))


def _reasons(card: DetectorCard) -> Iterator[tuple[str, str]]:
    """Names without an AUROC interval, with the reason."""
    yield "AUROC", card.ranking.no_interval
    matched = (("length", card.length_matched), ("overlap", card.overlap_matched))
    yield from ((f"pairs of equal {unit}", one.ranking.no_interval) for unit, one in matched if one)
    yield from ((one.name, one.ranking.no_interval) for one in card.baselines)
    yield from ((f"within {one.column}", one.within.ranking.no_interval) for one in card.within)
    named = ((f"{one.column} = {one.value}", one.ranking) for one in card.subgroups)
    yield from ((name, "one label only" if found is None else found.no_interval) for name, found in named)


def _within(card: DetectorCard) -> Table:
    """AUROC of the score within the groups of each categorical column, and of the column alone."""
    rows = []
    for one in card.within:
        alone = (f"{one.alone:.3f}", f"{one.left_out:.3f}", f"{one.p:.3f}")
        rows.append(
            (one.column, "this score", *_auroc(one.within.ranking), f"{card.ranking.auroc:.3f}", *alone)
        )
        pooled = {found.name: found.ranking.auroc for found in card.baselines}
        rows += [
            (one.column, found.name, *_auroc(found.ranking), f"{pooled[found.name]:.3f}", "", "", "")
            for found in one.baselines
        ]
    columns = (
        *("within", "AUROC of", "AUROC", _INTERVAL, "all rows"),
        *("column alone", "leave-one-out", "p"),
    )
    return Table(columns, tuple(rows), "Within groups", left=("AUROC of",))


def _subgroups(card: DetectorCard) -> Table:
    rows = tuple(
        (one.column, one.value, f"{one.rows:,}", f"{100 * one.base_rate:.1f} %", *_auroc(one.ranking))
        for one in card.subgroups
    )
    columns = ("column", "value", "rows", "grounded", "AUROC", _INTERVAL)
    return Table(columns, rows, "By subgroup", left=("value",))


def _calibration(card: DetectorCard) -> Table:
    columns = (
        "probabilities",
        "ECE, equal width",
        "ECE, equal mass",
        "Brier",
        "reliability",
        "resolution",
        "uncertainty",
        "gain over the base rate",
        _INTERVAL,
    )
    return Table(columns, tuple(map(_forecast, card.calibration)), "Calibration")


def _forecast(calibration: Calibration) -> tuple[str, ...]:
    parts = calibration.brier
    errors = (calibration.error_of_width, calibration.error_of_mass, parts.score)
    numbers = (*errors, parts.reliability, parts.resolution, parts.uncertainty)
    gain = (_NONE, _NONE) if calibration.gain is None else _estimate(calibration.gain, digits=4)
    return (calibration.method, *(f"{value:.4f}" for value in numbers), *gain)


def _dropped_table(card: DetectorCard) -> Table:
    rows = tuple((reason, f"{rows:,}") for reason, rows in card.dropped.items())
    return Table(("reason", "rows"), rows, "Excluded rows")


def _auroc(ranking: Ranking | None) -> tuple[str, str]:
    return (_NONE, _NONE) if ranking is None else (f"{ranking.auroc:.3f}", _span(ranking.interval))


def _estimate(estimate: Estimate, *, digits: int = 3) -> tuple[str, str]:
    return f"{estimate.value:.{digits}f}", _span(estimate.interval, digits=digits)


def _span(interval: Interval | None, *, digits: int = 3) -> str:
    return _NONE if interval is None else f"[{interval.low:.{digits}f}, {interval.high:.{digits}f}]"
