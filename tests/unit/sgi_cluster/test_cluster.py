import socket

import pytest

from sgi.kernel.errors import MissingExtraError, UsageError
from sgi.llm.judge_spec import JudgeSpec
from sgi_cluster import run
from sgi_cluster.cluster import check_address
from sgi_cluster.worker import share_judge


@pytest.mark.parametrize("address", ["nowhere", "host:", ":6379", "host:port", ""])
def test_an_address_without_a_cluster_is_refused(address):
    with pytest.raises(UsageError, match=repr(address)):
        check_address(address)


def test_an_address_where_nothing_listens_is_refused_at_once():
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    with pytest.raises(UsageError, match=address):
        check_address(address)


def test_without_ray_the_extra_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr("sgi_cluster.cluster.find_spec", lambda _: None)
    with pytest.raises(MissingExtraError) as missing:
        run("rows.jsonl", tmp_path)
    assert missing.value.extra == "ray"


@pytest.mark.parametrize(
    "setting", [{"target": "app:answer"}, {"cascade": "alpha=0.1"}, {"no_texts": True}, {"workers": 0}]
)
def test_settings_that_a_cluster_cannot_have_are_named(tmp_path, setting):
    with pytest.raises(UsageError, match=f"`{next(iter(setting))}`"):
        run("rows.jsonl", tmp_path, **setting)


def test_a_folder_with_files_is_not_written(tmp_path):
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(UsageError, match="empty"):
        run("rows.jsonl", tmp_path)


def test_all_workers_together_keep_the_limits_of_the_judge():
    judge = JudgeSpec(model="openai:m", concurrency=7, rpm=60, tpm=900, max_cost=3)
    share = share_judge(judge, 3)
    assert (share.concurrency, share.rpm, share.tpm, share.max_cost) == (2, 20, 300, 1)
    assert share.identity() == judge.identity()
    with pytest.raises(UsageError, match="8 workers"):
        share_judge(judge, 8)
