"""Scoring on a Ray cluster: ``sgi run DATA --ray local -o FOLDER``, and from Python `run`.

This machine reads the data and writes the results; Ray Data hands the batches to workers, which score them.
"""

from sgi_cluster.driver import run
from sgi_cluster.result_folder import import_folder

__all__ = ["import_folder", "run"]
