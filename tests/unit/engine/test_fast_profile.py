"""The precision ``fast``: measured once, kept in a file, and the same in every signature."""

import json

import anyio
import numpy as np
import pytest

from sgi.engine import fast_profile as module
from sgi.engine.fast_profile import fast_profile
from sgi.engine.open_resources import load_embedder, open_models
from sgi.engine.progress import Advanced, RunBegan
from sgi.engine.runner import RunContext, resume, start_run
from sgi.engine.spec import RunSpec
from sgi.engine.stored_spec import stored_spec
from sgi.kernel.errors import UnknownNameError
from sgi.kernel.registry import metric
from sgi.models.embedder.fastest import Candidate
from sgi.models.embedder.load import load_embedder as load_without_profile
from sgi.models.embedder.local import LocalEmbedder
from sgi.service.scorer import Scorer
from sgi.store.database import open_database
from sgi.store.run_queries import find_run


@pytest.fixture
def measurements(monkeypatch, tmp_path):
    """A new cache folder, few rows, and times that do not depend on the machine; lists the measurements."""
    measured = []

    def time_candidates(candidates, rows):
        measured.append((tuple(candidates), len(rows)))
        # The last candidate is the fastest.
        return {arithmetic: 1.0 / (1 + place) for place, arithmetic in enumerate(candidates)}

    monkeypatch.setenv("SGI_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(module, "ROWS", 6)
    monkeypatch.setattr(module, "time_candidates", time_candidates)
    fast_profile.cache_clear()
    yield measured
    fast_profile.cache_clear()


def test_a_profile_is_measured_once_and_read_by_other_processes(measurements, tmp_path, monkeypatch):
    opened = []
    network = LocalEmbedder.network
    monkeypatch.setattr(LocalEmbedder, "network", lambda *a, **k: opened.append(a) or network(*a, **k))
    profile = fast_profile("minilm")
    assert fast_profile("minilm") is profile
    opened.clear()
    fast_profile.cache_clear()  # as in another process
    assert fast_profile("minilm") == profile
    assert (len(measurements), opened) == (1, [])
    (file,) = tmp_path.glob("fast-*.json")
    file.write_text("{", encoding="utf-8")
    fast_profile.cache_clear()
    assert fast_profile("minilm") == profile
    assert len(measurements) == 2


def test_the_changes_are_those_of_the_metrics(measurements):
    profile = fast_profile("minilm", "openvino")
    if not measurements:
        pytest.skip("this processor supports only f32 in OpenVINO, so there is nothing to compare")
    candidates, _ = measurements[0]
    assert (profile.backend, profile.precision) == candidates[-1]
    assert [change.metric for change in profile.changes] == list(module.COMPARED)
    if profile.precision != "f32":
        assert max(change.largest for change in profile.changes) > 0
    batch, _ = module._sample()
    exact, fast = (
        load_without_profile("minilm", backend="openvino", precision=precision)
        for precision in ("f32", profile.precision)
    )
    before, after = (module._values(batch, embedder)["sgi"] for embedder in (exact, fast))
    by_metric = {change.metric: change.largest for change in profile.changes}
    assert by_metric["sgi"] == np.abs(after - before).max()
    assert f"{max(by_metric.values()):.2g}" in profile.lines()[1]


def test_a_single_candidate_changes_nothing(measurements):
    profile = fast_profile("minilm", "onnx")
    assert (profile.backend, profile.precision, profile.changes) == ("onnx", "f32", ())
    assert measurements == []
    assert profile.lines()[1] == "Fast: no metric changes."


def test_every_model_opens_with_the_fastest_arithmetic(measurements):
    profile = fast_profile("minilm")
    expected = load_without_profile("minilm", backend=profile.backend, precision=profile.precision)
    metrics = [metric("sgi"), metric("bertscore(model='minilm')")]
    with Scorer(precision="fast") as scorer:
        assert expected.fingerprint in scorer.signature(1)
        scorer.require_open(metrics)  # the token encoder is open, too
    with open_models(metrics, cache=False, precision="fast") as resources:
        assert resources.fingerprints[0] == expected.fingerprint
        assert expected.fingerprint in resources.signature(metrics, n=1)
        (encoder,) = resources.token_encoders.values()
        assert encoder.fingerprint.endswith(expected.fingerprint.rpartition(",")[2])
    assert load_embedder("minilm", precision="fast").fingerprint == expected.fingerprint
    assert len(measurements) == 1


def test_a_run_is_resumed_with_the_arithmetic_that_it_started_with(measurements, tmp_path, monkeypatch):
    row = {"question": "How tall?", "contexts": ["It is 330 m tall."], "response": "It is 312 m tall."}
    data, database = tmp_path / "rows.jsonl", tmp_path / "sgi.db"
    data.write_text("".join(f"{json.dumps(row | {'id': str(n)})}\n" for n in range(300)), encoding="utf-8")

    kinds = []

    def stop_after_first_batch(event):
        kinds.append(type(event))
        if kinds[-1] is Advanced and RunBegan in kinds:
            raise KeyboardInterrupt

    context = RunContext(database, cache=False, listener=stop_after_first_batch)
    spec = RunSpec(data=data, metrics=("sgi",), precision="fast")
    with pytest.raises(KeyboardInterrupt):
        anyio.run(start_run, spec, context)
    with open_database(database) as opened:
        record = find_run(opened, "last")
    assert 0 < record.scored < 300
    (file,) = tmp_path.glob("fast-*.json")
    file.unlink()
    fast_profile.cache_clear()
    monkeypatch.setattr(module, "choose", lambda seconds: next(iter(seconds)))  # now another one is faster
    report = anyio.run(resume, stored_spec(record), record, RunContext(database, cache=False))
    assert len(measurements) == 1
    chosen = record.spec["arithmetic"]["minilm"]
    assert load_without_profile("minilm", **chosen).fingerprint in report.summary.signature
    assert load_embedder("minilm", precision="fast").fingerprint not in report.summary.signature


def test_a_profile_can_be_measured_while_an_event_loop_runs(measurements):
    async def measure():
        return fast_profile("minilm")

    assert anyio.run(measure).rows == 6
    assert len(measurements) == 1


def test_only_the_engine_resolves_fast():
    with pytest.raises(UnknownNameError, match="fast"):
        load_without_profile("minilm", precision="fast")


def test_verdicts_count_the_rows_that_cross_the_best_threshold():
    before, labels = np.array([0.1, 0.2, 0.8, 0.9]), np.array([False, False, True, True])
    change = module._change("sgi", before, np.array([0.1, 0.6, 0.4, 0.95]), labels)
    assert (change.threshold, change.verdicts) == (0.5, 2)
    assert change.largest == pytest.approx(0.4)
    flipped = module._change("theta_rc", before, before, ~labels)  # lower is better
    assert (flipped.threshold, flipped.verdicts, flipped.largest) == (0.5, 0, 0.0)


def test_times_name_runtime_and_precision(measurements):
    names = fast_profile("minilm").milliseconds
    assert str(Candidate("onnx", "f32")) in names
