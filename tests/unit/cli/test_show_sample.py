from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.cli.printed_row import sample_facts, sample_lines, value_lines
from sgi.kernel.metric import Status
from sgi.kernel.protocols import Usage
from sgi.kernel.sample import Sample
from sgi.service.service import RAGEvalService
from sgi.store.database import open_database
from sgi.store.evaluations import MetricScore, StoredEvaluation
from sgi.store.run_queries import find_run
from sgi.store.writer import open_writer
from support.answers import TERMINAL_ATTACK, write_jsonl
from support.evidence_maps import CONTEXTS, RESPONSE, details
from support.judged_metrics import judged_run, register_metrics

LONG = "So it is said, " * 200 + "and so it ends."
CLAIMS = {
    "claims": [
        {"claim": "Anke is a ferry.", "reason": "Stated.", "supported": 1, "passage": 2},
        {"claim": "Anke was built in 1950.", "reason": LONG, "supported": 0, "passage": None},
    ]
}


def lines(evidence, width=None, **score):
    found = StoredEvaluation(
        "r:0", "nightly", 0, Sample(id="q1"), "", {"m": MetricScore(0.5, evidence=evidence, **score)}
    )
    return [line.plain for line in sample_lines(found, width=width)]


@pytest.fixture
def kept(sgi, tmp_path, monkeypatch):
    register_metrics(monkeypatch)
    row = {"question": "Who?\nWhen?", "contexts": ["A passage.", LONG], "reference": ["R", "S"], "label": 1}
    data = [
        row | {"id": "q1", "response": LONG, "metadata": {"method": "bm25", "n": [1]}},
        row | {"id": "q2", "response": "no reply", "metadata": {"method": "dense"}},
        {"id": "q3", "question": "Who?", "reference": "R"},
    ]
    with open_database(tmp_path / "sgi.db") as database:
        path = write_jsonl(tmp_path / "a.jsonl", data)
        return judged_run(database, path, ["politeness", "echo", "squad_em"], name="judged").run


def test_a_row_shows_whole_texts_and_judge_replies(sgi, kept):
    result = sgi("show", "judged", "--sample", "q1")
    assert "The causes of all rows: sgi diagnose " in result.out
    assert (result.code, result.err) == (0, "")
    assert result.out.count(LONG) == 2
    for entry in (
        "sample: q1\nrun: judged\nlabel: 1\nmetadata\n  method: bm25\n  n\n    1. 1\n",
        "\nquestion\n  Who?\n  When?\n",
        f"\npassages\n  1. A passage.\n  2. {LONG}\n",
        "\nreference\n  R\nalso accepted\n  1. S\n",
        "    class: ",
        "  evidence\n    reasoning: so it is: ",
        "    marks\n      1. 0.",
        "    questions\n      1. Who is it?\n      2. What is ",
        "\nsquad_em: 0.0000\n",
    ):
        assert entry in result.out


def test_the_beginning_of_an_id_is_enough_if_only_one_row_has_it(sgi, tmp_path):
    data = [{"id": name, "response": "A", "reference": "A"} for name in ("a-1", "a-22", "b")]
    sgi("run", write_jsonl(tmp_path / "ids.jsonl", data), "-m", "squad_em", "--name", "ids", "-q")
    assert "sample: a-22\n" in sgi("show", "ids", "--sample", "a-2…").out
    refused = sgi("show", "ids", "--sample", "a-")
    assert (refused.code, "Unknown sample" in refused.err) == (2, True)


def test_a_row_without_a_reply_says_why(sgi, kept):
    output = sgi("show", "judged", "--sample", "q2").out
    assert "\npoliteness: failed: The judge gave no reply.\n" in output
    output = sgi("show", "judged", "--sample", "q3").out
    assert "\npoliteness: missing: the sample has no response\n" in output
    assert "\nresponse" not in output
    assert "passages" not in output


