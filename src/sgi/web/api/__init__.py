"""The JSON API under ``/api/v1``, and what those who run a server ask it: does it live, is it ready."""
