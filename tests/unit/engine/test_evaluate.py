from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sgi
from sgi.kernel.errors import DataError, EmbedderError, MissingExtraError, UsageError
from sgi.kernel.sample import RESPONSE
from sgi.testing.fakes import HashEmbedder

ROWS = [
    {"id": "a", "question": "q1", "contexts": ["c1", "c2"], "response": "r1", "reference": "r1", "label": 1},
    {"id": "b", "question": "q1", "contexts": ["c1"], "response": "r2", "label": 0, "metadata": {"k": [1]}},
    {"id": "c", "question": "q2", "contexts": ["q2"], "response": "r3", "reference": "r1"},
]
NAMES = ["theta_rq", "sgi", "squad_em"]


@pytest.fixture
def result():
    return sgi.evaluate(ROWS, NAMES, HashEmbedder())


def test_values_status_reasons_details(result):
    assert result["squad_em"].values[[0, 2]].tolist() == [1.0, 0.0]
    assert np.isnan(result["squad_em"].values[1])
    assert result["squad_em"].status.tolist() == ["ok", "missing", "ok"]
    assert result["sgi"].status.tolist() == ["ok", "ok", "undefined"]
    assert result["sgi"].reasons[2]
    assert len(result["sgi"].details[0]["passages"]) == 2
    assert list(result) == NAMES


def test_lookup_by_name_where_only_one_metric_has_it():
    made = sgi.evaluate(ROWS, ["rouge_l(beta=2)", "theta_rq"], HashEmbedder())
    assert made["rouge_l"] is made["rouge_l(beta=2.0)"]
    with pytest.raises(KeyError, match="It has: rouge_l"):
        made["sgi"]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.Table.from_pylist, list, iter])
def test_every_kind_of_data_gives_the_same_scores(make, result):
    rows = [{key: value for key, value in row.items() if key != "metadata"} for row in ROWS]
    made = sgi.evaluate(make(rows), NAMES, HashEmbedder())
    for name in NAMES:
        assert made[name].values.tobytes() == result[name].values.tobytes()
        assert made[name].status.tolist() == result[name].status.tolist()


def test_tables_hold_values_status_and_reason(result):
    frame = result.to_pandas()
    assert frame["squad_em_status"].tolist() == ["ok", "missing", "ok"]
    assert np.isnan(frame["squad_em"][1])
    assert result.to_polars()["sgi"].null_count() == 1
    assert result.to_arrow().column("sgi_reason").to_pylist()[:2] == [None, None]
    assert json.loads(result.to_arrow().column("metadata").to_pylist()[1]) == {"k": [1]}


@pytest.mark.parametrize(
    ("method", "package", "extra"),
    [
        ("to_pandas", "pandas", "pandas"),
        ("to_polars", "polars", "polars"),
        ("to_arrow", "pyarrow", "parquet"),
    ],
)
def test_a_table_of_a_library_that_is_not_installed_names_the_extra(
    result, method, package, extra, monkeypatch
):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"pip install .*\[{extra}\]"):
        getattr(result, method)()


def test_dicts_are_json(result):
    rows = json.loads(json.dumps(result.to_dicts(), allow_nan=False))
    assert rows[1]["scores"]["squad_em"] == {
        "value": None,
        "status": "missing",
        "reason": "the sample has no reference",
    }
    assert rows[0]["label"] is True


def test_summary_counts_every_row(result):
    summary = result.summary()
    assert [made.rows for made in summary.metrics] == [3, 3, 3]
    assert [made.ok for made in summary.metrics] == [3, 2, 2]
    assert summary.questions == 2
    assert (summary.labelled, summary.positives) == (2, 1)
    assert summary.signature.startswith("sgi:1|emb:hash@")
    assert json.loads(json.dumps(summary.to_dict(), allow_nan=False))["metrics"][1]["coverage"] == 2 / 3
    assert "squad_em" in str(result)


def test_each_text_is_embedded_once_over_all_batches():
    embedder = HashEmbedder()
    rows = [{"question": f"q{i % 7}", "contexts": ["c"], "response": f"r{i}"} for i in range(600)]
    sgi.evaluate(rows, ["sgi(sentences=false)", "theta_qc"], embedder)
    assert len(embedder.texts_seen) == len(set(embedder.texts_seen)) == 600 + 7 + 1


def test_works_inside_a_running_loop():
    async def inside():
        return sgi.evaluate(ROWS, NAMES, HashEmbedder()), await sgi.aevaluate(ROWS, NAMES, HashEmbedder())

    sync, asynchronous = asyncio.run(inside())
    assert sync["sgi"].values.tobytes() == asynchronous["sgi"].values.tobytes()


def test_no_embedder_is_loaded_for_metrics_that_need_none():
    made = sgi.evaluate(ROWS, ["squad_em"], embedder="no such model")
    assert "emb:-" in made.signature


def test_bad_rows_stop_or_are_kept_aside():
    rows = [*ROWS, {"id": 4, "question": {}, "response": "r"}]
    with pytest.raises(DataError, match="question"):
        sgi.evaluate(rows, NAMES, HashEmbedder())
    made = sgi.evaluate(rows, NAMES, HashEmbedder(), on_error="skip")
    assert len(made.samples) == 3
    assert made.rejected[0].error.field == "question"


class Down(HashEmbedder):
    def embed(self, texts, /):
        raise EmbedderError("the server is down")


def test_too_many_failures_stop_and_few_do_not():
    with pytest.raises(EmbedderError, match="100"):
        sgi.evaluate(ROWS, ["theta_rq"], Down())
    made = sgi.evaluate(ROWS, ["theta_rq"], Down(), max_failures=1.0)
    assert made["theta_rq"].status.tolist() == ["failed"] * 3
    assert made.summary().metrics[0].mean is None


