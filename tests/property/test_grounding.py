"""The grounding detector on any text whatever."""

import json
import math

from hypothesis import given
from hypothesis import strategies as st

from sgi.kernel.sample import Sample
from sgi.reporting.views.evidence_view import evidence_view
from support.grounded import evidence_map, grounding_scores, is_consistent

_FRAGMENTS = [
    "The tower is 330 m tall. ",
    "It was built by Gustave Eiffel in 1889",
    "Passage 1 says that ",
    "the passages do not mention ",
    "1.5e999 ",
    "−12 % ",
    "$3bn–€4 ",
    "¾ of ",
    "31/02/2025 ",
    "Dr. J. R. R. O'Neil-Śmith, ",
    "\n\n- a) ",
    "|a|b|\n|-|-|\n",
    "İSTANBUL ",
    "ﬁne ",
    "e\u0301\u0301\u0301 ",
    "\u202e5 kg\u202c ",
    "\u200b\u00ad\u00a0",
    "\ud800",
    "\x00\x1b[2K",
    "東京は日本の首都である。",
    "👩‍👩‍👧",
    "٣٣٠ ",
    "99999999999999999999999999999999 km ",
    ". . . ... ",
    "(((",
    "a" * 300 + " ",
]
_TEXT = st.text(max_size=40) | st.lists(st.sampled_from(_FRAGMENTS) | st.text(max_size=5), max_size=8).map(
    "".join
)
_ROWS = st.builds(
    lambda question, contexts, response: Sample.model_construct(
        id="1", question=question, contexts=tuple(contexts), response=response
    ),
    _TEXT,
    st.lists(_TEXT, max_size=4),
    _TEXT,
)


@given(_ROWS)
def test_any_row_has_a_probability_with_sound_evidence_or_a_reason(sample):
    scores = grounding_scores([sample])
    if not scores.ok[0]:
        assert scores.reasons[0]
        assert math.isnan(scores.values[0])
        return
    assert 0 <= scores.values[0] <= 1
    report = evidence_map(scores.details[0])
    assert is_consistent(report, sample)
    assert all(math.isfinite(part.log_odds) for part in report.signals.values())
    json.dumps(scores.details[0], allow_nan=False)
    shown = evidence_view(report, sample.contexts)
    assert [sentence.text for sentence in shown.sentences] == [sentence.text for sentence in report.sentences]


@given(_ROWS, st.integers(0, 4), st.sampled_from(["", " ", "\n\t", "\u00a0"]))
def test_a_blank_passage_changes_no_value(sample, at, blank):
    contexts = [*sample.contexts[:at], blank, *sample.contexts[at:]]
    among = grounding_scores([sample.model_copy(update={"contexts": tuple(contexts)})])
    alone = grounding_scores([sample])
    assert among.values.tobytes() == alone.values.tobytes()
