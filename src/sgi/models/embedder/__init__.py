"""Embedders: compute a unit vector for each text, locally or with a remote service."""
