"""Studies of metrics: the paper's tables, the test bench for metrics, and published benchmarks."""
