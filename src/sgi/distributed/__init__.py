"""Scoring on a cluster: ``sgi run DATA --ray local -o FOLDER``, and from Python `run`.

The data is split into fragments. Each worker opens its resources once, scores fragments and writes one
partition per fragment. Complete partitions are not repeated, so an interrupted run resumes.
"""

from sgi.distributed.driver import run
from sgi.distributed.import_run import ImportedRun, import_partitions

__all__ = ["ImportedRun", "import_partitions", "run"]
