"""Thresholds and probabilities of a metric: fitted on one run, kept in a file, applied to others."""
