"""Metrics of tokens through the engine: what is encoded, in which parts, and what happens when it fails."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import partial

import anyio
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sgi
from sgi.engine import pipeline as run_module
from sgi.engine import plan as plan_module
from sgi.engine import token_features
from sgi.engine.open_resources import open_models
from sgi.engine.progress import Advanced
from sgi.engine.resources import Resources
from sgi.engine.run_options import RunOptions
from sgi.engine.runner import resume, start_run
from sgi.engine.score import evaluate_batch
from sgi.engine.token_features import row_parts, with_frequencies
from sgi.kernel.errors import EmbedderError, NonFiniteVectorError, UsageError
from sgi.kernel.registry import metric
from sgi.kernel.sample import Batch, Sample
from sgi.kernel.tokens import TokenModel
from sgi.service.scorer import Scorer
from sgi.store.database import open_database
from sgi.store.run_queries import find_run
from sgi.testing import HashEmbedder, HashTokenEncoder

MINILM = TokenModel("minilm")
TEXTS = ("a b c", "b c", "a", "c c d e", "", "d e f", "a b c")
ROWS = [
    Sample(id=str(n), response=TEXTS[n % 7], reference=TEXTS[n % 5], alternatives=TEXTS[n % 3 : 2])
    for n in range(30)
]
FAMILY = [metric(f"bertscore{part}") for part in ("", "_precision", "_recall")]


@dataclass(eq=False)
class Failing(HashTokenEncoder):
    """Gives up, or has no vectors of some texts."""

    error: str = ""
    unusable: frozenset[str] = field(default_factory=frozenset)

    def encode_tokens(self, texts, /):
        if self.error:
            raise EmbedderError(self.error)
        bad = tuple(self.unusable.intersection(texts))
        if bad:
            raise NonFiniteVectorError("no direction", texts=bad)
        return super().encode_tokens(texts)


@dataclass(eq=False)
class OneAtATime(Failing):
    """Names one text of several that it has no vectors of, and another when asked without that."""

    rounds: int = 0

    def encode_tokens(self, texts, /):
        self.rounds += 1
        assert self.rounds <= len(TEXTS), "it is asked again and again"
        bad = sorted(self.unusable.intersection(texts))
        if bad:
            raise NonFiniteVectorError("no direction", texts=(bad[0],))
        return super().encode_tokens(texts)


def score(samples, metrics, encoder, **more):
    resources = Resources({"hash": HashEmbedder()}, token_encoders={MINILM: encoder}, **more)
    return anyio.run(evaluate_batch, Batch.of(samples), metrics, resources)


def same(left, right):
    return (
        left.values.tobytes() == right.values.tobytes()
        and left.status.tolist() == right.status.tolist()
        and left.details == right.details
    )


def test_each_distinct_text_is_encoded_once_for_all_metrics():
    encoder = HashTokenEncoder()
    score(ROWS, FAMILY, encoder)
    assert sorted(encoder.texts_seen) == sorted(set(TEXTS) - {""})


@pytest.mark.parametrize("most", [1, 2000, 5000])
def test_values_do_not_depend_on_the_parts(monkeypatch, most):
    whole = score(ROWS, FAMILY, HashTokenEncoder()).scores
    encoder = HashTokenEncoder()
    monkeypatch.setattr(token_features, "MAX_BYTES", most)
    cut = score(ROWS, FAMILY, encoder).scores
    assert len(encoder.texts_seen) > 7
    assert all(same(whole[name], cut[name]) for name in whole)


def test_vectors_held_at_once_stay_within_the_bound(monkeypatch):
    held = []

    @dataclass(eq=False)
    class Weighed(HashTokenEncoder):
        def encode_tokens(self, texts, /):
            made = super().encode_tokens(texts)
            held.append(made.rows.nbytes)
            return made

    monkeypatch.setattr(token_features, "MAX_BYTES", 5000)
    score(ROWS, FAMILY, Weighed())
    assert len(held) > 3
    assert max(held) <= 5000


@given(st.lists(st.lists(st.sampled_from("abcdef"), max_size=4), max_size=12), st.integers(1, 12))
def test_parts_are_all_rows_in_order_and_as_full_as_may_be(texts, most):
    sizes = {text: number for number, text in enumerate("abcdef", 1)}
    parts = list(row_parts(texts, sizes, most))
    assert [row for part in parts for row in part] == list(range(len(texts)))

    def size(rows):
        return sum(sizes[text] for text in {text for row in rows for text in texts[row]})

    assert all(len(part) == 1 or size(part) <= most for part in parts)
    assert all(size(range(part.start, part.stop + 1)) > most for part in parts[:-1])


def test_rows_without_a_reference_are_missing():
    rows = [ROWS[0], Sample(id="x", response="a"), ROWS[1]]
    assert score(rows, FAMILY, HashTokenEncoder()).scores["bertscore"].status.tolist() == [
        "ok",
        "missing",
        "ok",
    ]


def test_a_model_that_gives_up_fails_its_rows_alone():
    made = score(ROWS, [*FAMILY, metric("squad_em")], Failing(error="out of memory"))
    scored = made.scores["bertscore"]
    assert set(scored.status.tolist()) == {"failed"}
    assert set(scored.reasons) == {"out of memory"}
    assert made.failures == {"minilm": "out of memory"}
    assert "failed" not in made.scores["squad_em"].status


def test_a_text_without_vectors_fails_the_rows_that_hold_it():
    made = score(ROWS, FAMILY, Failing(unusable=frozenset({"d e f"})))
    whole = score(ROWS, FAMILY, HashTokenEncoder()).scores["bertscore"]
    scored = made.scores["bertscore"]
    lost = np.array([sample.response == "d e f" for sample in ROWS])
    assert (scored.status == "failed").tolist() == lost.tolist()
    assert scored.values[~lost].tobytes() == whole.values[~lost].tobytes()
    assert "minilm gave no usable vector" in scored.reasons[int(np.flatnonzero(lost)[0])]


def test_texts_without_vectors_may_be_named_one_after_another():
    bad = frozenset({"d e f", "c c d e", "b c"})
    encoder = OneAtATime(unusable=bad)
    scored = score(ROWS, FAMILY, encoder).scores["bertscore"]
    lost = [not bad.isdisjoint(FAMILY[0].token_texts(Batch.of([sample]))) for sample in ROWS]
    assert (scored.status == "failed").tolist() == lost
    assert not all(lost)
    assert encoder.rounds == len(bad) + 1


def test_weights_are_of_the_whole_data_and_of_no_batch():
    weighing = [metric("bertscore(idf=true)")]
    resources = Resources(token_encoders={MINILM: HashTokenEncoder()})
    counted = anyio.run(with_frequencies, ROWS, weighing, resources)
    found = counted.frequencies[MINILM]
    assert found.documents == sum(1 for sample in ROWS for text in sample.references if text.strip())
    whole = score(ROWS, weighing, HashTokenEncoder(), frequencies=counted.frequencies).scores
    some = score(ROWS[:4], weighing, HashTokenEncoder(), frequencies=counted.frequencies).scores
    name = weighing[0].canonical
    assert some[name].values.tobytes() == whole[name].values[:4].tobytes()


def test_data_is_not_read_where_nothing_weighs_tokens():
    def unread():
        raise AssertionError
        yield

    resources = Resources(token_encoders={MINILM: HashTokenEncoder()})
    assert anyio.run(with_frequencies, unread(), FAMILY, resources) is resources


def test_weights_want_the_whole_data():
    with pytest.raises(UsageError):
        score(ROWS, [metric("bertscore(idf=true)")], HashTokenEncoder())


def test_a_model_that_is_not_open_is_told():
    with pytest.raises(UsageError):
        score(ROWS, [metric('bertscore(model="torch:other", layer=3)')], HashTokenEncoder())


def test_only_what_is_wanted_is_opened_and_named_in_the_signature():
    with open_models(FAMILY, RunOptions(cache=False)) as resources:
        assert list(resources.token_encoders) == [MINILM]
        assert not resources.embedders
        assert "emb:tokens:minilm[last]@8199be6f-" in resources.signature(FAMILY, n=3)
        assert resources.signature([metric("squad_em")], n=3).startswith("sgi:1|emb:-|")
    with open_models([metric("squad_em")], RunOptions(cache=False)) as resources:
        assert not resources.token_encoders


def test_evaluate_counts_before_it_scores():
    rows = [{"response": "the cat sat", "reference": text} for text in ("the cat", "the dog", "the end")]
    found = sgi.evaluate(rows, ["bertscore", "bertscore(idf=true)"], cache=False)
    plain, weighed = (found[name] for name in ("bertscore", "bertscore(idf=true)"))
    assert weighed.ok.all()
    assert weighed.values[1] < plain.values[1]


def scored(rows, *names):
    """What an application's scorer gives, and its signature."""

    async def work():
        async with Scorer() as scorer:
            metrics = [metric(name) for name in names]
            return (await scorer.score_batch(rows, metrics)).scores, scorer.signature(len(rows), metrics)

    return anyio.run(work)


