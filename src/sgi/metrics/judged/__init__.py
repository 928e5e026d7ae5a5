"""Metrics that ask a judge: a file for each, or for a family that shares its call.

The replies of the judge are stored. The score is a pure function of them, so another formula needs no new
call. An invalid reply makes the row ``failed``.
"""
