"""The database of runs with their scores, evidence and judge usage; and caches, which can be deleted."""
