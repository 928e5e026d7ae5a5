"""Metrics of conversations: they read the last answer and the messages before it."""
