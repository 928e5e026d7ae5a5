"""Scoring on a cluster: ``sgi run DATA --ray local -o FOLDER``, and from Python `run`.

The data is cut into fragments; workers score them one by one, each with an engine that is opened once, and
write one partition for each. A partition that is there is not done again, so a run goes on where it stopped.
"""

from sgi.distributed.driver import run
from sgi.distributed.import_run import Kept, import_partitions

__all__ = ["Kept", "import_partitions", "run"]
