from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.engine.cascade import Cascade, FittedThreshold, detector_metrics, detector_of, parse_cascade
from sgi.engine.open_resources import read_options
from sgi.engine.plan import require_judged
from sgi.engine.run_options import RunOptions
from sgi.kernel.errors import UsageError
from sgi.kernel.registry import metric
from sgi.stats.conformal import clearing_threshold
from support.cascades import MetadataScore

LEARNT = FittedThreshold(threshold=0.93, unsupported=40, candidates=40, labelled=80, apart=True)


@pytest.mark.parametrize(
    ("written", "alpha", "labelled"),
    [
        ("alpha=0.05", 0.05, None),
        (" alpha = 0.2 ", 0.2, None),
        ("alpha=0.1,labelled=rows.jsonl", 0.1, "rows.jsonl"),
        ("labelled=a,b=c.csv,alpha=0.1", 0.1, "a,b=c.csv"),
        ({"alpha": 0.1, "labelled": "x"}, 0.1, "x"),
    ],
)
def test_a_cascade_is_read_as_it_is_written(written, alpha, labelled):
    found = parse_cascade(written)
    assert (found.alpha, found.labelled) == (alpha, labelled and Path(labelled))


@pytest.mark.parametrize("alpha", ["0", "1", "-0.1", "1.5", "nan", "inf", "five", "5%"])
def test_an_alpha_that_is_no_share_is_refused(alpha):
    with pytest.raises(UsageError, match="05"):
        parse_cascade(f"alpha={alpha}")


@pytest.mark.parametrize(
    "written", ["", "0.05", "labelled=x", "alpha=", "alpha=0.1,labelled=", "alpha=0.1,seed=3", "beta=0.1", {}]
)
def test_what_cannot_be_read_says_how_to_write_it(written):
    with pytest.raises(UsageError, match=r"alpha=0\.05"):
        parse_cascade(written)


@given(st.text(alphabet="alphbed=,. 0159/\0\ud800é", max_size=40) | st.text())
def test_hostile_text_is_a_cascade_or_a_usage_error(text):
    try:
        found = parse_cascade(f"alpha=0.1,{text}")
    except UsageError:
        return
    assert 0 < found.alpha < 1


@given(st.floats(min_value=0.001, max_value=0.999))
def test_the_fewest_rows_are_the_fewest_that_clear_any(alpha):
    fewest = Cascade(alpha=alpha).fewest
    assert math.isfinite(clearing_threshold([0.5] * fewest, alpha))
    assert not fewest or math.isinf(clearing_threshold([0.5] * (fewest - 1), alpha))


def test_a_run_that_goes_on_keeps_its_threshold_and_another_rule_has_none():
    kept = Cascade(alpha=0.05, labelled=Path("rows.jsonl").resolve(), fitted=LEARNT)
    stored = kept.model_dump(mode="json", exclude_defaults=True)
    again = Cascade(alpha=0.05, labelled=Path("rows.jsonl"))
    assert again.with_stored_threshold(stored).fitted == LEARNT
    assert Cascade(alpha=0.1, labelled=Path("rows.jsonl")).with_stored_threshold(stored).fitted is None
    assert Cascade(alpha=0.05).with_stored_threshold(stored).fitted is None
    assert kept.with_stored_threshold(None).fitted is None
    assert again.identity() != kept.identity()


def test_the_detector_is_the_one_that_is_scored_or_a_plain_one():
    assert detector_of([metric("squad_em"), MetadataScore()]) == MetadataScore()
    assert detector_of([metric("squad_em")]).canonical == "grounding"
    assert detector_metrics([metric("squad_em"), MetadataScore()]) == ()


def test_a_cascade_without_a_judged_metric_is_refused():
    with pytest.raises(UsageError):
        require_judged([MetadataScore()])


def test_a_spec_scores_the_detector_and_knows_itself_by_alpha_and_threshold(tmp_path):
    plain = RunOptions.of({"data": "rows.jsonl", "metrics": ["faithfulness"]})
    asked = RunOptions.of({"data": "rows.jsonl", "metrics": ["faithfulness"], "cascade": "alpha=0.05"})
    assert [found.canonical for found in asked.extra_metrics(asked.named_metrics)] == ["grounding"]
    assert plain.extra_metrics(plain.named_metrics) == ()
    learnt = asked.model_copy(update={"cascade": asked.cascade.model_copy(update={"fitted": LEARNT})})
    assert len({spec.identity([MetadataScore()]) for spec in (plain, asked, learnt)}) == 3
    stored = learnt.with_metrics([MetadataScore()]).to_dict()
    assert RunOptions.of(stored).cascade == learnt.cascade
    path = tmp_path / "run.toml"
    path.write_text('cascade = {alpha = 0.05, labelled = "checked.jsonl"}\n')
    assert RunOptions.of({"data": "x"} | read_options(path)).cascade.labelled == tmp_path / "checked.jsonl"
    path.write_text('cascade = "alpha=0.05"\n')
    assert RunOptions.of({"data": "x"} | read_options(path)).cascade == Cascade(alpha=0.05)
