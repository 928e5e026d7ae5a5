"""Whether a run is good enough: rules, the verdict on each, and a report that build servers read."""
