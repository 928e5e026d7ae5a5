"""The columns of the flat record of one evaluation, in the view ``evals`` and in files of applications.

Source: document 003.
"""

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
