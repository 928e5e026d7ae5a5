"""``sgi study repeats``: compares repeated answers to the same questions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sgi.cli import options
from sgi.cli.console import one_line, print_json, print_lines, print_tables
from sgi.kernel.errors import UsageError
from sgi.kernel.short_text import metric_label
from sgi.store.open_runs import open_runs

if TYPE_CHECKING:
    from sgi.analysis.repeats import Repeats
from sgi.cli.option_values import metric_list, stored_metrics


def repeats(
    run: options.Run,
    metric: options.RunMetrics = None,
    define: options.Define = None,
    passes: Annotated[
        float | None,
        typer.Option(
            "--pass",
            help="Smallest value with which an answer passes (largest, if lower is better). Default: 1 if "
            "all values are 0 or 1, otherwise no pass rates.",
        ),
    ] = None,
    examples: Annotated[int, typer.Option(min=0, help="Number of flaky questions to list.")] = 10,
    cluster: options.RunCluster = None,
    db: options.Database = None,
    as_json: options.Json = False,
) -> None:
    """Compare repeated answers and judgements: which are flaky, and how much chance is in the mean?

    Rows with the same question are answers to it, such as those of `sgi run --repeat 5`; an answer can have
    several judgements (`--repeat-judge 3`). pass@k is the probability that at least one of k answers passes,
    pass^k that all of them do. The components of variance say how much of the differences between values
    comes from the questions, the answers and the judge. With them you see how precise the mean is with more
    questions, answers or judgements.

    Without -m you see every metric with several values for a question. --json prints an object for one -m,
    otherwise a list.

    Examples:
      sgi run questions.jsonl --target app:answer --repeat 5 -m grounding --name five
      sgi study repeats five -m grounding --pass 0.5
      sgi run answers.jsonl -m faithfulness --judge openai:gpt-4o-mini --repeat-judge 3 --name judged
      sgi study repeats judged -m faithfulness
    """
    names = stored_metrics(metric_list(metric or []), define)
    if passes is not None and len(names) != 1:
        raise UsageError("--pass needs one metric.", hint="Add -m NAME.")
    results = _results(run, names, passes, examples, cluster, db)
    if as_json:
        facts = [result.to_dict() for result in results]
        print_json(facts[0] if len(names) == 1 else facts)
        return
    for result in results:
        _show(result)


def _results(
    run: str, names: list[str], threshold: float | None, examples: int, cluster: str | None, db: str | None
) -> list[Repeats]:
    """Analyse the metrics; without names, those of the run that have repeated values.

    Raises:
        UsageError: a metric has no repeated values, or without names, none has.
    """
    from sgi import api_analysis

    results, errors = [], []
    with open_runs(db, run) as (_, (record,)):
        chosen = names or [*record.metrics]
    for name in chosen:
        try:
            results.append(
                api_analysis.repeats(
                    record.id, name, threshold=threshold, examples=examples, cluster=cluster, db=db
                )
            )
        except UsageError as error:
            if names:
                raise
            errors.append(error)
    if not results and errors:
        raise errors[0]
    return results


def _show(result: Repeats) -> None:
    from sgi.analysis.repeats import repeat_counts
    from sgi.reporting.repeats_tables import flaky_line, repeats_tables

    head = f"{one_line(metric_label(result.metric))}: {repeat_counts(result)}"
    left_out = f"questions with fewer than two values, left out: {result.single:,}"
    print_lines([head, *([left_out] if result.single else []), flaky_line(result), ""])
    print_tables(repeats_tables(result))
