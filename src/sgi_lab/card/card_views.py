"""Detector card as tables, Markdown, chart and HTML of a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from sgi.engine.summary import without_interval
from sgi.reporting.charts import Dot, dot_chart, reliability_chart, side_by_side
from sgi.reporting.formatting import format_difference
from sgi.reporting.notebook import html_block, pictures, small, strong
from sgi.reporting.safe_text import escape, plain
from sgi.reporting.table import Cell, Table
from sgi.stats.confounds import CONTENT_PRECISION
from sgi_lab.card.card_verdicts import number, width_words
from sgi_lab.card.controls import LENGTH

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sgi.analysis.agreement.report import Estimate
    from sgi.reporting.charts import Chart
    from sgi.stats.confounds import Baseline
    from sgi.stats.intervals import Interval
    from sgi.stats.ranking import Ranking
    from sgi_lab.card.card import Calibration, DetectorCard, MatchedControl

_NONE = "–"
_INTERVAL = "95 % interval"
ALL_ROWS, WITHIN = "all rows", "within tenths of length"
BY_LENGTH, BY_PRECISION = "matched by length", "matched by content-word precision"


def card_tables(card: DetectorCard) -> list[Table]:
    """Return the tables of a card that have rows."""
    tables = [
        _ranking_table(card),
        _control_table(card),
        _baseline_table(card),
        _within_table(card),
        _subgroup_table(card),
        _calibration_table(card),
        _dropped_table(card),
    ]
    return [table for table in tables if table.rows]


def card_markdown(card: DetectorCard) -> str:
    """Return a detector card as Markdown."""
    parts = [f"# Detector card: {escape(card.name)}", escape(headline(card))]
    parts += [f"> **Warning.** {escape(warning)}" for warning in card.warnings]
    parts += ["## Findings", "\n".join(f"- {escape(note)}" for note in card.notes)]
    for table in card_tables(card):
        parts += [f"## {table.title}", table.markdown()]
    parts += [escape(remark) for remark in remarks(card)]
    if card.signature:
        parts.append(f"Signature: {escape(card.signature)}")
    return "\n\n".join(parts) + "\n"


def headline(card: DetectorCard) -> str:
    """Describe the data of the card in one sentence."""
    side = "higher" if card.higher_is_better else "lower"
    return (
        f"{card.rows:,} labelled rows with a score: {card.grounded:,} grounded, {card.ungrounded:,} not"
        f" ({100 * card.ungrounded_share:.1f} %), from {card.clusters:,} independent groups; {side} scores"
        " mean grounded."
    )


def remarks(card: DetectorCard) -> Iterator[str]:
    """Yield notes on the methods, and on why some numbers are missing."""
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


def _ranking_table(card: DetectorCard) -> Table:
    ranking = card.ranking
    precision, rate = card.average_precision, card.false_positive_rate
    rows = [
        ("AUROC", *_auroc(ranking), "0.5"),
        ("average precision (ungrounded)", *_share(precision), f"{card.ungrounded_share:.3f}"),
        ("false positives at 95 % recall (ungrounded)", *_share(rate), "0.95"),
    ]
    if card.permuted is not None:
        name = f"AUROC with labels shuffled, mean of {card.permuted.draws:,} (p = {card.permuted.p:.3f})"
        auroc = Cell(f"{card.permuted.auroc:.3f}", share=card.permuted.auroc)
        rows.append((name, auroc, _span(card.permuted.interval), "0.5"))
    return Table(("measure", "value", _INTERVAL, "chance"), tuple(rows), "Ranking performance")


def _control_table(card: DetectorCard) -> Table:
    alone = {baseline.name: baseline.ranking for baseline in card.baselines}
    rows = [_control_row("all rows", card.ranking, alone)]
    if card.length_matched is not None:
        rows.append(_matched_row(card.length_matched, LENGTH))
    if card.length_stratified is not None:
        stratified = card.length_stratified
        left = f", {stratified.dropped:,} rows in strata of one label" if stratified.dropped else ""
        name = f"within {stratified.strata} strata of length{left}"
        rows.append(_control_row(name, stratified.ranking, {LENGTH: card.length_within}))
    if card.precision_matched is not None:
        rows.append(_matched_row(card.precision_matched, CONTENT_PRECISION))
    columns = ("rows", "AUROC", _INTERVAL, "matching variable alone", "grounded / not")
    title = "Matched by length and content-word precision"
    return Table(columns, tuple(rows) if len(rows) > 1 else (), title)


def _matched_row(matched: MatchedControl, unit: str) -> tuple[str, ...]:
    alone = {baseline.name: baseline.ranking for baseline in matched.baselines if baseline.name == unit}
    return _control_row(
        f"{matched.pairs:,} pairs of {width_words(matched.width, unit)}", matched.ranking, alone
    )


def _control_row(name: str, ranking: Ranking, alone: Mapping[str, Ranking | None]) -> tuple[str, ...]:
    """Return a row of a table: AUROC of the score, and of the matching variables alone, on the same rows."""
    texts = "; ".join(
        f"{unit} {_auroc_text(ranking_alone)}"
        for unit, ranking_alone in alone.items()
        if unit in {LENGTH, CONTENT_PRECISION} and ranking_alone
    )
    return (name, *_auroc(ranking), texts or _NONE, f"{ranking.positives:,} / {ranking.negatives:,}")


def _baseline_table(card: DetectorCard) -> Table:
    optional = {"length-matched": card.length_matched, "precision-matched": card.precision_matched}
    matches = {name: matched for name, matched in optional.items() if matched is not None}
    rankings = (card.ranking, *(matched.ranking for matched in matches.values()))
    rows = [("this score", _auroc_text(card.ranking), "", *map(_auroc_text, rankings[1:]))]
    for baseline in card.baselines:
        cells = [_baseline_auroc(matched, baseline.name) for matched in matches.values()]
        name = f"{baseline.name} ({baseline.direction} = grounded)"
        difference = card.differences.get(baseline.name)
        rows.append((name, _auroc_text(baseline.ranking), format_difference(difference) or _NONE, *cells))
    if card.shuffled.ranking is not None:
        cells = [_auroc_text(matched.shuffled.ranking) for matched in matches.values()]
        shuffled = format_difference(card.shuffled.difference) or _NONE
        rows.append(
            ("the score with contexts shuffled", _auroc_text(card.shuffled.ranking), shuffled, *cells)
        )
    columns = ("AUROC of", "all rows", "this score minus it", *matches)
    return Table(columns, tuple(rows) if len(rows) > 1 else (), "Comparison with trivial baselines")


def _auroc_text(ranking: Ranking | None) -> str:
    return _NONE if ranking is None else number(ranking.auroc, ranking.interval)


def _baseline_auroc(matched: MatchedControl, name: str) -> str:
    return _auroc_text(
        next((baseline.ranking for baseline in matched.baselines if baseline.name == name), None)
    )


def _reasons(card: DetectorCard) -> Iterator[tuple[str, str]]:
    """Return the names that have no AUROC interval, with the reason."""
    yield "AUROC", card.ranking.no_interval
    matched = ((LENGTH, card.length_matched), (CONTENT_PRECISION, card.precision_matched))
    yield from ((f"pairs of equal {unit}", one.ranking.no_interval) for unit, one in matched if one)
    yield from ((baseline.name, baseline.ranking.no_interval) for baseline in card.baselines)
    yield from ((f"within {groups.column}", groups.within.ranking.no_interval) for groups in card.within)
    named = ((f"{group.column} = {group.value}", group.ranking) for group in card.subgroups)
    yield from (
        (name, "one label only" if ranking is None else ranking.no_interval) for name, ranking in named
    )


def _within_table(card: DetectorCard) -> Table:
    """Return a table of AUROC within the groups of each categorical column, and of the column alone."""
    rows = []
    for groups in card.within:
        alone = (f"{groups.alone:.3f}", f"{groups.left_out:.3f}", f"{groups.p:.3f}")
        rows.append(
            (groups.column, "this score", *_auroc(groups.within.ranking), f"{card.ranking.auroc:.3f}", *alone)
        )
        pooled = {baseline.name: baseline.ranking.auroc for baseline in card.baselines}
        rows += [
            (
                groups.column,
                baseline.name,
                *_auroc(baseline.ranking),
                f"{pooled[baseline.name]:.3f}",
                "",
                "",
                "",
            )
            for baseline in groups.baselines
        ]
    columns = (
        *("within", "AUROC of", "AUROC", _INTERVAL, "all rows"),
        *("column alone", "leave-groups-out", "p"),
    )
    return Table(columns, tuple(rows), "Within groups", left=("AUROC of",))


def _subgroup_table(card: DetectorCard) -> Table:
    rows = tuple(
        (
            group.column,
            group.value,
            f"{group.rows:,}",
            f"{100 * group.base_rate:.1f} %",
            *_auroc(group.ranking),
        )
        for group in card.subgroups
    )
    columns = ("column", "value", "rows", "grounded", "AUROC", _INTERVAL)
    return Table(columns, rows, "By subgroup", left=("value",))


def _calibration_table(card: DetectorCard) -> Table:
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
    return Table(columns, tuple(map(_calibration_row, card.calibration)), "Calibration")


def _calibration_row(calibration: Calibration) -> tuple[str, ...]:
    parts = calibration.brier
    errors = (calibration.error_of_width, calibration.error_of_mass, parts.score)
    numbers = (*errors, parts.reliability, parts.resolution, parts.uncertainty)
    gain = (_NONE, _NONE) if calibration.gain is None else _estimate(calibration.gain, digits=4)
    return (calibration.method, *(f"{value:.4f}" for value in numbers), *gain)


def _dropped_table(card: DetectorCard) -> Table:
    rows = tuple((reason, f"{rows:,}") for reason, rows in card.dropped.items())
    return Table(("reason", "rows"), rows, "Excluded rows")


def _auroc(ranking: Ranking | None) -> tuple[str, str]:
    if ranking is None:
        return _NONE, _NONE
    return Cell(f"{ranking.auroc:.3f}", share=ranking.auroc), _span(ranking.interval)


def _share(estimate: Estimate) -> tuple[str, str]:
    value, interval = _estimate(estimate)
    return Cell(value, share=estimate.value), interval


def _estimate(estimate: Estimate, *, digits: int = 3) -> tuple[str, str]:
    return f"{estimate.value:.{digits}f}", _span(estimate.interval, digits=digits)


def _span(interval: Interval | None, *, digits: int = 3) -> str:
    return _NONE if interval is None else f"[{interval.low:.{digits}f}, {interval.high:.{digits}f}]"


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
    yield from _baseline_dots(card.baselines, ALL_ROWS)
    if card.length_matched is not None:
        yield from _baseline_dots(card.length_matched.baselines, BY_LENGTH)
    if card.shuffled.ranking is not None:
        yield _dot("contexts shuffled", card.shuffled.ranking, ALL_ROWS)
    if card.permuted is not None:
        interval = card.permuted.interval
        yield Dot("labels shuffled", card.permuted.auroc, ALL_ROWS, interval.low, interval.high)


def _baseline_dots(baselines: Iterable[Baseline], series: str) -> Iterator[Dot]:
    for baseline in baselines:
        yield _dot(f"{baseline.name} ({baseline.direction})", baseline.ranking, series)


def _dot(label: str, ranking: Ranking, series: str) -> Dot:
    interval = ranking.interval
    low, high = (None, None) if interval is None else (interval.low, interval.high)
    return Dot(label, ranking.auroc, series, low, high)


def card_html(card: DetectorCard) -> str:
    """Return a detector card as HTML for notebooks."""
    return html_block(_html_parts(card))


def _html_parts(card: DetectorCard) -> Iterator[str]:
    yield strong(f"{card.name}: {headline(card)}")
    yield from (strong(f"Warning: {warning}") for warning in card.warnings)
    notes = Markup("").join(Markup("<li>{}</li>").format(plain(note)) for note in card.notes)
    yield str(Markup("<ul>{}</ul>").format(notes))
    yield from (table.html() for table in card_tables(card))
    yield from (*pictures([card_chart(card)]), *map(small, (*remarks(card), card.signature)))
