"""What outlives a run: the cache of vectors, a local SQLite file that may be deleted at any time."""
