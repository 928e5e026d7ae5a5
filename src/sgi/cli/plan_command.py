"""``sgi study plan``: how many questions or labels show a difference, a gate, an AUROC or an agreement."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from sgi.cli import options
from sgi.cli.console import print_json, print_lines, print_message, print_notes, print_tables
from sgi.cli.option_values import open_share, positive
from sgi.kernel.errors import UsageError
from sgi.reporting.table import Cell, Table

if TYPE_CHECKING:
    from sgi.analysis.planning import Plan, Source
    from sgi.engine.run import Run

plan = typer.Typer(
    name="plan",
    help="Plan a sample: how many questions or labels are needed for a difference, a gate, an AUROC or an "
    "agreement. Example: sgi study plan difference --of 0.03 --changed 10%",
    no_args_is_help=True,
)

_guess_option = options.option_group("Guess")
_BOTH = 2

Pilots = Annotated[
    list[str] | None,
    typer.Option(
        "--pilot",
        help="Take the spread from this run (id, name, last), or from a file of results with a column for "
        "the metric: .jsonl, .csv or .parquet.",
        autocompletion=options.complete_run,
    ),
]
PilotPair = Annotated[
    list[str] | None,
    typer.Option(
        "--pilot",
        help="Take the spread from these runs or files of results; give the option twice, base and new.",
        autocompletion=options.complete_run,
    ),
]
Metric = Annotated[
    str | None,
    typer.Option("-m", "--metric", help="Metric of the pilot.", autocompletion=options.complete_metric),
]
Power = Annotated[
    str, typer.Option(help="Power: the probability that the sample shows the claim, such as 90%.")
]
Assume = Annotated[
    float | None, typer.Option(help="True value that you expect. Default: the value of the pilot.")
]
Deviation = Annotated[
    float | None,
    _guess_option("--sd", help="Standard deviation of the values; for a comparison, of the differences."),
]
Figure = Annotated[
    Path | None, options.output_option("--chart", help="Also draw the power: a .png, .svg or .pdf file.")
]


@plan.command()
def difference(
    of: Annotated[
        float | None,
        typer.Option(
            help="True difference to find, new − base. Default: the difference in the pilot; 0 with --margin."
        ),
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(help="Plan to show that the new system is no worse than this, as sgi compare --margin."),
    ] = None,
    pilot: PilotPair = None,
    metric: Metric = None,
    sd: Deviation = None,
    changed: Annotated[
        str | None, _guess_option(help="Share of pass/fail answers that change, such as 12%.")
    ] = None,
    tests: Annotated[
        int,
        options.statistics_option(
            min=1, help="Number of metrics that are tested together (Holm's correction)."
        ),
    ] = 1,
    power: Power = "80%",
    cluster: options.Cluster = None,
    db: options.Database = None,
    chart: Figure = None,
    as_json: options.Json = False,
) -> None:
    """Plan a comparison of two systems on the same questions.

    Examples:
      sgi study plan difference --of 0.03 --pilot monday --pilot friday -m rouge_l
      sgi study plan difference --of 0.03 --changed 12%
      sgi study plan difference --margin 0.02 --sd 0.2
    """
    from sgi.analysis.planning import make_plan

    assumed = 0.0 if of is None and margin is not None else of
    source = _difference_source(pilot, metric, sd, changed, assumed, cluster, db)
    level = 1 - 0.05 / tests
    claim, words = _difference_claim(source, assumed, margin, level)
    made = make_plan(source, claim, words, "difference", value=assumed, power=_share(power), level=level)
    _show(made, chart, as_json=as_json)


def _difference_claim(source: Source, of: float | None, margin: float | None, level: float) -> Any:
    from sgi.stats.sample_size import Claim

    if margin is not None:
        if margin <= 0:
            raise UsageError(f"--margin must be above 0, not {margin:g}.")
        kind: Literal["above", "below"] = "below" if source.lower_is_better else "above"
        limit = source.to_scale(margin if source.lower_is_better else -margin)
        return Claim(kind, limit), f"a comparison shows that the new system is no worse than {margin:g}"
    value = source.pilot.value if of is None else of
    words = f"a comparison finds the difference (its {100 * level:.4g} % interval excludes 0)"
    return Claim("below" if value < 0 else "above", 0.0), words


def _difference_source(
    pilot: list[str] | None,
    metric: str | None,
    sd: float | None,
    changed: str | None,
    of: float | None,
    cluster: str | None,
    db: str | None,
) -> Source:
    from sgi.analysis.planning import Source, difference_source
    from sgi.stats.pilots import changed_pilot, normal_difference_pilot

    _check_source(pilot, sd=sd, changed=changed)
    if pilot:
        if len(pilot) != _BOTH:
            raise UsageError("A difference needs two pilots.", hint="Give --pilot BASE --pilot NEW.")
        (base, _), (new, _) = (_read(name, metric, None, cluster, db) for name in pilot)
        return difference_source(base, new, _required(metric), value=of)
    if of is None:
        raise UsageError("--of is required without a pilot.", hint="Give the difference: --of 0.03.")
    if sd is not None:
        return Source(normal_difference_pilot(of, positive("--sd", sd)), "questions", is_guess=True)
    share = open_share("--changed", changed)
    if abs(of) > share:
        message = f"If {share:.4g} of the answers change, the difference cannot be {of:g}."
        raise UsageError(message, hint="Give a larger --changed.")
    return Source(changed_pilot(share, of), "questions", is_guess=True)


@plan.command()
def gate(
    rule: Annotated[
        str, typer.Argument(metavar="RULE", help='A rule in quotes, such as "faithfulness>=0.8".')
    ],
    pilot: Pilots = None,
    assume: Assume = None,
    sd: Annotated[
        float | None,
        _guess_option(
            "--sd", help="Standard deviation. Default: that of a pass/fail metric with the mean --assume."
        ),
    ] = None,
    looks: Annotated[
        int, options.statistics_option(min=1, help="Planned number of gates, as sgi gate --looks.")
    ] = 1,
    power: Power = "80%",
    cluster: options.Cluster = None,
    db: options.Database = None,
    chart: Figure = None,
    as_json: options.Json = False,
) -> None:
    """Plan a gate on a mean or a share. For a drop: sgi study plan difference --margin.

    Examples:
      sgi study plan gate "squad_em>=0.8" --assume 0.9
      sgi study plan gate "grounding>=0.6" --pilot last
      sgi study plan gate "grounding>=0.6" --assume 0.7 --sd 0.3 --power 90%
    """
    from sgi.analysis.gate.rules import parse_rule
    from sgi.analysis.planning import make_plan
    from sgi.stats.sample_size import Claim

    parsed = parse_rule(rule)
    if parsed.share is not None:
        raise UsageError(f"{rule!r} is a rule on a percentile; only means can be planned.")
    if pilot or sd is not None:
        _check_source(pilot, sd=sd)
    source = _gate_source(pilot, parsed.metric, assume, sd, cluster, db)
    claim = Claim("above" if parsed.condition.is_lower else "below", source.to_scale(parsed.threshold))
    words, level = f"the rule {rule.strip()} passes", 1 - 0.05 / looks
    made = make_plan(source, claim, words, "mean", value=assume, power=_share(power), level=level)
    _show(made, chart, as_json=as_json)


def _gate_source(
    pilot: list[str] | None,
    metric: str,
    assume: float | None,
    sd: float | None,
    cluster: str | None,
    db: str | None,
) -> Source:
    from sgi.analysis.planning import Source, mean_source
    from sgi.stats.pilots import normal_pilot, share_pilot

    if pilot:
        return mean_source(_read(_one(pilot), metric, None, cluster, db)[0], metric)
    if assume is None:
        hint = "Give --pilot RUN, or the mean that you expect: --assume 0.9."
        raise UsageError("The plan of a gate needs a pilot, or a guess of the mean.", hint=hint)
    if sd is not None:
        return Source(normal_pilot(assume, positive("--sd", sd)), "questions", is_guess=True)
    if not 0 < assume < 1:
        hint = "For values that are not pass/fail, also give --sd."
        raise UsageError(f"--assume must be a share between 0 and 1, not {assume:g}.", hint=hint)
    return Source(share_pilot(assume), "questions", is_guess=True)


@plan.command()
def auroc(
    above: Annotated[float | None, typer.Option(help="Limit that the interval must exceed.")] = None,
    width: Annotated[
        float | None, typer.Option("--half-width", help="Half-width of the interval, instead of a limit.")
    ] = None,
    pilot: Pilots = None,
    metric: Metric = None,
    label: options.Label = None,
    assume: Assume = None,
    positives: Annotated[
        str | None, _guess_option(help="Share of rows with label yes, such as 30%; assumes normal scores.")
    ] = None,
    power: Power = "80%",
    cluster: options.Cluster = None,
    db: options.Database = None,
    chart: Figure = None,
    as_json: options.Json = False,
) -> None:
    """Plan the labels for an AUROC: above a limit, or known to within a half-width.

    Examples:
      sgi study plan auroc --above 0.7 --assume 0.8 --positives 30%
      sgi study plan auroc --half-width 0.05 --pilot labelled -m grounding
    """
    from sgi.analysis.planning import Source, auroc_source, make_plan
    from sgi.stats.pilots import normal_scores_pilot
    from sgi.stats.sample_size import Claim

    if (above is None) == (width is None):
        raise UsageError("Give --above or --half-width.", hint="For example --above 0.7.")
    _check_source(pilot, positives=positives)
    if pilot:
        run, labels = _read(_one(pilot), metric, label or "", cluster, db)
        source = auroc_source(run, _required(metric), labels)
    else:
        if assume is None or not 0.5 < assume < 1:  # noqa: PLR2004 - chance
            raise UsageError("A guess needs an AUROC between 0.5 and 1.", hint="Give --assume 0.8.")
        share = open_share("--positives", positives)
        source = Source(normal_scores_pilot(assume, share), "labels", is_guess=True)
    if above is not None:
        claim, words = Claim("above", above), f"the 95 % interval of the AUROC is above {above:g}"
    else:
        half = positive("--half-width", width)
        claim, words = Claim("width", half), f"the 95 % interval of the AUROC is ± {half:g} or narrower"
    _show(make_plan(source, claim, words, "AUROC", value=assume, power=_share(power)), chart, as_json=as_json)


@plan.command()
def agreement(
    above: Annotated[float, typer.Option(help="Limit that the interval must exceed.")],
    statistic: Annotated[
        Literal["kappa", "accuracy"], typer.Option(help="Statistic that must exceed the limit.")
    ] = "kappa",
    pilot: Pilots = None,
    metric: Metric = None,
    label: options.Label = None,
    threshold: Annotated[
        float | None, typer.Option(help="Smallest value that counts as yes. Default: 0.5.")
    ] = None,
    assume: Assume = None,
    share: Annotated[
        str | None, _guess_option(help="Share of rows that labels and judge both call yes; for kappa.")
    ] = None,
    power: Power = "80%",
    cluster: options.Cluster = None,
    db: options.Database = None,
    chart: Figure = None,
    as_json: options.Json = False,
) -> None:
    """Plan the labels that show how well a judge agrees with people: kappa or accuracy of yes and no.

    Examples:
      sgi study plan agreement --above 0.6 --assume 0.75 --share 30%
      sgi study plan agreement --above 0.8 --statistic accuracy --assume 0.9
      sgi study plan agreement --above 0.6 --pilot judged -m faithfulness --label human
    """
    from sgi.analysis.planning import Source, agreement_source, make_plan
    from sgi.stats.pilots import kappa_shares_pilot, share_pilot
    from sgi.stats.sample_size import Claim

    accuracy = statistic == "accuracy"
    if pilot:
        _check_source(pilot, share=share)
        run, labels = _read(_one(pilot), metric, label or "", cluster, db)
        source = agreement_source(run, _required(metric), labels, threshold=threshold, accuracy=accuracy)
    elif assume is None or not 0 < assume < 1:
        raise UsageError(f"A guess needs a {statistic} between 0 and 1.", hint="Give --assume 0.75.")
    elif accuracy:
        source = Source(share_pilot(assume), "labels", is_guess=True)
    else:
        source = Source(kappa_shares_pilot(assume, open_share("--share", share)), "labels", is_guess=True)
    words = f"the 95 % interval of the {statistic} is above {above:g}"
    made = make_plan(source, Claim("above", above), words, statistic, value=assume, power=_share(power))
    _show(made, chart, as_json=as_json)


def _read(
    name: str, metric: str | None, label: str | None, cluster: str | None, db: str | None
) -> tuple[Run, list[Any]]:
    from sgi.analysis.pilot_file import read_pilot

    return read_pilot(name, _required(metric), label, cluster, db)


def _check_source(pilot: list[str] | None, **guess: object) -> None:
    """Raise a UsageError unless there is either a pilot or one guess."""
    given = [f"--{name}" for name, value in guess.items() if value is not None]
    names = " or ".join(f"--{name}" for name in guess)
    if pilot and given:
        raise UsageError(
            f"{given[0]} cannot be combined with --pilot, which replaces this guess.",
            hint="Leave out one of them.",
        )
    if not pilot and len(given) != 1:
        raise UsageError("Give a pilot or one guess of the spread.", hint=f"Give --pilot RUN, or {names}.")


def _one(pilot: list[str]) -> str:
    if len(pilot) > 1:
        raise UsageError("Give one pilot.", hint="Only a plan of a difference takes two pilots.")
    return pilot[0]


def _required(metric: str | None) -> str:
    if metric is None:
        raise UsageError("--pilot needs a metric.", hint="Give -m NAME.")
    return metric


def _share(text: str) -> float:
    from sgi.engine.option_parsing import share

    value = share(text)
    if not 0.5 <= value < 1:  # noqa: PLR2004 - a plan that fails more often than not is a mistake
        raise UsageError(f"--power must be from 50% to below 100%, not {text}.", hint="80% is usual.")
    return value


def _show(made: Plan, chart: Path | None, *, as_json: bool) -> None:
    if chart is not None:
        from sgi.reporting.charts import check_figure, line_chart, save_figure

        check_figure(chart)
        points = {f"{point.count:,}": point.power for point in made.curve}
        drawn = line_chart({"power": points}, title=made.claim, axis="power", across=made.unit)
        save_figure(drawn, chart)
    if as_json:
        print_json(made.to_dict())
        return
    print_lines([str(made), *_range_line(made), ""])
    rows = [
        (f"{point.count:,}", Cell(f"{100 * point.power:.0f} %", share=point.power)) for point in made.curve
    ]
    print_tables([Table((made.unit, "power"), rows)])
    print_notes(made.notes)
    if chart is not None:
        print_message(f"Wrote {chart}.")


def _range_line(made: Plan) -> list[str]:
    if made.low is None or made.pilot is None:
        return []
    high = "no number is enough" if made.high is None else f"{made.high:,}"
    return [f"95 % range of this number: {made.low:,} to {high} (pilot of {made.pilot:,} {made.unit})"]
