from pathlib import Path

import pytest

from sgi.distributed import run
from sgi.distributed.addresses import as_address, join_path, split_query
from sgi.kernel.errors import UsageError


@pytest.mark.parametrize(
    "text",
    [
        "s3://bucket/a b.jsonl",
        "file:///tmp/x",
        "gs://b/c",
        "s3://bucket/rows?endpoint_override=http://localhost:9000&region=eu",
        "hdfs://user@host:9000/rows",
        "abfs://container@account.dfs.core.windows.net/rows",
        "s3://bucket/a:b@c.jsonl",
        "hdfs://[::1]:9000/rows",
    ],
)
def test_an_address_stays_one_although_a_path_was_made_of_it(text):
    assert as_address(text) == as_address(str(Path(text))) == text


def test_what_has_no_known_scheme_is_a_path():
    assert as_address("ragtruth:/data") is None
    assert as_address("C:/rows.csv") is None
    assert join_path("what?a=b", "rows.jsonl") == "what?a=b/rows.jsonl"


@pytest.mark.parametrize("pattern", ["s3://b/part-?.jsonl", "s3://b/?a=*", "s3://b/x?y", "s3://b/day=?/a=b"])
def test_a_question_mark_of_a_pattern_is_no_query(pattern):
    assert split_query(pattern) == (pattern, "")


@pytest.mark.parametrize(
    "address",
    [
        "s3://KEY:hidden@bucket/rows",
        "s3://KEY:hid/den@bucket/rows",
        "s3:/KEY:hidden@bucket/rows",
        "abfss://c:hidden@a.dfs.core.windows.net/rows?enable_tls=true",
        "abfs://c@a/rows?tenant_id=a&client_secret=hidden",
        "abfs://c@a/rows?sv=1&sig=hidden",
        "s3://bucket/rows?Secret_Key=hidden",
    ],
)
def test_an_address_with_a_secret_is_refused_and_the_secret_not_told(address, tmp_path):
    with pytest.raises(UsageError, match=r"must not hold a password or a key\..*credentials file") as caught:
        as_address(address)
    assert "hid" not in str(caught.value)
    for words in ((address, tmp_path / "parts"), (tmp_path / "rows.jsonl", address)):
        with pytest.raises(UsageError, match="must not hold a password"):
            run(*words)
    assert not list(tmp_path.iterdir())
