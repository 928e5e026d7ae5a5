import pytest

from sgi.kernel.registry import metric
from sgi.kernel.sample import Batch, Sample
from sgi.kernel.vectors import Features

ROW = Sample(id="1", latency_ms=125.5, prompt_tokens=300, completion_tokens=20, cost=0.25)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("latency", 125.5),
        ("prompt_tokens", 300.0),
        ("completion_tokens", 20.0),
        ("total_tokens", 320.0),
        ("cost", 0.25),
    ],
)
def test_values_are_those_of_the_row_and_lower_is_better(name, value):
    scorer = metric(name)

    assert scorer.score(Batch.of([ROW]), Features.of()).values.tolist() == [value]
    assert not scorer.spec.higher_is_better


def test_total_tokens_need_both_counts():
    batch = Batch.of([ROW, Sample(id="2", prompt_tokens=300)])

    assert batch.present(metric("total_tokens").spec.needs).tolist() == [True, False]
