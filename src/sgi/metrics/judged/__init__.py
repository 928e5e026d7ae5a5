"""Metrics that ask an LLM judge: one file for each metric, or for metrics that share a judge call.

The replies of the judge are stored. The score is a pure function of them, so another formula needs no new
call. An invalid reply makes the row ``failed``.
"""
