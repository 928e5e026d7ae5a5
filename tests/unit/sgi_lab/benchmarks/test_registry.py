import pytest

from sgi.io.readers import Dataset
from sgi.kernel.errors import UnknownNameError
from sgi_lab.benchmarks import BENCHMARKS, open_benchmark


def test_the_benchmarks_known():
    assert list(BENCHMARKS) == [
        "halueval_qa",
        "halueval_dialogue",
        "halueval_summarization",
        "truthfulqa",
        "ragtruth",
        "begin",
        "stsb",
        "squad",
    ]
    assert all(name == benchmark.name for name, benchmark in BENCHMARKS.items())


@pytest.mark.parametrize("name", BENCHMARKS)
def test_each_says_what_its_columns_become_and_where_it_is_published(name):
    page = BENCHMARKS[name].read.__doc__ or ""

    assert "arXiv:" in page or "halueval_qa" in page
    assert BENCHMARKS[name].published.startswith("http")


def test_it_is_a_dataset(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": "1", "response": "r"}')

    assert isinstance(open_benchmark("begin", path), Dataset)


def test_an_unknown_name_is_told():
    with pytest.raises(UnknownNameError, match=r"Unknown benchmark 'trutfulqa'\. Did you mean 'truthfulqa'"):
        open_benchmark("trutfulqa")
