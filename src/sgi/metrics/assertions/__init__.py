"""Assertions about an answer: 1 if it holds, 0 if not. They need no model.

`assertion` has the base class, the other modules have the metrics.
"""
