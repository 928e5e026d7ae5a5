"""Reads facts in other languages than English, by the tables of `sgi.metrics.grounding.languages`."""
