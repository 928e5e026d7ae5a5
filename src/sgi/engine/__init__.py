"""The steps of a run: read the data, embed, score, write and summarise."""
