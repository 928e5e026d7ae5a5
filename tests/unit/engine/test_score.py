from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import anyio
import numpy as np
import orjson
import pytest

from sgi.engine.export import flat_row, nested_row, output_rows
from sgi.engine.resources import Resources
from sgi.engine.score import _rows_with, evaluate_batch
from sgi.kernel.errors import EmbedderError
from sgi.kernel.metric import Metric, MetricSpec, Scores
from sgi.kernel.protocols import Embeddings
from sgi.kernel.registry import metric
from sgi.kernel.sample import QUESTION, Batch, Sample
from sgi.testing.fakes import HashEmbedder

ROWS = [
    Sample(id="a", question="q1", contexts=("c1", "c2"), response="r1", reference="r1"),
    Sample(id="b", question="q1", contexts=("c1",), response="r2"),
    Sample(id="c", question="q2", response="r3", reference="x"),
]
METRICS = tuple(metric(name) for name in ("sgi(sentences=false)", "theta_rq", "squad_em"))


def score(samples, metrics, *embedders):
    resources = Resources({embedder.fingerprint.partition("@")[0]: embedder for embedder in embedders})
    return anyio.run(evaluate_batch, Batch.of(samples), metrics, resources)


class Broken(HashEmbedder):
    """Gives up, or gives a bad vector for some texts."""

    def __init__(self, *, zero=(), nan=(), error="", shape=None):
        super().__init__()
        self.zero, self.nan, self.error, self.shape = zero, nan, error, shape

    def embed(self, texts, /):
        if self.error:
            raise EmbedderError(self.error)
        if self.shape:
            return np.ones(self.shape, dtype=np.float32)
        rows = super().embed(texts)
        for row, text in enumerate(texts):
            if text in self.zero:
                rows[row] = 0
            if text in self.nan:
                rows[row] = np.nan
        return rows


def test_each_distinct_text_is_embedded_once_for_all_metrics():
    embedder = HashEmbedder()
    score(ROWS, METRICS, embedder)
    assert embedder.calls == 1
    assert sorted(embedder.texts_seen) == ["c1", "c2", "q1", "q2", "r1", "r2", "r3"]


def test_a_row_without_a_needed_field_is_missing_and_says_which():
    scores = score(ROWS, METRICS, HashEmbedder()).scores
    assert scores["sgi(sentences=false)"].status.tolist() == ["ok", "ok", "missing"]
    assert scores["sgi(sentences=false)"].reasons[2] == "the sample has no contexts"
    assert scores["squad_em"].values.tolist()[::2] == [1.0, 0.0]
    assert scores["squad_em"].reasons[1] == "the sample has no reference"


def test_a_batch_in_which_no_row_has_the_fields():
    scores = score([Sample(id="a", metadata={"x": 1})], METRICS, HashEmbedder()).scores
    assert {str(made.status[0]) for made in scores.values()} == {"missing"}
    assert scores["sgi(sentences=false)"].reasons[0] == (
        "the sample has no contexts and no question and no response"
    )


@pytest.mark.parametrize("fault", [{"zero": ("c2",)}, {"nan": ("c2",)}])
def test_a_bad_vector_fails_the_rows_that_need_it_and_no_others(fault):
    scores = score(ROWS, METRICS, Broken(**fault)).scores["sgi(sentences=false)"]
    assert scores.status.tolist() == ["failed", "ok", "missing"]
    assert "no usable vector" in scores.reasons[0]


@pytest.mark.parametrize("fault", [{"error": "the server is down"}, {"shape": (1, 4)}, {"shape": (7,)}])
def test_an_embedder_that_gives_up_fails_its_rows_and_leaves_the_rest(fault):
    scores = score(ROWS, METRICS, Broken(**fault)).scores
    assert scores["theta_rq"].status.tolist() == ["failed"] * 3
    assert all(scores["theta_rq"].reasons)
    assert scores["squad_em"].status.tolist() == ["ok", "missing", "ok"]


def test_one_failed_model_of_two_is_left_out_and_named():
    good, bad = HashEmbedder(), Broken(error="the server is down")
    bad.name = "other"
    resources = Resources({"hash": good, "other": bad})
    made = anyio.run(evaluate_batch, Batch.of(ROWS), (metric("semantic_similarity"),), resources)
    scores = made.scores["semantic_similarity"]
    assert scores.status.tolist() == ["ok", "missing", "ok"]
    assert "the server is down" in str(scores.details[0])


@dataclass(frozen=True)
class Faulty(Metric):
    """A metric with a bug."""

    short: bool = False
    spec: ClassVar = MetricSpec("faulty", 1, QUESTION, 0.0, 1.0)

    def score(self, batch, features, /):
        return Scores.of(np.zeros(0)) if self.short else Scores.of(1 / np.zeros(0).sum())


@pytest.mark.parametrize("short", [False, True])
def test_a_bug_in_a_metric_is_raised_with_its_name_and_samples(short):
    with pytest.raises(Exception) as caught:  # noqa: PT011 - any bug
        score(ROWS, (Faulty(short=short),))
    assert "samples a, b, c" in caught.value.__notes__[0]


class Cutting(HashEmbedder):
    """Reads two characters of a text."""

    def encode(self, texts, /):
        return Embeddings(self.embed(texts), np.array([len(text) > 2 for text in texts]))


