"""Models are opened and hashed once in a process, until their files change or they are closed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

import sgi
from sgi.engine.opened_models import OpenedModels
from sgi.kernel.tokens import TokenModel
from sgi.models import model_files
from sgi.models.embedder import onnx_embedder
from sgi.models.entailment import windowed_entailment
from sgi.models.known_models import MODELS
from sgi.models.model_files import embedded_files
from sgi.models.onnx_session import OnnxSession
from support.entailment_models import counting_model
from support.slow import slow

ROW = {
    "question": "How tall is the tower?",
    "contexts": ["the tower is tall"],
    "response": "the tower is old",
    "reference": "tall",
}


@dataclass
class Openings:
    """The models that were opened, and the bytes that were hashed."""

    models: list[str]
    before: int

    @property
    def hashed(self) -> int:
        return model_files.DIGESTS.hashed_bytes - self.before


@pytest.fixture
def openings(monkeypatch):
    sgi.api.close_models()
    openings = Openings([], model_files.DIGESTS.hashed_bytes)

    class Counted(OnnxSession):
        def __init__(self, files, threads):
            openings.models.append(files.name)
            super().__init__(files, threads)

    for module in (onnx_embedder, windowed_entailment):
        monkeypatch.setattr(module, "OnnxSession", Counted)
    yield openings
    sgi.api.close_models()


def sizes(*paths):
    return sum(path.stat().st_size for path in paths)


MINILM_BYTES = sizes(*embedded_files(MODELS["minilm"]).paths)


def test_evaluate_opens_and_hashes_a_model_once(openings, tmp_path):
    metrics = ["sgi", "bertscore"]
    first = sgi.evaluate([ROW], metrics, cache=False)
    assert (openings.models, openings.hashed) == (["minilm"], MINILM_BYTES)
    again = [sgi.evaluate([ROW], metrics, cache=tmp_path / "vectors.db") for _ in range(2)]
    sgi.check(contexts=["The tower is 330 m tall."], response="The tower is 312 m tall.")
    sgi.load_embedder().embed(["a text"])
    with sgi.Scorer(metrics) as scorer:
        scores = scorer.score(ROW)
    assert (openings.models, openings.hashed) == (["minilm"], MINILM_BYTES)
    for name in metrics:
        assert first[name].values.tolist() == again[0][name].values.tolist() == [scores[name].value]


def test_threads_that_open_a_model_together_open_it_once(openings):
    def evaluate(number):
        return sgi.evaluate([ROW | {"response": f"answer {number}"}], "sgi", cache=False)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(evaluate, range(16)))
    assert (openings.models, openings.hashed) == (["minilm"], MINILM_BYTES)


def test_closed_models_are_opened_again(openings):
    sgi.evaluate([ROW], "sgi", cache=False)
    sgi.api.close_models()
    sgi.evaluate([ROW], "sgi", cache=False)
    assert (openings.models, openings.hashed) == (["minilm"] * 2, 2 * MINILM_BYTES)


def test_other_settings_open_the_model_again_but_do_not_hash_it(openings):
    with sgi.Scorer("sgi", threads=1) as scorer:
        scorer.score(ROW)
    sgi.evaluate([ROW], "sgi", cache=False)
    assert (openings.models, openings.hashed) == (["minilm"] * 2, MINILM_BYTES)


def test_files_that_changed_are_opened_again(openings, tmp_path):
    folder = counting_model(tmp_path / "nli")
    metric = f"grounding(nli={str(folder)!r})".replace("'", '"')
    graph = folder / "onnx" / "model.onnx"

    def evaluate():
        return sgi.evaluate([ROW], metric, cache=False)[metric]

    first = evaluate()
    assert evaluate().values.tobytes() == first.values.tobytes()
    assert openings.models.count("nli") == 1
    other = counting_model(tmp_path / "other" / "nli", steep=0.5) / "onnx" / "model.onnx"
    stat = graph.stat()
    shutil.copy(other, graph)
    os.utime(graph, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # the time of modification does not tell
    second = evaluate()
    assert openings.models.count("nli") == 2
    assert second.values.tolist() != first.values.tolist()


def test_the_number_of_models_is_bounded():
    @dataclass
    class Model:
        identity: str | None

    opened = OpenedModels(most=2)
    first, second, third = Model("a"), Model("b"), Model("c")
    assert [opened.share(model) for model in (first, second, Model("a"), third)] == [
        first,
        second,
        first,
        third,
    ]
    assert opened.share(Model("a")) is first
    assert opened.share(Model("b")) is not second  # the least recently used one
    remote = Model(None)
    assert opened.share(remote) is remote


def test_a_token_encoder_shares_the_weights_of_its_embedder(openings):
    from sgi.engine.opened_models import shared_embedder, shared_token_encoder
    from sgi.engine.run_options import RunOptions

    encoder = shared_token_encoder(TokenModel("minilm"), RunOptions())
    assert encoder.network.embedder is shared_embedder("minilm", RunOptions())
    assert shared_token_encoder(TokenModel("minilm"), RunOptions()) is encoder
    assert openings.models == []


CHILD = """
import os, signal, sys, threading
import sgi

row = {"question": "How tall?", "contexts": ["It is 330 m tall."], "response": "It is 312 m tall."}
embedder = sgi.load_embedder()
embedder.threads = 4  # sessions with threads of their own, which a child does not have
embedder.network(alone=True)
scorer = sgi.Scorer(["sgi", "grounding"])
expected = scorer.score(row)
sgi.evaluate([row], "sgi", cache=False)  # imports modules: Python cannot fork while a thread does
done = threading.Event()

def work():
    while not done.is_set():
        scorer.score(row)
        sgi.evaluate([row], "sgi", cache=False)

threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
codes = []
for _ in range(int(sys.argv[1])):
    child = os.fork()
    if not child:
        signal.alarm(60)  # a child that hangs is killed
        assert embedder.network(alone=True) is not None
        assert scorer.score(row) == expected
        assert sgi.evaluate([row], "sgi", cache=False)["sgi"].values[0] == expected["sgi"].value
        scorer.close()
        sys.exit(0)  # ends like any process: destroys what is left
    codes.append(os.waitpid(child, 0)[1])
done.set()
for thread in threads:
    thread.join()
assert scorer.score(row) == expected
scorer.close()
sys.exit(any(codes))
"""

POOL = """
import multiprocessing, sys
import sgi

scorer = sgi.Scorer("sgi")
row = {"question": "How tall?", "contexts": ["It is 330 m tall."], "response": "It is 312 m tall."}

def score(number):
    return scorer.score(row | {"response": f"It is {number} m tall."})["sgi"].value

here = [score(number) for number in range(4)]
with multiprocessing.get_context("fork").Pool(2) as pool:
    there = pool.map(score, range(4))
sys.exit(here != there)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize(("script", "arguments"), [*slow((CHILD, ["3"])), (POOL, [])])
def test_a_forked_child_opens_its_own_models(script, arguments):
    command = [sys.executable, "-W", "ignore", "-c", script, *arguments]
    subprocess.run(command, check=True, timeout=120)
