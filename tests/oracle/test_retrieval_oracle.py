"""Retrieval metrics against trec_eval (pytrec-eval-terrier) and ir-measures."""

import numpy as np
import pytest

from sgi.kernel.registry import metric
from sgi.kernel.sample import Batch, Sample
from sgi.kernel.vectors import Features

pytestmark = pytest.mark.oracle
ir_measures = pytest.importorskip("ir_measures", reason="needs ir-measures (make oracles)")
pytrec_eval = pytest.importorskip("pytrec_eval", reason="needs pytrec-eval-terrier (make oracles)")

QUERIES = 5_000
TREC_EVAL = {
    **{
        f"{ours}@{k}": f"{theirs}_{k}"
        for k in (1, 3, 5, 10, 100)
        for ours, theirs in (
            ("recall", "recall"),
            ("precision", "P"),
            ("hit_rate", "success"),
            ("ndcg", "ndcg_cut"),
            ("map", "map_cut"),
        )
    },
    "recall": "set_recall",
    "precision": "set_P",
    "mrr": "recip_rank",
    "ndcg": "ndcg",
    "map": "map",
    "r_precision": "Rprec",
}
IR_MEASURES = {
    **{f"recall@{k}": ir_measures.R @ k for k in (1, 5, 10)},
    **{f"precision@{k}": ir_measures.P @ k for k in (1, 5, 10)},
    **{f"hit_rate@{k}": ir_measures.Success @ k for k in (1, 5, 10)},
    **{f"mrr@{k}": ir_measures.RR @ k for k in (1, 5, 10)},
    **{f"ndcg@{k}": ir_measures.nDCG @ k for k in (1, 5, 10)},
    **{f"map@{k}": ir_measures.AP @ k for k in (1, 5, 10)},
    "recall": ir_measures.SetR,
    "precision": ir_measures.SetP,
    "mrr": ir_measures.RR,
    "ndcg": ir_measures.nDCG,
    "map": ir_measures.AP,
    "r_precision": ir_measures.Rprec,
}


@pytest.fixture(scope="module")
def rows() -> list[Sample]:
    """BEIR-like queries: few graded judgements, up to 100 passages; some with none of either."""
    generator = np.random.default_rng(7)
    samples = []
    for number in range(QUERIES):
        judged = generator.choice(400, size=int(generator.integers(0, 25)), replace=False)
        grades = generator.choice([-1, 0, 1, 2, 3], size=len(judged), p=[0.05, 0.25, 0.4, 0.2, 0.1])
        depth = int(generator.choice([0, 1, 2, 4, 7, 10, 40, 100]))
        # Half of the passages come from the judged ones, so that there are hits at all ranks.
        pool = np.unique(np.concatenate([judged[: depth // 2], generator.choice(400, size=depth)]))[:depth]
        retrieved = generator.permutation(pool)
        samples.append(
            Sample(
                id=f"q{number}",
                context_ids=tuple(f"d{name}" for name in retrieved),
                relevance={f"d{name}": int(grade) for name, grade in zip(judged, grades, strict=True)},
            )
        )
    return samples


@pytest.fixture(scope="module")
def values(rows: list[Sample]) -> dict[str, dict[str, float]]:
    """Our values by metric and query; 0 if no passage is relevant, as trec_eval counts."""
    batch = Batch.of(rows)
    of_metric = {}
    for name in {**TREC_EVAL, **IR_MEASURES}:
        each = metric(name)
        scores = each.score(each.prepare(batch), Features.of())
        relevant = np.array([any(grade > 0 for grade in row.relevance.values()) for row in rows])
        assert (scores.ok == relevant).all()
        of_metric[name] = dict(zip(batch.ids, np.where(scores.ok, scores.values, 0.0).tolist(), strict=True))
    return of_metric


@pytest.fixture(scope="module")
def qrels(rows: list[Sample]) -> dict[str, dict[str, int]]:
    return {row.id: dict(row.relevance) for row in rows}


@pytest.fixture(scope="module")
def run(rows: list[Sample]) -> dict[str, dict[str, float]]:
    """The retrieved passages with strictly decreasing scores, since trec_eval breaks ties by id."""
    return {row.id: {name: -float(rank) for rank, name in enumerate(row.context_ids)} for row in rows}


def compare(ours: dict[str, float], theirs: dict[str, float]) -> None:
    assert len(theirs) > QUERIES * 0.8
    for query, value in ours.items():
        assert value == pytest.approx(theirs.get(query, 0.0), abs=1e-12), query


def test_the_queries_cover_the_special_cases(rows):
    relevant = [sum(grade > 0 for grade in row.relevance.values()) for row in rows]
    assert sum(not row.context_ids for row in rows) > 100
    assert sum(number == 0 for number in relevant) > 100
    assert sum(0 < len(row.context_ids) < 5 for row in rows) > 100
    assert sum(number > 10 for number in relevant) > 100


@pytest.mark.parametrize("name", TREC_EVAL)
def test_trec_eval_has_the_same_values(name, values, qrels, run):
    family, _, k = TREC_EVAL[name].rpartition("_")
    measure = f"{family}.{k}" if k.isdecimal() else TREC_EVAL[name]
    found = pytrec_eval.RelevanceEvaluator(qrels, {measure}).evaluate(run)
    compare(values[name], {query: result[TREC_EVAL[name]] for query, result in found.items()})


@pytest.mark.parametrize("name", IR_MEASURES)
def test_ir_measures_has_the_same_values(name, values, qrels, run):
    found = ir_measures.iter_calc([IR_MEASURES[name]], qrels, run)
    compare(values[name], {result.query_id: result.value for result in found})
