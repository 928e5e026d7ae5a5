"""The flat record of one evaluation (document 003): its columns, and the view ``evals``."""

from __future__ import annotations

LEXICAL = (
    "bleu",
    "rouge_l",
    "rouge_l_precision",
    "rouge_l_recall",
    "squad_em",
    "squad_token_f1",
    "content_f1",
    "lexical_aggregate",
)
"""Word-based metrics."""

SIMILARITY = "semantic_similarity"
"""The metric that compares meanings by embeddings."""

REASONED = ("answer_relevance", "context_relevance", "groundedness")
"""Metrics of a judge, with a reasoning beside the number."""

METRICS = (*LEXICAL, *REASONED, "llm_judged_overall", SIMILARITY)
"""The columns that are metrics."""

REASONING = "_reasoning"
"""Suffix of a reasoning column."""

RELEVANCE, RATED = "answer_relevance", "answer_relevance_rated"
"""A column of the flat record, and the metric that fills it if it was scored."""

_REASONING = {"sqlite": "json_extract(v.body, '$.reasoning')", "postgresql": "v.body ->> 'reasoning'"}


def view_definition(dialect: str) -> str:
    """Build the SQL that creates the view ``evals``, for ``sqlite`` or ``postgresql``."""
    values = [_lookup("v.value", "scores", metric, metric) for metric in (*METRICS, "sgi")]
    reasons = [
        _lookup(_REASONING[dialect], "evidence", metric, f"{metric}{REASONING}") for metric in REASONED
    ]
    return f"""
        CREATE VIEW evals AS
        SELECT r.id || ':' || s.position AS id,
            coalesce(r.name, r.id) AS test_run_id,
            s.id AS qa_pair_id,
            s.question,
            s.reference,
            CASE WHEN a.run IS NULL THEN s.response ELSE a.response END AS answer,
            {", ".join([*values, *reasons])}
        FROM runs AS r
        JOIN batches AS b ON b.run = r.id
        JOIN samples AS s
            ON s.dataset = r.dataset AND s.position >= b.start AND s.position < b.start + b.rows
        LEFT JOIN answers AS a ON a.run = r.id AND a.position = s.position
    """  # noqa: S608 - our own names


def _lookup(what: str, table: str, metric: str, column: str) -> str:
    """Look up a value by its keys: only selected columns cost time."""
    number = _metric_number(metric)
    if metric == RELEVANCE:
        number = f"coalesce({_metric_number(RATED)}, {number})"
    row = f"v.metric = {number} AND v.position = s.position"
    return f"(SELECT {what} FROM {table} AS v WHERE {row}) AS {column}"  # noqa: S608 - our own names


def _metric_number(metric: str) -> str:
    return f"(SELECT m.id FROM run_metrics AS m WHERE m.run = r.id AND m.metric = '{metric}')"  # noqa: S608
