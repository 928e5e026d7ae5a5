"""Types that all parts of SGI use: samples, batches, metrics, scores, vectors, protocols, errors, names."""
