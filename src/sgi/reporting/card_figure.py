"""Detector card as a chart: AUROC beside baselines, and calibration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgi.reporting.charts import Dot, dot_chart, reliability_chart, side_by_side

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.analysis.card.card import DetectorCard, MatchedControl
    from sgi.reporting.charts import Chart
    from sgi.stats.ranking import Ranking

ALL_ROWS, WITHIN = "all rows", "within tenths of length"
BY_LENGTH, BY_PRECISION = "matched by length", "matched by content-word precision"


def card_chart(card: DetectorCard) -> Chart:
    """Draw AUROC of the score, baselines and controls; with a reliability curve for a calibrated score."""
    ranks = dot_chart(list(_dots(card)), title=f"{card.name}: AUROC", axis="AUROC", chance=0.5)
    bins = {
        calibration.method: calibration.reliability
        for calibration in card.calibration
        if calibration.method != "base rate"
    }
    chart = ranks
    if bins:
        chart = side_by_side(ranks, reliability_chart(bins, title="P(grounded), out of fold"))
    description = f"AUROC of {card.name} ({card.ranking.auroc:.3f}), of trivial baselines and of controls"
    return chart | {"description": description}


def _dots(card: DetectorCard) -> Iterator[Dot]:
    yield _dot(card.name, card.ranking, ALL_ROWS)
    if card.length_stratified is not None:
        yield _dot(card.name, card.length_stratified.ranking, WITHIN)
    for matched, series in ((card.length_matched, BY_LENGTH), (card.precision_matched, BY_PRECISION)):
        if matched is not None:
            yield _dot(card.name, matched.ranking, series)
    for baseline in card.baselines:
        yield _dot(f"{baseline.name} ({baseline.direction})", baseline.ranking, ALL_ROWS)
    yield from _matched_baselines(card.length_matched, BY_LENGTH)
    if card.shuffled.ranking is not None:
        yield _dot("contexts shuffled", card.shuffled.ranking, ALL_ROWS)
    if card.permuted is not None:
        interval = card.permuted.interval
        yield Dot("labels shuffled", card.permuted.auroc, ALL_ROWS, interval.low, interval.high)


def _matched_baselines(matched: MatchedControl | None, series: str) -> Iterator[Dot]:
    for baseline in () if matched is None else matched.baselines:
        yield _dot(f"{baseline.name} ({baseline.direction})", baseline.ranking, series)


def _dot(label: str, ranking: Ranking, series: str) -> Dot:
    interval = ranking.interval
    low, high = (None, None) if interval is None else (interval.low, interval.high)
    return Dot(label, ranking.auroc, series, low, high)
