from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sgi.analysis.score_origin import origin_of
from sgi.engine.resources import Resources
from sgi.kernel.errors import UnknownNameError, UsageError
from sgi.kernel.judged_metric import prompts_digest
from sgi.kernel.metric_column import MetricColumn
from sgi.kernel.registry import metric
from sgi.store.run_queries import RunRecord
from sgi.testing import HashEmbedder, HashEntailment, ScriptedJudge

MODELS = {"hash": HashEmbedder(64, "hash"), "bge": HashEmbedder(48, "bge")}
BOTH = 'semantic_similarity(models=["bge", "hash"])'


def record(**spec):
    """A finished run as the store tells of it."""
    return RunRecord(
        id="r1",
        dataset="3f2a",
        dataset_name="rows.jsonl",
        rows=4,
        scored=4,
        metrics=("sgi",),
        spec=spec,
        signature="sgi:1",
        created_at="2026-01-01T00:00:00Z",
        finished_at="2026-01-01T00:00:01Z",
    )


def column(name="sgi", version=None):
    version = metric(name).spec.version if version is None else version
    return MetricColumn(name, np.zeros(4), np.zeros(4, dtype=np.int8), version=version)


def essence(provenance):
    """What a calibration is bound to."""
    return provenance.models, provenance.judge, provenance.prompts


@pytest.mark.parametrize("names", [("hash",), ("hash", "bge"), ("bge", "hash")])
@pytest.mark.parametrize("judge", [None, ScriptedJudge({})])
@pytest.mark.parametrize("name", ["sgi", "rouge_l", "faithfulness", "ragas_answer_relevance", BOTH])
def test_the_origin_is_the_provenance_that_the_resources_give(name, judge, names):
    inner = metric(name)
    resources = Resources({name: MODELS[name] for name in names}, judge=judge)
    lacking = (name == BOTH and len(names) == 1) or (
        judge is None and name in ("faithfulness", "ragas_answer_relevance")
    )
    if lacking:
        return
    made = resources.provenance(inner)
    assert origin_of(record(), replace(column(name), provenance=made)) == made


@pytest.mark.parametrize("lacking", [{"models": ()}, {"models": ("hash@unopened",)}, {"judge": ""}, None])
def test_a_record_without_its_models_or_its_judge_is_refused(lacking):
    inner = metric("ragas_answer_relevance")
    made = Resources(MODELS, judge=ScriptedJudge({})).provenance(inner)
    stored = None if lacking is None else replace(made, **lacking)
    with pytest.raises(UsageError) as caught:
        origin_of(record(), replace(column(inner.canonical), provenance=stored))
    assert all(name in caught.value.message for name in ("r1", inner.canonical))


def test_prompts_that_changed_since_the_run_are_refused():
    inner = metric("faithfulness")
    made = replace(Resources(MODELS, judge=ScriptedJudge({})).provenance(inner), prompts="00000000")
    with pytest.raises(UsageError) as caught:
        origin_of(record(), replace(column("faithfulness"), provenance=made))
    assert all(name in caught.value.message for name in ("r1", "00000000", prompts_digest([inner])))
    rescored = record(rescored_from="r0")
    assert origin_of(rescored, replace(column("faithfulness"), provenance=made)).judge == "scripted"


def test_only_what_the_metric_uses_is_of_its_origin():
    prompts = prompts_digest([metric("faithfulness")])
    resources = Resources(MODELS, judge=ScriptedJudge({}))
    assert essence(resources.provenance(metric("rouge_l"))) == ((), "", "")
    assert essence(resources.provenance(metric("sgi"))) == ((MODELS["hash"].fingerprint,), "", "")
    assert essence(resources.provenance(metric("faithfulness"))) == ((), "scripted", prompts)


@pytest.mark.parametrize(("version", "words"), [(0, "an unknown version"), (9, "version 9")])
def test_another_version_of_the_metric_is_refused(version, words):
    with pytest.raises(UsageError, match=words):
        origin_of(record(), column(version=version))


def test_a_metric_that_is_not_here_is_told():
    with pytest.raises(UnknownNameError, match="sgi_of_old"):
        origin_of(record(), column("sgi_of_old"))


READERS = {
    "/models/nli": HashEntailment("nli"),
    "torch:owner/model": HashEntailment("torch:owner/model"),
}


@pytest.mark.parametrize("name", READERS)
def test_an_entailment_model_is_of_the_origin(name):
    inner = metric(f"grounding(nli='{name}')")
    resources = Resources({"hash": MODELS["hash"]}, entailment_models=READERS)
    made = resources.provenance(inner)
    assert made.models == (READERS[name].fingerprint,)
    assert origin_of(record(), replace(column(inner.canonical), provenance=made)) == made
