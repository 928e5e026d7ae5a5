"""What every part speaks: samples, batches, metrics, scores, vectors, ports, errors, names."""
