"""What outlives a run: the database of runs with their scores, evidence and usage; and disposable caches."""
