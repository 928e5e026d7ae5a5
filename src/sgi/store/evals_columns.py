"""The flat record of one evaluation: the columns that applications keep, in the view ``evals`` and in files.

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
"""Metrics of words."""

SIMILARITY = "semantic_similarity"
"""The metric of meanings."""

REASONED = ("answer_relevance", "context_relevance", "groundedness")
"""What a judge rates, with a reasoning beside the number."""

METRICS = (*LEXICAL, *REASONED, "llm_judged_overall", SIMILARITY)
"""The columns that are metrics."""

REASONING = "_reasoning"
"""The end of the name of a column that holds one."""
