"""Published benchmarks in their published formats, as datasets.

`open_benchmark` opens one by name; the commands and `sgi.io.open_dataset` accept ``ragtruth:PATH``. Each
benchmark has one file here, which describes its columns.
"""

from sgi_lab.benchmarks.benchmark_registry import BENCHMARKS, Benchmark, open_benchmark

__all__ = ["BENCHMARKS", "Benchmark", "open_benchmark"]
