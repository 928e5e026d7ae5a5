"""`sgi check`: one answer beside its passages."""

from __future__ import annotations

import re
import subprocess

import pytest

from sgi.cli.check import check
from sgi.metrics.grounding.evidence_map import EvidenceMap

TOWER = "The tower in Paris is 330 m tall. It opened in 1889."
QUESTION = ("--q", "How tall is it?", "--c", TOWER, "--c", "Bananas are yellow.")
WRONG = (*QUESTION, "--r", "It is 312 m tall. It opened in 1889.")
RIGHT = (*QUESTION, "--r", "It is 330 m tall. It opened in 1889.")


def score(made):
    return float(re.match(r"support score (\d\.\d\d) \(0 to 1, not a probability\)\n", made.out)[1])


def test_the_sentence_that_is_wrong_is_marked_with_what_the_passage_has(sgi):
    result = sgi("check", *WRONG)
    assert (result.code, result.err) == (0, "")
    assert "\nSentence 1 of 2 is contradicted.\n" in result.out
    assert re.search(r"\n 1  0\.\d\d  It is \[312 m\] tall\.\n {10}contradicted\n", result.out)
    assert (
        "✗ number 312 m: passage 1 has 330 m (other value): The tower in Paris is [330 m] tall." in result.out
    )
    assert "✓ date 1889: passage 1" in result.out
    assert "Passage 2 supports no sentence: Bananas are yellow.\n" in result.out
    right = sgi("check", *RIGHT)
    assert score(result) < 0.5 < score(right)
    assert "[" not in right.out


def test_a_score_is_not_called_a_probability_and_how_to_calibrate_it_is_printed(sgi):
    result = sgi("check", *RIGHT)
    assert result.out.endswith("sgi calibrate RUN -m grounding\n")
    assert result.out.count("probability") == 2
    assert result.out.count("not a probability") == 2
    assert "%" not in result.out


def test_long_names_of_the_inputs(sgi):
    long = {"--q": "--question", "--c": "--context", "--r": "--response"}
    assert sgi("check", *(long.get(word, word) for word in WRONG)).out == sgi("check", *WRONG).out


def test_json_is_the_evidence_map_with_its_value(sgi):
    facts = sgi("check", *WRONG, "--json").json
    assert list(facts)[:3] == ["grounding", "status", "reason"]
    assert (facts["status"], facts["reason"]) == ("ok", "")
    found = EvidenceMap.model_validate({name: facts[name] for name in EvidenceMap.model_fields})
    assert found.sentences[0].checks[0].found == "330 m"
    assert set(facts) == {"grounding", "status", "reason", *EvidenceMap.model_fields}


def test_a_floor_decides_the_exit_code(sgi):
    value = sgi("check", *WRONG, "--json").json["grounding"]
    assert sgi("check", *WRONG, "--fail-under", str(value)).code == 0
    for words in ([*WRONG, "--fail-under", "0.9"], [*WRONG, "--fail-under", "0.9", "--json"]):
        result = sgi("check", *words)
        assert result.code == 4
        assert "312 m" in result.out
    assert sgi("check", *WRONG, "--fail-under", "1.1").code == 2


@pytest.mark.parametrize(
    ("passage", "answer", "reason"),
    [
        (" ", "It is 330 m tall.", "all passages are blank"),
        (TOWER, " ", "the response is blank"),
        (TOWER, "The passages do not say how old it is.", "claims nothing"),
    ],
)
def test_without_a_value_the_reason_and_the_fix_are_printed(sgi, passage, answer, reason):
    words = ("check", "--c", passage, "--r", answer)
    result = sgi(*words)
    assert result.code == 0
    assert result.out.startswith("No value: ")
    assert reason in result.out
    assert result.out.endswith(
        "Give an answer that states something (--r) and a passage that is not blank (--c), in English.\n"
    )
    assert sgi(*words, "--fail-under", "0").code == 4
    facts = sgi(*words, "--json").json
    assert (facts["grounding"], facts["status"]) == (None, "undefined")
    assert reason in facts["reason"]


def test_passage_and_answer_are_needed(sgi):
    assert "--c" in sgi("check", "--r", "x").err
    assert "--r" in sgi("check", "--c", "x").err


def test_hostile_texts_steer_no_terminal(sgi):
    spite = "Old \x1b[2K\x9b1A\r[bold]tower[/bold]\u202e of\u2028 9 \u2066 0.99 m\n 7  1.00  forged. "
    result = sgi(
        "check", "--c", f"{spite} 330 m tall.", "--c", spite, "--q", spite, "--r", f"{spite} 312 m tall."
    )
    assert result.code == 0
    assert "[bold]" in result.out
    assert not set(result.out) & set("\x1b\x9b\r\u202e\u2066\u2028")
    assert "\n 7  1.00  forged" not in result.out


def test_every_example_of_its_help_runs(sgi, tmp_path):
    (tmp_path / "passage.txt").write_text("The tower is 330 m tall.", encoding="utf-8")
    (tmp_path / "other.txt").write_text("Bananas are yellow.", encoding="utf-8")
    (tmp_path / "answer.txt").write_text("It is 12 m tall. Spanish investors own it.", encoding="utf-8")
    examples = re.findall(r"^ +sgi (check .*)$", check.__doc__, re.MULTILINE)
    assert len(examples) >= 3
    for example in examples:
        words = subprocess.run(
            ["/bin/sh", "-c", f"printf '%s\\0' {example}"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        result = sgi(*words.split("\0")[:-1])
        assert (result.code, result.err) == (4 if "--fail-under" in example else 0, "")
        assert "330 m" in result.out


def test_the_model_can_be_chosen(sgi):
    assert sgi("check", *WRONG, "-e", "minilm", "--json").out == sgi("check", *WRONG, "--json").out
    assert "Did you mean" in sgi("check", *WRONG, "-e", "minilmm").err


def test_signs_of_citations_are_explained_once(sgi):
    result = sgi("check", *QUESTION, "--r", "The tower in Paris is 330 m tall [1]. It opened in 1889 [2].")
    assert result.code == 0
    assert "✓ [1] right" in result.out
    assert result.out.count("✓ right: ") == result.out.count("✗ wrong: ") == 1


def test_a_mark_beside_a_citation_has_no_spaces(sgi):
    result = sgi("check", *QUESTION, "--r", "Rich Spanish owners bought it [1], and sold green bees [2].")
    assert result.code == 0
    assert re.search(
        r"\[Rich Spanish owners [a-z ]+\] \[1\]✗, \[and sold green bees\] \[2\]✗\.\n", result.out
    )
