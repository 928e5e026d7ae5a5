"""Finds for each row the cause of what is wrong with it, by a decision table."""
