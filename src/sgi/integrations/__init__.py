"""Doors from other people's tools onto this one; each imports its tool only when that tool asks for it."""
