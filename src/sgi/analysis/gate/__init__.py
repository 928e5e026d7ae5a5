"""Decides whether a run is good enough: rules, the verdict on each, and a report for build servers."""
