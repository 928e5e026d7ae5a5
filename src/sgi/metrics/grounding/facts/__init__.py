"""Facts of a text that are checked exactly: quantities, dates, names, and whether passages bear them out."""