def test_json_holds_all_of_it(sgi, kept):
    facts = sgi("show", "judged", "--sample", "q1", "--json").json
    assert facts["run"] == "judged"
    assert (facts["sample"]["response"], facts["sample"]["alternatives"]) == (LONG, ["S"])
    politeness = facts["scores"]["politeness"]
    assert (politeness["status"], politeness["reason"]) == ("ok", None)
    assert politeness["value"] == pytest.approx(sum(politeness["evidence"]["marks"]) / 2)
    failed = sgi("show", "judged", "--sample", "q2", "--json").json["scores"]["politeness"]
    assert failed == {
        "value": None,
        "status": "failed",
        "reason": "The judge gave no reply.",
        "details": {},
        "evidence": None,
    }


def test_a_row_that_an_application_saved(sgi, tmp_path):
    service = RAGEvalService(database=tmp_path / "sgi.db")
    service.save_evaluation_to_db(
        "live", "pair", answer="a", groundedness=0.5, groundedness_reasoning="so it is"
    )
    output = sgi("show", "live", "--sample", "pair").out
    assert "response\n  a\n" in output
    assert "groundedness: 0.5000\n  evidence\n    reasoning: so it is\n" in output


def test_a_run_shows_the_usage_of_its_judge(sgi, kept, tmp_path):
    output = sgi("show", "judged").out
    assert "rule:judge,t=0\nJudge requests: 4; 40 tokens in, 8 tokens out, $0.0040.\n" in output
    assert "politeness: " in output
    with open_database(tmp_path / "sgi.db") as database:
        writer = open_writer(database, find_run(database, "judged"), take_over=True)
        writer.put_usage({TERMINAL_ATTACK: Usage(calls=1, cached=2, cost=None)})
    output = sgi("show", "judged")
    assert "price unknown" in output.out
    assert not set(output.out) & set("\x1b\x9b\u202e")
    facts = sgi("show", "judged", "--json").json["usage"]
    assert facts["rule:judge,t=0"]["calls"] == 4
    assert facts[TERMINAL_ATTACK] == {
        "calls": 1,
        "cached": 2,
        "retries": 0,
        "input_tokens": 0,
        "output_tokens": 0,
        "cost": None,
        "unanswered": 0,
    }


def test_classes_are_counted_over_the_run_and_by_group(sgi, tmp_path, monkeypatch):
    register_metrics(monkeypatch)
    data = [
        {"id": f"q{k}", "question": "Who?", "response": f"Please, {k}.", "metadata": {"method": "ab"[k % 2]}}
        for k in range(40)
    ]
    with open_database(tmp_path / "sgi.db") as database:
        judged_run(database, write_jsonl(tmp_path / "a.jsonl", data), ["politeness"])
    (metric,) = sgi("show", "last", "--json").json["summary"]["metrics"]
    assert (set(metric["classes"]), sum(metric["classes"].values())) == ({"kind", "rude"}, 40)
    said = ", ".join(f"{name} {rows} ({rows / 40:.1%})" for name, rows in metric["classes"].items())
    assert f"politeness: {said}\n".replace("%", " %") in sgi("show", "last").out
    groups = sgi("show", "last", "--by", "method", "--json").json["groups"]
    for name, rows in metric["classes"].items():
        assert sum(group["metrics"][0]["classes"].get(name, 0) for group in groups) == rows
    assert "politeness by method" in sgi("show", "last", "--by", "method").out
    with open_database(tmp_path / "sgi.db") as database, database.writing() as connection:
        connection.exec_driver_sql("UPDATE runs SET summary = NULL, finished_at = NULL")
    (again,) = sgi("show", "last", "--json").json["summary"]["metrics"]
    assert again["classes"] == metric["classes"]
    assert all(f"{name} {rows}" in sgi("show", "last").out for name, rows in metric["classes"].items())


def test_verdicts_are_a_table_with_yes_and_no_first_and_no_cell_is_cut():
    result = lines(CLAIMS)
    head, first, second = result[-3:]
    assert head.split() == ["#", "supported", "claim", "reason", "passage"]
    assert first.split() == ["1", "yes", "Anke", "is", "a", "ferry.", "Stated.", "2"]
    assert second.split()[:2] == ["2", "no"]
    assert LONG in second
    assert second.endswith("–")


def test_a_narrow_table_is_folded_and_loses_nothing():
    narrow = lines(CLAIMS, width=80)
    assert max(map(len, narrow)) <= 80
    assert "".join(narrow).count("said,") == 200


