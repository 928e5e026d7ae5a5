"""Dashboard and JSON API."""
