"""Assertions about a response: 1 if it holds, 0 if not. They need no model.

`assertion` has the base class; `texts`, `patterns`, `lengths` and `json_documents` have the metrics.
"""
