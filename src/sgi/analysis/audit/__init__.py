"""Says whether a judge may be trusted and may decide a gate: labels, probes for bias, and drift."""
