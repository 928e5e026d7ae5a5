"""Metrics of citations: whether the passages that a response cites support its statements.

Read the modules in this order: `cited_row` finds the statements and citations of a row; `oracle` decides
whether passages support a statement; `verdicts` decides whether each citation is right; `support`, `markers`
and `quotes` have the metrics.
"""
