import socket

import pytest

from sgi.distributed import run
from sgi.distributed.cluster import connect_cluster
from sgi.kernel.errors import MissingExtraError, UsageError


@pytest.mark.parametrize("address", ["nowhere", "host:", ":6379", "host:port", ""])
def test_what_is_no_address_is_told(address):
    with pytest.raises(UsageError, match="is not an address of a Ray cluster"), connect_cluster(address, 2):
        pass


def test_an_address_where_nothing_listens_is_told_at_once():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with (
        pytest.raises(UsageError, match=rf"127\.0\.0\.1:{port} does not answer"),
        connect_cluster(f"127.0.0.1:{port}", 2),
    ):
        pass


def test_without_ray_the_extra_is_named(monkeypatch):
    monkeypatch.setattr("sgi.distributed.cluster.find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[ray\]"), connect_cluster("local", 2):
        pass


def test_a_target_a_benchmark_and_no_workers_are_refused(tmp_path):
    with pytest.raises(UsageError, match="target"):
        run("rows.jsonl", tmp_path, target={"where": "app:answer"})
    with pytest.raises(UsageError, match="Benchmarks"):
        run("ragtruth:rows", tmp_path)
    with pytest.raises(UsageError, match="`workers` is 0"):
        run("rows.jsonl", tmp_path, workers=0)
