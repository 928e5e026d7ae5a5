"""Connect to a Ray cluster (local or existing), and score a stream of items on its workers."""

from __future__ import annotations

import logging
import os
import socket
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgi.kernel.errors import MissingExtraError, SgiError, UsageError
from sgi.models.batching import usable_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from sgi_cluster.worker import Worker

LOCAL, RUNNING = "local", "auto"
_CONNECT_TIMEOUT = 5.0
"""Seconds."""
_QUIET_ENVIRONMENT = {"RAY_BACKEND_LOG_LEVEL": "fatal", "RAY_DATA_DISABLE_PROGRESS_BARS": "1"}
_LOCAL_NODE = {"include_dashboard": False, "dashboard_port": 65536} | dict.fromkeys(
    ("dashboard_host", "_node_ip_address"), "127.0.0.1"
)
"""Without a dashboard, Ray still starts a process that contacts cloud metadata services (169.254.169.254). A
port out of range prevents it."""
_OBJECT_STORE_BYTES = 128 * 2**20
"""Size of the object store of a local cluster; Ray holds the reader back before it is full."""
_LOCAL_ENVIRONMENT = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""Without this, Ray replaces the loopback address by the machine's; Ray reads it at import."""


@dataclass(frozen=True)
class Cluster:
    """Workers of a connected cluster; ``cores`` is the number per worker, below 1 if workers share a core."""

    workers: int
    cores: float

    def score(self, read: Callable[[], Iterator[bytes]], worker: Worker, count: int) -> Generator[bytes]:
        """Score the ``count`` items of ``read``, which runs on this machine; yield results in their order.

        A dead worker is replaced by another copy of ``worker``, and its unfinished item is repeated.
        """
        import ray
        from ray.data import ActorPoolStrategy, DataContext
        from ray.exceptions import RayError

        class Actor:
            # The worker is part of the class: constructor arguments can be lost with their node.
            def __call__(self, block: dict[str, Any]) -> dict[str, list[bytes]]:
                return {"item": [worker.score(item) for item in block["item"]]}

            def __del__(self) -> None:
                worker.close()

        def read_all(_: object) -> Iterator[dict[str, list[bytes]]]:
            return ({"item": [item]} for item in read())

        context = DataContext.get_current().copy()
        context.enable_progress_bars = context.print_on_execution_start = False
        context.execution_options.preserve_order = True
        context.target_max_block_size = 1  # byte: each item is a block of its own, for any worker
        here = {"ray.io/node-id": ray.get_runtime_context().get_node_id()}
        pool = ActorPoolStrategy(size=min(self.workers, count))
        with DataContext.current(context):
            items = ray.data.from_items([0]).map_batches(read_all, num_cpus=0, label_selector=here)
            results = items.map_batches(Actor, batch_size=1, compute=pool, num_cpus=self.cores)
        try:
            yield from (row["item"] for row in results.iter_rows())
        except RayError as error:
            reason = str(error).strip().rpartition("\n")[2]
            raise SgiError(f"The Ray cluster failed: {reason}", hint="Run the same command again.") from error


def check_address(address: str) -> None:
    """Raise MissingExtraError without Ray, UsageError if no cluster can be at the address.

    ``address`` is ``local`` for a new local cluster, ``auto`` for a running one on this machine, or
    ``HOST:PORT``, which must accept connections: Ray itself would wait for long.
    """
    if find_spec("ray") is None or find_spec("pyarrow") is None:
        raise MissingExtraError("Running on Ray", "ray")
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        if address not in {LOCAL, RUNNING}:
            socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_TIMEOUT).close()
    except (OSError, OverflowError, ValueError) as error:
        hint = f"Use {LOCAL}, {RUNNING} or HOST:PORT."
        raise UsageError(f"No Ray cluster answers at {address!r}: {error}.", hint=hint) from error


@contextmanager
def connect_cluster(address: str, workers: int | None) -> Iterator[Cluster]:
    """Context manager that connects to a cluster; an existing cluster continues after the block ends.

    ``address`` is one that `check_address` accepts. ``workers`` is the number of workers; None for one per
    core. Raises UsageError if there is no cluster or it has no cores.
    """
    for name, value in (_QUIET_ENVIRONMENT | (_LOCAL_ENVIRONMENT if address == LOCAL else {})).items():
        os.environ.setdefault(name, value)
    import ray
    import ray.data  # sets up its logger at import

    for name in ("ray", "ray.data"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    if ray.is_initialized():
        yield _share_cores(ray, workers)
        return
    _start(ray, address)
    try:
        yield _share_cores(ray, workers)
    finally:
        ray.shutdown()


def _start(ray: Any, address: str) -> None:
    size = {"num_cpus": usable_cores(), "object_store_memory": _OBJECT_STORE_BYTES}
    own = {**size, **_LOCAL_NODE} if address == LOCAL else {}
    try:
        with _suppress_stderr(), warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # the socket of the invalid port
            ray.init(address, **own, log_to_driver=False, logging_level=logging.FATAL)
    except Exception as error:  # if a node does not start in time, Ray raises this class
        if own:
            raise SgiError(f"Ray did not start on this machine: {error}", hint="Run again.") from error
        hint = f"Name HOST:PORT of its head, or {LOCAL!r} for a new cluster on this machine."
        raise UsageError(f"No Ray cluster runs at {address}.", hint=hint) from error


def _share_cores(ray: Any, workers: int | None) -> Cluster:
    """Divide the cores among the workers; whole cores if there are enough."""
    cores = ray.cluster_resources().get("CPU", 0.0)
    if cores < 1:
        raise UsageError("The Ray cluster has no cores to work with.")
    count = workers or int(cores)
    largest = max(node["Resources"].get("CPU", 0.0) for node in ray.nodes() if node["Alive"])
    each = min(cores / count, largest)
    return Cluster(count, float(int(each)) if each >= 1 else max(0.01, int(each * 100) / 100))


@contextmanager
def _suppress_stderr() -> Iterator[None]:
    """Context manager that suppresses output of native Ray code on stderr; errors are still raised."""
    stderr = os.dup(2)
    with Path(os.devnull).open("w") as devnull:
        os.dup2(devnull.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