class Windowing(HashEmbedder):
    """Reads two characters of a text at once, and longer texts in windows."""

    def encode(self, texts, /):
        long = np.array([len(text) > 2 for text in texts])
        return Embeddings(self.embed(texts), np.zeros_like(long), long)


def test_rows_with_texts_longer_than_the_model_are_counted():
    rows = [Sample(id="a", question="q1", contexts=("too long",), response="r1")]
    assert score(rows, METRICS, Cutting()).truncated == {"contexts": 1}


def test_a_part_of_a_batch_counts_its_own_truncated_texts():
    rows = [
        Sample(id=str(n), question="q1", contexts=(text,), response="r1")
        for n, text in enumerate(["c", "too long", "c"])
    ]
    whole = score(rows, METRICS, Cutting())
    assert [whole.rows(n, n + 1).truncated for n in range(3)] == [{}, {"contexts": 1}, {}]
    assert whole.rows(1, 3).truncated_rows == {"contexts": [0]}


def test_rows_with_texts_in_windows_are_counted_apart():
    rows = [
        Sample(id=str(n), question="q1", contexts=(text,), response="r1")
        for n, text in enumerate(["c", "too long", "c"])
    ]
    whole = score(rows, METRICS, Windowing())
    assert (whole.windowed, whole.truncated) == ({"contexts": 1}, {})
    assert [whole.rows(n, n + 1).windowed for n in range(3)] == [{}, {"contexts": 1}, {}]
    assert whole.rows(1, 3).windowed_rows == {"contexts": [0]}


@pytest.mark.parametrize(
    ("cut", "found"),
    [
        ((), {}),
        (("long c",), {"contexts": [0]}),
        (("q", "r"), {"question": [0, 1], "response": [0]}),
        (("alt",), {"reference": [0]}),
        (("c\n\nlong c",), {"contexts": [0]}),
    ],
)
def test_rows_with_truncated_texts_are_found_by_field(cut, found):
    rows = [
        Sample(id="a", question="q", contexts=("c", "long c"), response="r", reference=["ref", "alt"]),
        Sample(id="b", question="q"),
    ]
    assert _rows_with(Batch.of(rows), frozenset(cut)) == found


def test_splitting_rows_into_batches_changes_no_bit():
    together = score(ROWS, METRICS, HashEmbedder()).scores["sgi(sentences=false)"].values
    apart = [score([row], METRICS, HashEmbedder()).scores["sgi(sentences=false)"].values for row in ROWS]
    assert np.concatenate(apart).tobytes() == together.tobytes()


BATCH = Batch.of(
    [
        Sample(id="a", question="q", response="r", label=False, metadata={"k": 1}),
        Sample(id="b", response="s"),
    ]
)
SCORES = {
    "m": Scores.of(
        np.array([0.5, 0.0]), undefined={"why": np.array([False, True])}, details=[{"part": [1, None]}, {}]
    )
}


def test_nested_rows_leave_out_what_is_absent():
    first, second = nested_row(BATCH, SCORES)
    assert first == {
        "id": "a",
        "label": False,
        "metadata": {"k": 1},
        "scores": {"m": {"value": 0.5, "status": "ok", "details": {"part": [1, None]}}},
    }
    assert second == {"id": "b", "scores": {"m": {"value": None, "status": "undefined", "reason": "why"}}}


def test_nested_rows_hold_the_inputs_when_asked():
    first, second = nested_row(BATCH, SCORES, inputs=True)
    assert (first["question"], second["response"]) == ("q", "s")
    assert "contexts" not in first


def test_flat_rows_have_the_same_columns():
    first, second = flat_row(BATCH, SCORES)
    assert list(first) == list(second) == ["id", "label", "metadata", "m", "m_status", "m_reason"]
    assert (first["m"], second["m"], second["m_reason"]) == (0.5, None, "why")


def test_flat_rows_hold_the_class_of_a_metric_that_has_classes():
    name = 'calibrated(metric="m", calibration="3f2a")'
    details = [{"score": 0.4, "threshold": 0.5, "verdict": "flagged"}, {}]
    gaps = {"why": np.array([False, True])}
    made = Scores.of(np.array([0.5, 0.0]), undefined=gaps, details=details)
    first, second = flat_row(BATCH, {name: made, "m": SCORES["m"]})
    assert list(first) == list(second)
    assert list(first)[3:] == [
        *(name + part for part in ("", "_status", "_reason", "_verdict")),
        *("m" + part for part in ("", "_status", "_reason")),
    ]
    assert (first[f"{name}_verdict"], second[f"{name}_verdict"]) == ("flagged", None)


@pytest.mark.parametrize(
    ("name", "nested"), [("o.jsonl", True), ("O.JSONL", True), ("o.csv", False), ("o.parquet", False)]
)
def test_the_file_decides_the_shape(name, nested):
    row = next(iter(output_rows(BATCH, SCORES, Path(name), inputs=False)))
    assert ("scores" in row) is nested


@pytest.mark.parametrize("shape", [nested_row, flat_row])
def test_every_row_is_json(shape):
    for row in shape(BATCH, SCORES, inputs=True):
        assert orjson.loads(orjson.dumps(row)) == row
