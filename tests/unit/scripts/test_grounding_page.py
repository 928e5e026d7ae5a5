from __future__ import annotations

import math
import re
from dataclasses import replace

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
    """Score a few rows under the names of the training sets."""
    folder = tmp_path_factory.mktemp("sets")
    scored_sets = {}
    for number, name in enumerate(script.training.SETS, start=1):
        samples = rows(20, answer="Item {k} has {k} old {topic}." + " It is so." * number)
        for one in samples:
            mark = {"text": "a cat | two", "start": 0, "end": 9}
            one["metadata"]["spans"] = [] if one["label"] else [mark]
        scored_sets[name] = script.score_set(write_rows(folder / f"{number}.jsonl", samples))
    return scored_sets


def part_of(page, name):
    """Return the cells of the table in a part of a page."""
    part = re.search(f"<!-- {name}: begin -->(.*?)<!-- {name}: end -->", page.read_text("utf-8"), re.DOTALL)[
        1
    ]
    rows = part.strip().splitlines()[2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def test_rows_are_scored_with_their_evidence(script, sets):
    one = next(iter(sets.values()))
    assert (len(one.samples), len(one.maps), one.rows.signals.shape) == (20, 20, (20, len(Signals._fields)))
    assert one.rows.true.tolist() == [sample.label for sample in one.samples]
    assert all(len(values) == 20 for values in one.others.values())
    assert one.scores.tolist() == [float(value) for value in one.scores]
    assert ((one.scores > 0) & (one.scores < 1)).all()


def test_cards_have_every_score_on_every_set(script, sets):
    lines = script.cards(sets).splitlines()
    assert len(lines) == 2 + len(sets) * 7
    assert all(line.count("|") == 6 for line in lines)
    assert sum("grounding, as committed: trained on this set" in line for line in lines) == len(sets)
    assert sum("design chosen on this one" in line for line in lines) == len(sets)
    unseen = {**sets, "Other": next(iter(sets.values()))}
    other = [line for line in script.cards(unseen).splitlines() if line.startswith("| Other")]
    assert len(other) == 6
    assert "grounding, not trained on this set" in other[0]


def test_the_calibration_is_compared_with_a_constant_on_balanced_rows(script, sets):
    lines = script.calibration(sets).splitlines()
    assert len(lines) == 2 + len(sets)
    assert all(line.endswith("| 0.250 |") for line in lines[2:])


def test_the_ablation_has_two_lines_per_signal(script, sets):
    table = script.ablation(dict([*sets.items()][:2]))
    for signal in Signals._fields:
        assert f"{signal} alone" in table
        assert f"all but {signal}" in table


def test_the_selection_of_examples_is_reproducible(script, sets):
    one = next(iter(sets.values()))
    selection = list(script.select_examples(one))
    assert selection == list(script.select_examples(one))
    assert len({one.samples[row].question for _, row in selection}) == len(selection) >= 4
    for kind, row in selection:
        assert kind.startswith("supported") == one.samples[row].label
        assert (one.scores[row] >= 0.5) == kind.endswith(
            ("supported, high score", "a miss")
        ) or not one.samples[row].label


def test_examples_show_the_answer_and_the_marked_parts(script, sets):
    text = script.examples(next(iter(sets.values())))
    assert text.startswith("## 1. Supported, high score\n\n`item-")
    assert "People marked: nothing." in text
    assert "People marked: “a cat \\| two”." in text


def test_a_sentence_shows_unsupported_words_in_bold_and_failed_facts(script):
    tall, sold, supported = evidence_map().sentences
    assert script.bold(tall) == "It is **312 m** tall."
    assert list(script.sentence_lines(tall)) == [
        "- 0.11 · It is **312 m** tall.",
        "  - passage 3: The tower is 330 m tall.",
        "  - ✗ number 312 m: passage 3 has 330 m (other value)",
    ]
    assert list(script.sentence_lines(sold))[-1] == "  - ? name Spanish: in no passage"
    assert script.bold(supported) == supported.text
    assert list(script.sentence_lines(sentence(SOLD, score=None))) == [f"- – · {SOLD.strip()}"]


def test_similarity_is_the_greatest_cosine_that_is_known(script):
    none, some = sentence(TALL, similarity=(None, None)), sentence(SOLD, similarity=(0.4, None))
    report = evidence_map(sentences=(none, some))
    assert script.similarity(report) == 0.4
    assert script.similarities(report).splitlines()[-1] == "| 2 | 0.40 | – |"
    assert math.isnan(script.similarity(evidence_map(sentences=(none,))))


def test_long_texts_are_truncated_to_one_line(script):
    assert script.quote("a\n b") == "a b"
    assert script.quote("x" * 500) == "x" * script.MAX_QUOTE + "…"


def test_only_the_text_between_markers_is_replaced(script):
    page = "a\n<!-- cards: begin -->\nold\n<!-- cards: end -->\nb"
    once = script.replace_parts(page, {"cards": r"new \1 \g<0>"})
    assert once == "a\n<!-- cards: begin -->\n\nnew \\1 \\g<0>\n\n<!-- cards: end -->\nb"
    assert script.replace_parts(once, {"cards": r"new \1 \g<0>"}) == once
    with pytest.raises(SystemExit, match="has no markers"):
        script.replace_parts(page, {"errors": "new"})


def test_the_pages_have_all_markers_that_the_script_writes(script, monkeypatch, tmp_path):
    pages = {}
    for name in ("PAGE", "RESULTS_PAGE", "EXAMPLES_PAGE"):
        text = getattr(script, name).read_text(encoding="utf-8")
        pages[name] = tmp_path / f"{name}.md"
        pages[name].write_text(text, encoding="utf-8")
        monkeypatch.setattr(script, name, pages[name])
    monkeypatch.setattr(script, "score_set", lambda *_, **__: None)
    for part in ("cards", "summary", "calibration", "sentence_verdicts", "ablation", "examples"):
        monkeypatch.setattr(script, part, lambda _, part=part: f"new {part}")
    for part in ("benches", "requirements_table", "errors_table", "stability_table"):
        monkeypatch.setattr(script.requirements, part, lambda *_, part=part: f"new {part}")
    script.main([str(tmp_path)])
    texts = {name: page.read_text(encoding="utf-8") for name, page in pages.items()}
    assert "<!-- summary: begin -->\n\nnew summary\n\n<!-- summary: end -->" in texts["PAGE"]
    assert [len(re.findall("\n\nnew ", text)) for text in texts.values()] == [1, 7, 1]


def test_the_summary_on_the_page_repeats_the_results(script):
    """The page shows the line of unseen weights, `sgi`, and the best of the other baselines."""
    lines = part_of(script.RESULTS_PAGE, "cards")
    for name, chosen, n, grounding, geometric, best in part_of(script.PAGE, "summary"):
        scores = {score: area for one, score, _, area, _ in lines if one == name}
        unseen = (
            "trained on the other sets; design chosen on this one"
            if chosen == "yes"
            else "not trained on this set"
        )
        baselines = {score: area for score, area in scores.items() if not score.startswith("grounding")}
        assert grounding == scores[f"grounding, {unseen}"]
        assert geometric == baselines.pop("sgi")
        assert best == max(
            (f"{score}: {area}" for score, area in baselines.items()), key=lambda one: one.split(": ")[1]
        )
        assert n in {rows for one, _, rows, *_ in lines if one == name}


def test_the_summary_has_the_best_baseline(script, sets):
    name, one = next(iter(sets.items()))
    perfect = np.where(one.rows.true, 1.0, 0.0)
    others = {"sgi": one.scores * np.nan, "worst": -perfect, "best": perfect}
    line = script.summary({**sets, name: replace(one, others=others)}).splitlines()[2]
    assert line.startswith(f"| {name} | yes | 20 | ")
    assert "| – | best: 1.000 [" in line


def test_areas_leave_out_rows_without_a_score(script, sets):
    one = next(iter(sets.values()))
    values = one.scores.copy()
    values[:5] = np.nan
    assert script.areas(one, values)[0] == "15"


def test_the_first_check_of_the_page_is_run(script):
    page = '```console\n$ sgi check --q "Who?" --c "Ada came." \\\n            --r "Ben came."\nold\n```'
    block = script.run_check(page)
    assert block.startswith(
        '```console\n$ sgi check --q "Who?" --c "Ada came." \\\n            --r "Ben came."\n'
    )
    assert "support score 0." in block
    assert "old" not in block
    assert block.endswith("\n```")
    with pytest.raises(SystemExit, match="has no `sgi check`"):
        script.run_check("nothing")


@pytest.mark.parametrize("arguments", [[], ["a", "b"], ["no/such/folder"]])
def test_without_a_folder_the_error_shows_the_usage(script, arguments):
    with pytest.raises(SystemExit, match=r"grounding_page\.py DATA_FOLDER"):
        script.main(arguments)
