"""The cluster: one of this machine alone, or one that runs; and functions over items, on its workers."""

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
from sgi.models.cores import usable_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

LOCAL, RUNNING = "local", "auto"
_PATIENCE = 5.0
"""Seconds in which an address must answer."""
_OBJECTS = 128 * 2**20
"""Bytes for what workers hand over: manifests, which are small."""
_QUIET = {
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    "RAY_DATA_DISABLE_PROGRESS_BARS": "1",
}
_NO_DASHBOARD = {"include_dashboard": False, "dashboard_host": "127.0.0.1", "dashboard_port": 65536}
"""Without a dashboard, Ray still starts its process for usage statistics. Even if these are off, that process
asks 169.254.169.254 and metadata.google.internal in which cloud it runs. A port out of range prevents it."""
_ALONE = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""Without this, Ray puts the machine's address in the place of the loopback's; it reads it when imported."""


class Engine(Protocol):
    """What a worker holds."""

    def score(self, item: str, /) -> str:
        """What it makes of an item."""

    def close(self) -> None:
        """Let go of all that is open."""


@dataclass(frozen=True)
class Cluster:
    """Workers of a cluster that is joined.

    Attributes:
        workers: how many.
        cores: that each of them takes; less than one where they share.
    """

    workers: int
    cores: float

    @property
    def threads(self) -> int:
        """The threads that a worker may keep busy."""
        return max(1, int(self.cores))

    def each(self, function: Callable[[str], str], items: Sequence[str]) -> Iterator[str]:
        """What a function makes of each item, as they come; each is done by a worker that is free."""
        import ray

        def done(block: dict[str, Any]) -> dict[str, list[str]]:
            return {"made": [function(item) for item in block["item"].tolist()]}

        data = _dataset(ray, items).map_batches(done, batch_size=1, num_cpus=min(1.0, self.cores))
        yield from (row["made"] for row in data.iter_rows())

    def with_actors(self, make: Callable[[], Engine], items: Sequence[str]) -> Iterator[str]:
        """What an engine that each worker makes once, and keeps, makes of each item, as they come.

        A worker that dies is replaced, and the items it had not handed over are done again.
        """
        import ray
        from ray.data import ActorPoolStrategy

        class Actor:
            # What it is made of travels with the class: arguments could be lost with the node that has them.
            def __init__(self) -> None:
                self.engine = make()

            def __call__(self, block: dict[str, Any]) -> dict[str, list[str]]:
                return {"made": [self.engine.score(item) for item in block["item"].tolist()]}

            def __del__(self) -> None:
                self.engine.close()

        pool = ActorPoolStrategy(size=min(self.workers, len(items)))
        data = _dataset(ray, items).map_batches(Actor, batch_size=1, compute=pool, num_cpus=self.cores)
        yield from (row["made"] for row in data.iter_rows())


@contextmanager
def joined(address: str, workers: int | None) -> Iterator[Cluster]:
    """A cluster, as long as the context lasts; one that runs already goes on after it.

    Args:
        address: ``local`` for one of this machine, ``auto`` for the one that runs here, or ``HOST:PORT``.
        workers: how many there shall be; None for as many as there are cores.

    Raises:
        MissingExtraError: Ray is not installed.
        UsageError: there is no cluster at the address, or it has no cores.
    """
    if find_spec("ray") is None or find_spec("pyarrow") is None:
        raise MissingExtraError("Running on Ray", "ray")
    if address not in {LOCAL, RUNNING}:
        _knock(address)
    for name, value in (_QUIET | (_ALONE if address == LOCAL else {})).items():
        os.environ.setdefault(name, value)
    import ray

    _hush()
    if ray.is_initialized():
        yield _shared_out(ray, workers)
        return
    _start(ray, address)
    try:
        yield _shared_out(ray, workers)
    finally:
        ray.shutdown()


def _start(ray: Any, address: str) -> None:
    quiet = {"log_to_driver": False, "logging_level": logging.FATAL}
    if address == LOCAL:
        size = {"num_cpus": usable_cores(), "object_store_memory": _OBJECTS}
        with _speechless(), warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # of the socket that Ray tried that port with
            ray.init("local", **size, **_NO_DASHBOARD, _node_ip_address="127.0.0.1", **quiet)
        return
    try:
        with _speechless():
            ray.init(address, **quiet)
    except (ConnectionError, OSError, RuntimeError, ValueError) as error:
        hint = "Name HOST:PORT of its head, or write --ray local for a cluster of this machine."
        raise UsageError(f"There is no Ray cluster at {address}.", hint=hint) from error


def _knock(address: str) -> None:
    """See that something answers there: Ray itself would wait for long."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    hint = f"It can be {LOCAL}, {RUNNING} or HOST:PORT."
    if not host or not port.isdecimal():
        raise UsageError(f"{address!r} is no address of a Ray cluster.", hint=hint)
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE).close()
    except (OSError, OverflowError) as error:
        raise UsageError(f"Nothing answers at {address}: {error}.", hint=hint) from error


def _shared_out(ray: Any, workers: int | None) -> Cluster:
    """The cores of the cluster over the workers; whole ones where there are enough."""
    cores = ray.cluster_resources().get("CPU", 0.0)
    if cores < 1:
        raise UsageError("The Ray cluster has no cores to work with.")
    wanted = workers or int(cores)
    largest = max(node["Resources"].get("CPU", 0.0) for node in ray.nodes() if node["Alive"])
    each = min(cores / wanted, largest)
    return Cluster(wanted, float(int(each)) if each >= 1 else max(0.01, int(each * 100) / 100))


def _dataset(ray: Any, items: Sequence[str]) -> Any:
    from ray.data import DataContext

    context = DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    # A block an item: what comes of a block is handed over when all of it is done.
    return ray.data.from_items([{"item": item} for item in items], override_num_blocks=len(items))


@contextmanager
def _speechless() -> Iterator[None]:
    """Nothing reaches stderr from the part of Ray that Python's streams do not see; errors are raised."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _hush() -> None:
    """Ray's own talk is for its log files."""
    import ray.data  # noqa: F401 - it sets up its logger when it is imported

    for name in ("ray", "ray.data"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
