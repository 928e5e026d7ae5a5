"""Metrics that ask a judge: a file for each, or for a family that shares its call.

A file holds prompt, schemas, ask and score. They know a judge only by ``sgi.kernel.ports.Judge``. What it \
replies is kept as evidence; the score is a pure
function of that, so another formula needs no new call. A reply that is not exactly what was asked makes the
row ``failed``, never a number.
"""
