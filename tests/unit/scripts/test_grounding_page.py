from __future__ import annotations

import numpy as np
import pytest

from sgi.metrics.grounding.signals import Signals
from support.evidence_maps import SOLD, TALL, evidence_map, sentence
from support.kept_runs import rows, write_rows
from support.scripts import load_script


@pytest.fixture(scope="module")
def script():
    with load_script("grounding_page") as module:
        yield module


@pytest.fixture(scope="module")
def sets(script, tmp_path_factory):
    """A few rows under the names of the sets that the weights are learnt of, as the script scores them."""
    folder = tmp_path_factory.mktemp("sets")
    made = {}
    for number, name in enumerate(script.training.SETS, start=1):
        given = rows(20, answer="Item {k} has {k} old {topic}." + " It is so." * number)
        for one in given:
            one["metadata"]["spans"] = [] if one["label"] else [{"text": "a cat | two"}]
        made[name] = script.scored(write_rows(folder / f"{number}.jsonl", given))
    return made


def test_rows_are_scored_with_their_evidence(script, sets):
    one = next(iter(sets.values()))
    assert (len(one.samples), len(one.maps), one.rows.signals.shape) == (20, 20, (20, len(Signals._fields)))
    assert one.rows.true.tolist() == [sample.label for sample in one.samples]
    assert all(len(values) == 20 for values in one.others.values())
    assert one.scores.tolist() == [float(value) for value in one.scores]
    assert ((one.scores > 0) & (one.scores < 1)).all()


def test_cards_tell_every_score_on_every_set(script, sets):
    told = script.cards(sets).splitlines()
    assert len(told) == 2 + len(sets) * 6
    assert all(line.count("|") == 6 for line in told)
    assert sum("grounding, as committed: trained on this set" in line for line in told) == len(sets)
    assert sum("design chosen on this one" in line for line in told) == len(sets)
    unseen = {**sets, "Other": next(iter(sets.values()))}
    other = [line for line in script.cards(unseen).splitlines() if line.startswith("| Other")]
    assert len(other) == 5
    assert "grounding, not trained on this set" in other[0]


def test_the_score_is_held_against_a_constant_on_balanced_rows(script, sets):
    told = script.calibration(sets).splitlines()
    assert len(told) == 2 + len(sets)
    assert all(line.endswith("| 0.250 |") for line in told[2:])


def test_the_ablation_has_a_line_a_signal(script, sets):
    told = script.ablation(dict([*sets.items()][:2]))
    for signal in Signals._fields:
        assert f"{signal} alone" in told
        assert f"all but {signal}" in told


def test_answers_are_chosen_by_rule_and_the_same_again(script, sets):
    one = next(iter(sets.values()))
    found = list(script.chosen(one))
    assert found == list(script.chosen(one))
    assert len({one.samples[place].question for _, place in found}) == len(found) >= 4
    for kind, place in found:
        assert kind.startswith("supported") == one.samples[place].label
        assert (one.scores[place] >= 0.5) == kind.endswith(
            ("supported, high score", "a miss")
        ) or not one.samples[place].label


def test_examples_show_their_answer_and_what_people_marked(script, sets):
    told = script.examples(next(iter(sets.values())))
    assert told.startswith("## 1. Supported, high score\n\n`item-")
    assert "People marked: nothing." in told
    assert "People marked: “a cat \\| two”." in told


def test_a_sentence_has_its_unbacked_words_in_bold_and_the_facts_that_fail(script):
    tall, sold, opened = evidence_map().sentences
    assert script.bold(tall) == "It is **312 m** tall."
    assert list(script.sentence_lines(tall)) == [
        "- 0.11 · It is **312 m** tall.",
        "  - passage 3: The tower is 330 m tall.",
        "  - ✗ number 312 m: passage 3 has 330 m (other value)",
    ]
    assert list(script.sentence_lines(sold))[-1] == "  - ? name Spanish: in no passage"
    assert script.bold(opened) == opened.text
    assert list(script.sentence_lines(sentence(SOLD, score=None))) == [f"- – · {SOLD.strip()}"]


def test_similarity_is_the_mean_of_the_best(script):
    report = evidence_map(
        sentences=(sentence(TALL, similarity=(0.2, 0.6)), sentence(SOLD, similarity=(0.4, 0.1)))
    )
    assert script.similarity(report) == pytest.approx(0.5)
    assert script.similarities(report).splitlines()[-1] == "| 2 | 0.40 | 0.10 |"


def test_long_texts_are_cut_to_one_line(script):
    assert script.cut("a\n b") == "a b"
    assert script.cut("x" * 500) == "x" * script.QUOTED + "…"


def test_a_page_is_written_between_its_markers_and_nowhere_else(script):
    page = "a\n<!-- cards: begin -->\nold\n<!-- cards: end -->\nb"
    once = script.written(page, {"cards": r"new \1 \g<0>"})
    assert once == "a\n<!-- cards: begin -->\n\nnew \\1 \\g<0>\n\n<!-- cards: end -->\nb"
    assert script.written(once, {"cards": r"new \1 \g<0>"}) == once
    with pytest.raises(SystemExit, match="has no markers"):
        script.written(page, {"errors": "new"})


def test_the_page_has_all_markers_that_the_script_writes(script):
    page = script.PAGE.read_text(encoding="utf-8") + script.EXAMPLES_PAGE.read_text(encoding="utf-8")
    for name in ("check", "cards", "calibration", "ablation", "demands", "errors", "steadiness", "examples"):
        assert f"<!-- {name}: begin -->" in page
        assert f"<!-- {name}: end -->" in page


def test_areas_leave_out_rows_without_a_score(script, sets):
    one = next(iter(sets.values()))
    values = one.scores.copy()
    values[:5] = np.nan
    assert script.areas(one, values)[0] == "15"


def test_the_check_of_the_page_is_run_as_it_stands(script):
    page = '```console\n$ sgi check --q "Who?" --c "Ada came." \\\n            --r "Ben came."\nold\n```'
    made = script.checked(page)
    assert made.startswith(
        '```console\n$ sgi check --q "Who?" --c "Ada came." \\\n            --r "Ben came."\n'
    )
    assert "grounding score 0." in made
    assert "old" not in made
    assert made.endswith("\n```")
    with pytest.raises(SystemExit, match="shows no `sgi check`"):
        script.checked("nothing")


@pytest.mark.parametrize("words", [[], ["a", "b"], ["no/such/folder"]])
def test_without_a_folder_it_says_how_it_is_called(script, words):
    with pytest.raises(SystemExit, match=r"grounding_page\.py DATA_FOLDER"):
        script.main(words)