class Holed(HashEmbedder):
    """Has no vector for one text."""

    def embed(self, texts, /):
        rows = super().embed(texts)
        rows[[text == "r7" for text in texts]] = np.nan
        return rows


def test_a_text_without_vector_fails_its_row_and_no_other_text_is_embedded_twice():
    embedder = Holed()
    rows = [{"question": "q", "contexts": ["c"], "response": f"r{i}"} for i in range(300)]
    made = sgi.evaluate(rows, ["sgi"], embedder)
    assert np.flatnonzero(made["sgi"].status == "failed").tolist() == [7]
    assert "no usable vector" in made["sgi"].reasons[7]
    assert len(embedder.texts_seen) == len(set(embedder.texts_seen)) == 302


def test_what_is_no_embedder_is_refused():
    with pytest.raises(UsageError, match="not an embedder"):
        sgi.evaluate(ROWS, ["sgi"], embedder=object())


def test_two_embedders_of_one_name_are_refused():
    with pytest.raises(UsageError, match="Two embedders"):
        sgi.evaluate(ROWS, ["sgi"], embedder=[HashEmbedder(), HashEmbedder()])


@dataclass(frozen=True)
class ResponseLength(sgi.Metric):
    """Characters of the response, in thousands."""

    unit: float = 1000.0
    spec: ClassVar = sgi.types.MetricSpec("response_length", 1, RESPONSE, 0.0, float("inf"))

    def score(self, batch, features, /):
        return sgi.types.Scores.of(np.array([len(text) / self.unit for text in batch.response]))


def test_a_custom_metric_is_a_frozen_dataclass():
    sgi.testing.check_metric(ResponseLength())
    made = sgi.evaluate(ROWS, [ResponseLength(unit=2.0)])
    assert made["response_length"].values.tolist() == [1.0, 1.0, 1.0]


def test_two_runs_give_equal_bits():
    first, second = (sgi.evaluate(ROWS, NAMES, HashEmbedder()) for _ in range(2))
    assert first.summary() == second.summary()
    assert first.to_dicts() == second.to_dicts()


def test_the_event_loop_goes_on_meanwhile():
    async def both():
        ticks = 0

        async def tick():
            nonlocal ticks
            while True:
                await asyncio.sleep(0.005)
                ticks += 1

        ticking = asyncio.create_task(tick())
        rows = [row | {"id": f"{row['id']}{i}"} for i in range(300) for row in ROWS]
        await sgi.aevaluate(rows, NAMES, HashEmbedder())
        ticking.cancel()
        return ticks

    assert asyncio.run(both()) > 3


class Raising(HashEmbedder):
    def embed(self, texts, /):
        raise RuntimeError("boom")


class Listing(HashEmbedder):
    def embed(self, texts, /):
        return super().embed(texts).tolist()


def test_what_ones_own_embedder_raises_fails_its_rows():
    made = sgi.evaluate(ROWS, ["theta_rq", "squad_em"], Raising(), max_failures=1.0)
    assert made["theta_rq"].status.tolist() == ["failed"] * 3
    assert made["theta_rq"].reasons[0].startswith("hash raised RuntimeError. ")
    assert "boom" not in made["theta_rq"].reasons[0], "the words of a client may hold a key"
    assert made["squad_em"].ok.sum() == 2


def test_lists_of_numbers_are_vectors_too(result):
    made = sgi.evaluate(ROWS, NAMES, Listing())
    np.testing.assert_allclose(made["sgi"].values, result["sgi"].values, rtol=1e-5)


def test_a_target_answers_the_questions_of_rows_in_memory(tmp_path, monkeypatch):
    (tmp_path / "rag_in_memory.py").write_text("def answer(question):\n    return 'Paris.'\n")
    monkeypatch.syspath_prepend(tmp_path)
    rows = [{"id": "a", "question": "Capital?", "reference": "Paris"}]
    made = sgi.evaluate(rows, ["squad_em"], target="rag_in_memory:answer", repeat=2)
    assert (made.ids, made["squad_em"].values.tolist()) == (("a#1", "a#2"), [1.0, 1.0])


def test_one_name_or_metric_needs_no_list():
    assert list(sgi.evaluate(ROWS, "squad_em")) == ["squad_em"]
    assert list(sgi.evaluate(ROWS, ResponseLength())) == ["response_length"]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"on_error": "bad"}, "sgi.evaluate: on_error"),
        ({"max_failures": 2}, "share '2'"),
        ({"name": "nightly"}, "no option 'name'"),
        ({"judgee": "openai:m"}, "Did you mean 'judge'"),
    ],
)
def test_wrong_options_are_refused(options, problem):
    with pytest.raises(UsageError, match=problem):
        sgi.evaluate(ROWS, ["squad_em"], **options)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"response": ["Paris."]}, r"`response` must be a text, not a list\. Write response=\"…\""),
        ({"response": None}, "`response` must be a text, not a NoneType"),
        ({"question": 3}, "`question` must be a text, not a int"),
        ({"contexts": "Paris."}, r"`contexts` must be a list of texts, not a str\. Write contexts=\[\"…\"\]"),
        ({"contexts": {"a": "Paris."}}, "`contexts` must be a list of texts, not a dict"),
        ({"contexts": ["Paris.", ["Rome."]]}, r"`contexts\[1\]` must be a text, not a list"),
    ],
)
def test_check_refuses_other_types_by_the_name_of_the_argument(given, message):
    with pytest.raises(sgi.errors.UsageError, match=message):
        sgi.check(**{"contexts": ["Paris."], "response": "Paris.", **given})


def test_check_without_passages_has_no_value():
    report = sgi.check(contexts=[], response="Paris.")
    assert (report.value, report.status, bool(report.reason)) == (None, "undefined", True)
