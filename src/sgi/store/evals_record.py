"""The flat record of one evaluation: the columns that applications keep, in the view ``evals`` and in files.

Source: document 003.
"""

METRICS = (
    "bleu",
    "rouge_l",
    "rouge_l_precision",
    "rouge_l_recall",
    "squad_em",
    "squad_token_f1",
    "content_f1",
    "lexical_aggregate",
    "answer_relevance",
    "context_relevance",
    "groundedness",
    "llm_judged_overall",
    "semantic_similarity",
)
"""The columns that are metrics."""

REASONED = ("answer_relevance", "context_relevance", "groundedness")
"""Those of them that have a reasoning beside them."""

REASONING = "_reasoning"
"""The end of the name of a column that holds one."""