def test_a_scorer_gives_what_evaluate_gives():
    rows = [Sample(id="1", response="A cat sat.", reference="The cat sat down.")]
    made, signature = scored(rows, "bertscore", "bertscore_recall")
    assert made["bertscore"].values.tobytes() == sgi.evaluate(rows, "bertscore")["bertscore"].values.tobytes()
    assert "tokens:minilm[last]" in signature


@pytest.mark.parametrize(
    ("name", "response", "words"),
    [
        ("bertscore(idf=true)", "A cat.", "weighs tokens by all references"),
        ('bertscore(model="torch:other")', "A cat.", "not loaded"),
    ],
)
def test_what_a_scorer_refuses(name, response, words):
    with pytest.raises(UsageError, match=words):
        scored([Sample(id="1", response=response, reference="A dog.")], name)


def test_a_run_counts_the_whole_data_and_so_does_one_that_goes_on(tmp_path, monkeypatch):
    rows = [
        {"id": str(n), "response": "the cat sat", "reference": f"the {word} sat"}
        for n, word in enumerate(("cat", "dog", "fox", "hen") * 3)
    ]
    data = tmp_path / "rows.jsonl"
    data.write_text("\n".join(map(json.dumps, rows)))
    name = "bertscore(idf=true)"
    whole = sgi.evaluate(rows, name, cache=False)[name].values.tolist()
    monkeypatch.setattr(run_module, "BATCH_SIZE", 4)
    monkeypatch.setattr(plan_module, "batches", partial(plan_module.batches, size=4))
    database, done = tmp_path / "sgi.db", []
    values = {"data": data, "metrics": name, "out": tmp_path / "out.jsonl"}
    spec = RunOptions.of(values, db=database, cache=False)

    def interrupt(event):
        done.extend([event] if isinstance(event, Advanced) else [])
        if len(done) == 5:  # three batches were read, and two scored
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        anyio.run(start_run, spec, interrupt)
    with open_database(database) as opened:
        record = find_run(opened, "last")
    assert record.scored == 8
    anyio.run(resume, spec, record)
    written = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["scores"][name]["value"] for row in written] == whole
