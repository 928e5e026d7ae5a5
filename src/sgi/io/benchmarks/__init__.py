"""Published benchmarks, in the form they are published in, as datasets like any other.

`open_benchmark` opens one by name, from a path or from wherever it is found; on the command line and for
`sgi.io.open_dataset` the same is written ``ragtruth:PATH``. Each benchmark is one file here, which says what
its columns become.
"""

from sgi.io.benchmarks.cases import Case, load_halueval_qa
from sgi.io.benchmarks.registry import BENCHMARKS, Benchmark, open_benchmark

__all__ = ["BENCHMARKS", "Benchmark", "Case", "load_halueval_qa", "open_benchmark"]
