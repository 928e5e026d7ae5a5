"""`sgi check`: one answer beside its passages."""

from __future__ import annotations

import re

from sgi.metrics.grounding.evidence_map import EvidenceMap

TOWER = "The tower in Paris is 330 m tall. It opened in 1889."
QUESTION = ("--q", "How tall is it?", "--c", TOWER, "--c", "Bananas are yellow.")
WRONG = (*QUESTION, "--r", "It is 312 m tall. It opened in 1889.")


def test_json_is_the_evidence_map_with_its_value(sgi):
    facts = sgi("check", *WRONG, "--json").json
    assert list(facts)[:3] == ["grounding", "status", "reason"]
    assert (facts["status"], facts["reason"]) == ("ok", "")
    found = EvidenceMap.model_validate({name: facts[name] for name in EvidenceMap.model_fields})
    assert found.sentences[0].checks[0].found == "330 m"
    assert set(facts) == {"grounding", "status", "reason", *EvidenceMap.model_fields}


def test_the_model_can_be_chosen(sgi):
    assert sgi("check", *WRONG, "-m", "sgi", "-e", "minilm").code == 0
    assert "Did you mean" in sgi("check", *WRONG, "-m", "sgi", "-e", "minilmm").err


def test_a_mark_beside_a_citation_has_no_spaces(sgi):
    result = sgi("check", *QUESTION, "--r", "Rich Spanish owners bought it [1], and sold green bees [2].")
    assert result.code == 0
    assert re.search(
        r"\[Rich Spanish owners [a-z ]+\] \[1\]✗, \[and sold green bees\] \[2\]✗\.\n", result.out
    )