def test_a_long_reason_is_wrapped_at_words_and_indented_below_its_key():
    wrapped = lines({"reasoning": LONG, "rating": 2}, width=80)
    (start,) = (number for number, line in enumerate(wrapped) if line.startswith("    reasoning: So it is"))
    assert max(map(len, wrapped)) <= 80
    assert wrapped[-1] == "    rating: 2"
    assert all(line.startswith("      ") for line in wrapped[start + 1 : -1])
    assert " ".join(line.strip() for line in wrapped[start:-1]) == f"reasoning: {LONG}"
    assert f"    reasoning: {LONG}" in lines({"reasoning": LONG})


def test_verdicts_are_numbered_by_their_index_and_flags_are_words():
    rows = [{"index": 2, "relevant": True, "n": 1}, {"index": 1, "relevant": False, "n": 0}]
    assert [line.split() for line in value_lines(rows, 80)] == [
        ["#", "relevant", "n"],
        ["2", "yes", "1"],
        ["1", "no", "0"],
    ]


def test_composites_are_nested():
    body = {"parts": {"faithfulness": CLAIMS, "none": [], "missing": None}, "yes": True, "n": 2**70}
    result = list(value_lines(body, 10_000))
    assert result[:3] == ["parts", "  faithfulness", "    claims"]
    assert result[6:] == ["  none", "    (none)", "  missing: –", "yes: yes", f"n: {2**70}"]


def test_what_texts_say_cannot_pose_as_a_line_of_ours():
    forged = "fine\nsquad_em: 1.0000\u2028run: another\r\x1b[2K\x9b1A"
    sample = Sample(
        id=forged, question=forged, contexts=[forged], response=forged, metadata={forged: [forged]}
    )
    score = MetricScore(
        None, Status.FAILED, forged, {forged: forged}, evidence={"a": [{forged: forged}], "b": [forged]}
    )
    found = StoredEvaluation("r:0", forged, 0, sample, forged, {"m": score})
    result = [line.plain for line in sample_lines(found, width=200)]
    ours = ("sample", "run", "metadata", "question", "passages", "response", "no response", "m", "", " ")
    assert all(
        line.partition(":")[0].startswith(ours) and not line.startswith("run: another") for line in result
    )
    assert not set("".join(result)) & set("\x1b\x9b\r\u2028\n")
    assert sample_facts(found)["sample"]["response"] == forged


def supported(**score):
    sample = Sample(id="q1", contexts=CONTEXTS, response=RESPONSE)
    result = MetricScore(0.01, **score)
    evaluation = StoredEvaluation("r:0", "nightly", 0, sample, "", {"grounding": result})
    return [line.plain for line in sample_lines(evaluation, width=120)]


def test_an_evidence_map_is_shown_as_a_map():
    result = supported(details=details())
    assert result[result.index("grounding: 0.0100") :][:5] == [
        "grounding: 0.0100",
        "  Sentence 1 of 3 is contradicted. Sentence 2 of 3 is unsupported.",
        "",
        "   1  0.11  It is [312 m] tall.",
        "            contradicted",
    ]
    assert "            ? name Spanish: in no passage" in result
    assert "  Passage 1 supports no sentence: Bananas are yellow." in result
    parts = "numbers -2.08, known +0.25"
    assert result[-1] == f"  contribution of each signal to the score, in log odds: {parts}"
    assert not any("details" in line or "log_odds" in line for line in result)


def test_details_beside_an_evidence_map_are_shown_too():
    result = supported(details=details() | {"threshold": 0.25, "verdict": "flagged"})
    assert "   1  0.11  It is [312 m] tall." in result
    assert result[-3:] == ["  details", "    threshold: 0.2500", "    verdict: flagged"]


def test_other_details_are_shown_as_stored():
    result = supported(details=details() | {"unused": "none"})
    assert "  details" in result
    assert "    unused: none" in result
    assert not any("is contradicted" in line for line in result)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=8), JSON, max_size=4), st.integers(1, 200))
def test_any_evidence_can_be_shown(body, width):
    result = lines(body, width=width, details=body)
    assert result[:2] == ["sample: q1", "run: nightly"]
    assert not any(set(line) & set("\n\r\x1b\x00\u202e") for line in result)
