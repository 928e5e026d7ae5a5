"""JSON API under ``/api/v1``, health checks and metrics."""
