"""Published benchmarks in their published formats, as datasets.

`open_benchmark` opens one by name; the CLI and `sgi.io.open_dataset` accept ``ragtruth:PATH``. Each
benchmark has one file here, which describes its columns.
"""

from sgi.io.benchmarks.cases import Case, load_halueval_qa
from sgi.io.benchmarks.registry import BENCHMARKS, Benchmark, open_benchmark

__all__ = ["BENCHMARKS", "Benchmark", "Case", "load_halueval_qa", "open_benchmark"]
