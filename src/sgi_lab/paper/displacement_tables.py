"""Tables of the displacement scores: as published (leaky), with the question left out, on equal lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.reporting.charts import Dot, dot_chart
from sgi.stats.confounds import permutation_control
from sgi.stats.ranking import auroc, ranking
from sgi_lab.paper.displacement_scores import (
    DIRECTION,
    FLAT,
    FLAT_TEMPERATURE,
    NEAR,
    NEIGHBOURS,
    ReferenceScores,
    baseline_scores,
    context_scores,
)
from sgi_lab.paper.findings import Column, Finding, Section, format_ranking
from sgi_lab.paper.published import DISPLACEMENT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from sgi_lab.paper.displacement_scores import Protocol
    from sgi_lab.paper.workbench import SampleName, Study, Workbench

    Floats = NDArray[np.float64]
    Row = dict[str, Any]

_SHUFFLED = ("displacement_consistency", "expected_response_deviation", "local_grounding_index", DIRECTION)
"""Scores with controls by shuffled reference answers and labels."""
_SHUFFLES = 50
_LEAK = 0.99
_CHANCE = 0.5

_REFERENCE_COLUMNS = (
    Column("score", "score"),
    Column("leaky", "leaky"),
    Column("question left out", "out"),
    Column("95 %", "out_interval"),
    Column("equal length", "matched"),
    Column("95 %", "matched_interval"),
    Column("shuffled reference", "shuffled"),
    Column("labels shuffled", "permuted"),
    Column("no value", "undefined"),
    Column("published, across domains", "across"),
    Column("published, within", "within"),
)
_PLAIN_COLUMNS = (
    Column("score", "score"),
    Column("all answers", "out"),
    Column("95 %", "out_interval"),
    Column("equal length", "matched"),
    Column("95 %", "matched_interval"),
    Column("no value", "undefined"),
)


def displacement(bench: Workbench) -> Finding:
    """Compute the AUROC of each displacement score and protocol, over all and over equally long answers."""
    study = bench.halueval
    tables = {model: _tables(study, model) for model in study.models}
    everything, matched = study.rows("full"), study.rows("matched")
    sections = tuple(
        Section(f"{heading}, {model}", columns, rows)
        for model, found in tables.items()
        for heading, columns, rows in found
    )
    settings = study.settings(everything) | {
        "of equal length": len(matched.rows),
        "k": NEIGHBOURS,
        "τ of the flat forms": FLAT_TEMPERATURE,
    }
    return Finding(
        name="displacement",
        title="The displacement scores, without the leak",
        settings=settings,
        sections=sections,
        figures={"displacement": _chart(study.reported_model, tables[study.reported_model])},
        remarks=tuple(_remarks(tables)),
        signatures=study.signatures(study.models, len(everything.rows)),
    )


_Tables = list[tuple[str, tuple[Column, ...], "list[Row]"]]


def _tables(study: Study, model: str) -> _Tables:
    against = _by_protocol(study, ReferenceScores(study, model), [*NEAR, DIRECTION, *FLAT])
    sphere = [row for row in against if row["score"] not in FLAT]
    flat = [row for row in against if row["score"] in FLAT]
    plain, beside = (
        [_plain(study, name, values) for name, values in scores.items()]
        for scores in (context_scores(study, model), baseline_scores(study.answers, study.of(model)))
    )
    return [
        ("On the sphere, against a reference set", _REFERENCE_COLUMNS, sphere),
        ("The published flat forms", _REFERENCE_COLUMNS, flat),
        ("Against the context, without a reference set", _PLAIN_COLUMNS, plain),
        ("Baselines", _PLAIN_COLUMNS, beside),
    ]


def _by_protocol(study: Study, scores: ReferenceScores, names: Sequence[str]) -> list[Row]:
    protocols: dict[Protocol, Sequence[str]] = {
        "leaky": names,
        "leave question out": names,
        "shuffled reference": [name for name in names if name in _SHUFFLED],
    }
    found = {protocol: scores.of(protocol, chosen) for protocol, chosen in protocols.items()}
    return [
        _plain(study, name, found["leave question out"][name])
        | {
            "leaky": _auroc(study, found["leaky"][name]),
            "shuffled": _auroc(study, found["shuffled reference"].get(name)),
            "permuted": _permutation_control(study, found["leave question out"][name], name),
            **dict(zip(("across", "within"), DISPLACEMENT.get(name, ()), strict=False)),
        }
        for name in names
    ]


def _plain(study: Study, name: str, values: Floats) -> Row:
    answers, row = study.answers, {"score": name}
    samples: dict[str, SampleName] = {"out": "full", "matched": "matched"}
    for key, sample in samples.items():
        rows = study.rows(sample).rows
        kept = rows[np.isfinite(values[rows])]
        row |= format_ranking(ranking(values[kept], answers.labels[kept], answers.clusters[kept]), key)
    return row | {"undefined": int((~np.isfinite(values)).sum())}


def _auroc(study: Study, values: Floats | None) -> float | None:
    if values is None:
        return None
    kept = np.isfinite(values)
    return auroc(values[kept], study.answers.labels[kept])


def _permutation_control(study: Study, values: Floats, name: str) -> float | None:
    """Return the mean AUROC with shuffled labels: near 0.5, unless something else ties scores to labels."""
    if name not in _SHUFFLED:
        return None
    kept = np.isfinite(values)
    answers = study.answers
    control = permutation_control(
        values[kept], answers.labels[kept], answers.clusters[kept], draws=_SHUFFLES, seed=study.seed
    )
    return None if control is None else control.auroc


def _remarks(tables: Mapping[str, _Tables]) -> Iterator[str]:
    for model, found in tables.items():
        rows = [row for part in found for row in part[2]]
        consistency = next(row for row in rows if row["score"] == "displacement_consistency")
        steps = [consistency[key] for key in ("leaky", "out", "matched")]
        if None not in steps:
            yield (
                f"{model}: AUROC of displacement consistency: {steps[0]:.3f} in the leaky protocol, "
                f"{steps[1]:.3f} with the question left out, {steps[2]:.3f} on answers of equal length."
            )
        leaking = [row["score"] for row in rows if (row.get("leaky") or 0) > _LEAK]
        if leaking:
            yield (
                f"{model}: above {_LEAK} in the leaky protocol: {', '.join(leaking)}. There, the reference "
                "set contains each good answer itself, so such a score only shows whether an answer is the "
                "stored one."
            )
        perfect = [row["score"] for row in rows if max(row["out"] or 0, row["matched"] or 0) > _LEAK]
        if perfect:
            names = ", ".join(perfect)
            yield f"{model}: above {_LEAK} without the leak, which suggests another leak: {names}."
        inverted = [row["score"] for row in rows if row["out_interval"] and row["out_interval"][1] < _CHANCE]
        if inverted:
            yield f"{model}: below 0.5 on all answers, so the direction is reversed: {', '.join(inverted)}."
    yield (
        "The published columns come from the author's repository: other data, answers of other questions as "
        "hallucinations, and a reference set that contains the scored items."
    )


_SERIES = {"leaky": "leaky", "out": "question left out", "matched": "and equal length"}


def _chart(model: str, tables: _Tables) -> Any:
    dots = []
    for row in [*tables[0][2], *tables[3][2]]:
        for key, series in _SERIES.items():
            if row.get(key) is not None:
                dots.append(Dot(row["score"], row[key], series, *(row.get(f"{key}_interval") or ())))
    return dot_chart(dots, title=f"Displacement scores, {model}", axis="AUROC", chance=_CHANCE)
