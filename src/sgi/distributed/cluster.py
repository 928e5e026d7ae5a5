"""Connect to a Ray cluster (local or existing), and apply functions to items on its workers."""

from __future__ import annotations

import logging
import os
import socket
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

from sgi.kernel.errors import MissingExtraError, UsageError
from sgi.models.batching import usable_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

LOCAL, RUNNING = "local", "auto"
_CONNECT_TIMEOUT = 5.0
"""Seconds."""
_OBJECT_STORE_BYTES = 128 * 2**20
"""Size of the object store; results are small manifests."""
_QUIET_ENVIRONMENT = {
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    "RAY_DATA_DISABLE_PROGRESS_BARS": "1",
}
_NO_DASHBOARD = {"include_dashboard": False, "dashboard_host": "127.0.0.1", "dashboard_port": 65536}
"""Without a dashboard, Ray still starts a process that contacts cloud metadata services (169.254.169.254). A
port out of range prevents it."""
_LOCAL_ENVIRONMENT = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""Without this, Ray replaces the loopback address by the machine's; Ray reads it at import."""


class Engine(Protocol):
    """An object that opens resources once in a worker and processes items with them."""

    def score(self, item: str, /) -> str:
        """Process an item."""

    def close(self) -> None:
        """Close all resources."""


@dataclass(frozen=True)
class Cluster:
    """Workers of a connected cluster; ``cores`` is the number per worker, below 1 if workers share a core."""

    workers: int
    cores: float

    @property
    def threads(self) -> int:
        """Threads per worker."""
        return max(1, int(self.cores))

    def each(self, function: Callable[[str], str], items: Sequence[str]) -> Iterator[str]:
        """Apply a function to each item on a free worker; yield results in the order of completion."""
        import ray

        def apply(block: dict[str, Any]) -> dict[str, list[str]]:
            return {"result": [function(item) for item in block["item"].tolist()]}

        data = _dataset(ray, items).map_batches(apply, batch_size=1, num_cpus=min(1.0, self.cores))
        yield from (row["result"] for row in data.iter_rows())

    def with_actors(self, make: Callable[[], Engine], items: Sequence[str]) -> Iterator[str]:
        """Process items with one engine per worker; yield results in the order of completion.

        A dead worker is replaced, and its unfinished items are repeated.
        """
        import ray
        from ray.data import ActorPoolStrategy

        class Actor:
            # Settings are part of the class: constructor arguments can be lost with their node.
            def __init__(self) -> None:
                self.engine = make()

            def __call__(self, block: dict[str, Any]) -> dict[str, list[str]]:
                return {"result": [self.engine.score(item) for item in block["item"].tolist()]}

            def __del__(self) -> None:
                self.engine.close()

        pool = ActorPoolStrategy(size=min(self.workers, len(items)))
        data = _dataset(ray, items).map_batches(Actor, batch_size=1, compute=pool, num_cpus=self.cores)
        yield from (row["result"] for row in data.iter_rows())


@contextmanager
def connect_cluster(address: str, workers: int | None) -> Iterator[Cluster]:
    """Context manager that connects to a cluster; an existing cluster continues after the block ends.

    ``address`` is ``local`` for a new local cluster, ``auto`` for a running one on this machine, or
    ``HOST:PORT``. ``workers`` is the number of workers; None for one per core.

    Raises MissingExtraError if Ray is not installed, UsageError if there is no cluster or it has no cores.
    """
    if find_spec("ray") is None or find_spec("pyarrow") is None:
        raise MissingExtraError("Running on Ray", "ray")
    if address not in {LOCAL, RUNNING}:
        _check_reachable(address)
    for name, value in (_QUIET_ENVIRONMENT | (_LOCAL_ENVIRONMENT if address == LOCAL else {})).items():
        os.environ.setdefault(name, value)
    import ray

    _quiet_loggers()
    if ray.is_initialized():
        yield _share_cores(ray, workers)
        return
    _start(ray, address)
    try:
        yield _share_cores(ray, workers)
    finally:
        ray.shutdown()


def _start(ray: Any, address: str) -> None:
    quiet = {"log_to_driver": False, "logging_level": logging.FATAL}
    if address == LOCAL:
        size = {"num_cpus": usable_cores(), "object_store_memory": _OBJECT_STORE_BYTES}
        with _suppress_stderr(), warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # the socket of the invalid port
            ray.init("local", **size, **_NO_DASHBOARD, _node_ip_address="127.0.0.1", **quiet)
        return
    try:
        with _suppress_stderr():
            ray.init(address, **quiet)
    except (ConnectionError, OSError, RuntimeError, ValueError) as error:
        hint = f"Name HOST:PORT of its head, or {LOCAL!r} for a new cluster on this machine."
        raise UsageError(f"No Ray cluster runs at {address}.", hint=hint) from error


def _check_reachable(address: str) -> None:
    """Raise UsageError if the address does not accept connections; Ray itself would wait for long."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    hint = f"Use {LOCAL}, {RUNNING} or HOST:PORT."
    if not host or not port.isdecimal():
        raise UsageError(f"{address!r} is not an address of a Ray cluster.", hint=hint)
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_TIMEOUT).close()
    except (OSError, OverflowError) as error:
        raise UsageError(f"{address} does not answer: {error}.", hint=hint) from error


def _share_cores(ray: Any, workers: int | None) -> Cluster:
    """Divide the cores among the workers; whole cores if there are enough."""
    cores = ray.cluster_resources().get("CPU", 0.0)
    if cores < 1:
        raise UsageError("The Ray cluster has no cores to work with.")
    count = workers or int(cores)
    largest = max(node["Resources"].get("CPU", 0.0) for node in ray.nodes() if node["Alive"])
    each = min(cores / count, largest)
    return Cluster(count, float(int(each)) if each >= 1 else max(0.01, int(each * 100) / 100))


def _dataset(ray: Any, items: Sequence[str]) -> Any:
    from ray.data import DataContext

    context = DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    # One block per item: results of a block are returned when the whole block is done.
    return ray.data.from_items([{"item": item} for item in items], override_num_blocks=len(items))


@contextmanager
def _suppress_stderr() -> Iterator[None]:
    """Context manager that suppresses output of native Ray code on stderr; errors are still raised."""
    stderr_copy, devnull = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, 2)
    try:
        yield
    finally:
        os.dup2(stderr_copy, 2)
        os.close(stderr_copy)
        os.close(devnull)


def _quiet_loggers() -> None:
    import ray.data  # noqa: F401 - sets up its logger at import

    for name in ("ray", "ray.data"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
