"""``sgi repeats``: compares repeated answers to the same questions."""

from __future__ import annotations

from typing import Annotated

import typer

from sgi.cli import options
from sgi.cli.console import one_line, print_json, print_lines, print_tables
from sgi.cli.option_values import stored_metrics


def repeats(
    run: options.Run,
    metric: options.RunMetric,
    define: options.Define = None,
    passes: Annotated[
        float | None,
        typer.Option(
            "--pass",
            help="Value from which on an answer passes; at most this if lower is better. Default: 1 if all "
            "values are 0 or 1, otherwise no pass rates.",
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

    Examples:
      sgi run questions.jsonl --target app:answer --repeat 5 -m grounding --name five
      sgi repeats five -m grounding --pass 0.5
      sgi run answers.jsonl -m faithfulness --judge openai:gpt-4o-mini --repeat-judge 3 --name judged
      sgi repeats judged -m faithfulness
    """
    from sgi import api_comparing
    from sgi.analysis.repeats import repeat_counts
    from sgi.reporting.repeats_tables import flaky_line, repeats_tables

    (metric,) = stored_metrics([metric], define)
    result = api_comparing.repeats(run, metric, threshold=passes, examples=examples, cluster=cluster, db=db)
    if as_json:
        print_json(result.to_dict())
        return
    head = f"{one_line(result.metric)}: {repeat_counts(result)}"
    left_out = f"questions with fewer than two values, left out: {result.single:,}"
    print_lines([head, *([left_out] if result.single else []), flaky_line(result), ""])
    print_tables(repeats_tables(result))
