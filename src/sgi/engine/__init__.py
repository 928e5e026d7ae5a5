"""One straight line: read, embed, score, write, summarise."""
