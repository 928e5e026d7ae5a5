"""Live traces: spans are collected, sampled, scored and stored while the traced application runs."""
