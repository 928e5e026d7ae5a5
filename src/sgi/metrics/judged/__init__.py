"""Metrics that ask a judge: a file for each, or for a family that shares its call.

A file holds prompt, schemas, ask and score. Metrics know only ``sgi.kernel.protocols.Judge``. Its replies are
stored; the score is a pure function of them, so another formula needs no new call. An invalid reply makes the
row ``failed``, never a number.
"""
