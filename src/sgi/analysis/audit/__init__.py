"""Says whether a judge may be trusted: labels, probes for bias, and drift."""
