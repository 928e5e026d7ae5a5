"""Rows from traces: readers of spans, conventions of their attributes, and the assembly of rows."""
