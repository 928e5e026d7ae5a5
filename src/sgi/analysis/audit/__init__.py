"""Checks whether a judge may decide a gate: probes for bias, and drift since an earlier run."""
