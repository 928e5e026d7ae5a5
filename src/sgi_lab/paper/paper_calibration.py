"""Figure 5 and calibration: SGI as a probability, compared with the constant base rate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.kernel.errors import DataError
from sgi.reporting.charts import line_chart, reliability_chart, side_by_side
from sgi.stats.calibration import brier, expected_calibration_error, out_of_fold_probabilities, reliability
from sgi_lab.paper.findings import Column, Finding, Section
from sgi_lab.paper.published import CALIBRATION_ERROR, DECILE_RATES
from sgi_lab.paper.workbench import SAMPLES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from sgi_lab.paper.workbench import SampleName, Study, Workbench

    Floats = NDArray[np.float64]
    Row = dict[str, Any]

DECILES = 10

_TWO_DIGITS = (
    "Brier = reliability − resolution + uncertainty, for forecasts rounded to two digits. "
    "ECE uses the unrounded forecasts."
)
BASE_RATE = "constant base rate"
FORECASTS = {
    "minmax": "1 − min-max of SGI",
    "minmax_as_coded": "min-max of SGI, the sign in the author's code",
    "platt": "Platt, out of fold",
    "isotonic": "isotonic, out of fold",
    "base rate": BASE_RATE,
}
"""Forecasts of P(hallucinated), by key."""

_COLUMNS = (
    Column("model", "model"),
    Column("sample", "sample"),
    Column("P(hallucinated) is", "forecast"),
    Column("n", "n"),
    Column("ECE, equal width", "width"),
    Column("mean over draws", "drawn_mean"),
    Column("range over draws", "drawn_range"),
    Column("ECE, equal mass", "mass"),
    Column("Brier", "brier", digits=4),
    Column("reliability", "reliability", digits=4),
    Column("resolution", "resolution", digits=4),
    Column("uncertainty", "uncertainty", digits=4),
)


def calibration(bench: Workbench) -> Finding:
    """Compute ECE and Brier score of SGI as a probability, by model and sample, and of the base rate."""
    study, selection = bench.halueval, bench.halueval.sample(bench.sample)
    _refuse_too_few(study, bench.sample)
    others = [name for name in SAMPLES if name != bench.sample and _can_be_fitted(study, name)]
    order = [bench.sample, *others]
    found = {(model, name): _forecasts(study, model, name) for name in order for model in study.models}
    rows = [row for (model, name), made in found.items() for row in _rows(study, model, name, made)]
    wrong = ~study.answers.labels[selection.rows]
    model = study.reported_model
    reported = found[model, bench.sample]
    shown = {FORECASTS[key]: reliability(reported[key], wrong) for key in ("minmax", "platt", "isotonic")}
    return Finding(
        name="calibration",
        title="Calibration of SGI as a probability of hallucination",
        settings=study.settings(selection),
        sections=(Section("Forecasts", _COLUMNS, rows, _TWO_DIGITS),),
        figures={"calibration": reliability_chart(shown, title=f"{model}, {bench.sample} sample")},
        remarks=tuple(_remark(model, bench.sample, rows) for model in study.models),
        signatures=study.signatures(study.models, len(selection.rows)),
    )


def figure5(bench: Workbench) -> Finding:
    """Compute the reliability of min-max normalised SGI, and the hallucinated share by decile of SGI."""
    study, selection = bench.halueval, bench.halueval.sample(bench.sample)
    _refuse_too_few(study, bench.sample)
    model = study.reported_model
    wrong = ~study.answers.labels[selection.rows]
    forecast = 1 - _minmax(study.of(model).sgi[selection.rows])
    rates = _deciles(study.of(model).sgi[selection.rows], wrong)
    error = expected_calibration_error(forecast, wrong)
    drawn = _draw_errors(study, model, bench.sample, "minmax")
    base = float(wrong.mean())
    steps = {str(n): rate for n, rate in enumerate(rates, 1)}
    series: Mapping[str, Mapping[str, float | None]] = {
        "observed": dict(steps),
        BASE_RATE: dict.fromkeys(steps, base),
        "the paper, about": {"1": DECILE_RATES[0], str(DECILES): DECILE_RATES[1]},
    }
    curve = {FORECASTS["minmax"]: reliability(forecast, wrong)}
    charts = (
        reliability_chart(curve, title=f"reliability, {model}"),
        line_chart(series, title="hallucinated, by decile of SGI", axis="share", across="decile"),
    )
    return Finding(
        name="figure5",
        title="Figure 5: reliability, and hallucinations by decile of SGI",
        settings=study.settings(selection),
        sections=(
            Section(
                f"Share of hallucinated answers by decile of SGI, {model}",
                (Column("decile", "decile"), Column("share", "share")),
                [{"decile": name, "share": share} for name, share in steps.items()],
            ),
        ),
        figures={"figure5": side_by_side(*charts)},
        remarks=(
            _error_remark(error, drawn, base),
            (
                f"From the lowest to the highest decile the share goes from {rates[0]:.2f} to "
                f"{rates[-1]:.2f} (the paper: about {DECILE_RATES[0]:.2f} to {DECILE_RATES[1]:.2f})."
            ),
        ),
        signatures=study.signatures([model], len(selection.rows)),
    )


def _can_be_fitted(study: Study, name: SampleName) -> bool:
    """Return whether there are ten answers, and each class occurs in at least two questions."""
    rows = study.rows(name).rows
    labels, clusters = study.answers.labels[rows], study.answers.clusters[rows]
    spread = all(len(np.unique(clusters[labels == kind])) > 1 for kind in (True, False))
    return len(rows) >= DECILES and spread


def _refuse_too_few(study: Study, name: SampleName) -> None:
    if not _can_be_fitted(study, name):
        text = f"has too few answers in the sample {name!r} for a calibration"
        hint = f"It needs {DECILES} answers, and two questions with each class."
        raise DataError(text, file=study.answers.name, hint=hint)


def _error_remark(error: float, drawn: Row, base: float) -> str:
    return (
        f"ECE of 1 − min-max of SGI: {error:.3f}{_over_draws(drawn)} (the paper: {CALIBRATION_ERROR:.2f}, "
        f"one draw). {100 * base:.0f} % of this sample is hallucinated; the constant forecast of that share "
        "has an ECE of 0."
    )


def _over_draws(drawn: Row) -> str:
    """Describe mean and range over draws; empty for a sample that is not random."""
    if not drawn["draws"]:
        return ""
    low, high = drawn["drawn_range"]
    mean = drawn["drawn_mean"]
    return f" in this draw; over {drawn['draws']} draws: mean {mean:.3f}, range {low:.3f} to {high:.3f}"


def _draw_errors(study: Study, model: str, name: SampleName, key: str) -> Row:
    """Return the ECE (equal width) of unfitted forecasts over the draws of a sample."""
    errors = [
        expected_calibration_error(share if key == "minmax_as_coded" else 1 - share, wrong, bins=DECILES)
        for rows in (study.draws(name) if key.startswith("minmax") else ())
        for share, wrong in [(_minmax(study.of(model).sgi[rows]), ~study.answers.labels[rows])]
    ]
    return {
        "draws": len(errors),
        "drawn_mean": float(np.mean(errors)) if errors else None,
        "drawn_range": (min(errors), max(errors)) if errors else None,
    }


def _forecasts(study: Study, model: str, name: SampleName) -> dict[str, Floats]:
    """Return P(hallucinated) by method over the rows of a sample."""
    rows = study.rows(name).rows
    scores, wrong = study.of(model).sgi[rows], ~study.answers.labels[rows]
    share = _minmax(scores)
    fitted = {
        method: out_of_fold_probabilities(
            -scores, wrong, study.answers.clusters[rows], method=method, seed=study.seed
        )
        for method in ("platt", "isotonic")
    }
    # The base rate of all rows is the baseline, so it is not cross-validated.
    return {
        "minmax": 1 - share,
        "minmax_as_coded": share,
        **fitted,
        "base rate": np.full(len(rows), wrong.mean()),
    }


def _minmax(scores: Floats) -> Floats:
    return np.asarray((scores - scores.min()) / max(np.ptp(scores), np.finfo(np.float64).tiny))


def _rows(study: Study, model: str, name: SampleName, found: Mapping[str, Floats]) -> list[Row]:
    wrong = ~study.answers.labels[study.rows(name).rows]
    return [
        {
            "model": model,
            "sample": name,
            "key": key,
            "forecast": FORECASTS[key],
            **_errors(forecast, wrong),
            **_draw_errors(study, model, name, key),
        }
        for key, forecast in found.items()
    ]


def _errors(forecast: Floats, wrong: NDArray[np.bool_]) -> Row:
    # All-distinct forecasts would form bins of one row, with perfect resolution.
    parts = brier(np.round(forecast, 2) if np.ptp(forecast) else forecast, wrong)
    return {
        "n": len(forecast),
        "width": expected_calibration_error(forecast, wrong, bins=DECILES, binning="width"),
        "mass": expected_calibration_error(forecast, wrong, bins=DECILES, binning="mass"),
        "brier": parts.score,
        "reliability": parts.reliability,
        "resolution": parts.resolution,
        "uncertainty": parts.uncertainty,
    }


def _remark(model: str, sample: str, rows: Sequence[Row]) -> str:
    found = {row["key"]: row for row in rows if row["model"] == model and row["sample"] == sample}
    base, minmax = found["base rate"]["brier"], found["minmax"]
    gains = ", ".join(
        f"{name} {found[key]['brier'] / base - 1:+.0%}".replace("%", " %")
        for key, name in (("platt", "Platt"), ("isotonic", "isotonic"))
    )
    return (
        f"{model}, {sample} sample: ECE of 1 − min-max of SGI {minmax['width']:.3f}{_over_draws(minmax)} "
        f"(the paper: {CALIBRATION_ERROR:.2f}, one draw). With the sign of the author's code: "
        f"{found['minmax_as_coded']['width']:.3f}; constant base rate: "
        f"{found['base rate']['width']:.3f}. Change of the Brier score against the constant base rate: "
        f"{gains}."
    )


def _deciles(scores: Floats, wrong: NDArray[np.bool_]) -> list[float]:
    ordered = wrong[np.argsort(scores, kind="stable")]
    return [float(part.mean()) for part in np.array_split(ordered, DECILES)]
