"""Pairwise comparison of systems by a judge."""
