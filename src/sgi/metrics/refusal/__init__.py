"""Detects responses that refuse or cannot answer."""
