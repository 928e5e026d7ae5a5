"""Geometry of the displacement scores: reference sets, the sphere, and the scores themselves."""
