"""Compute the numbers of docs/grounding.md and docs/results/grounding-examples.md.

The parts between markers in the pages are replaced. The sets are read from a folder. Of the sets that the
weights are not trained on, only the first rows are used. Equal files give equal pages.

    python scripts/grounding_page.py DATA_FOLDER
"""

from __future__ import annotations

import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grounding_demands as bench
import numpy as np
import train_grounding as training
from typer.testing import CliRunner

import sgi
from sgi.analysis.card.features import overlaps
from sgi.cli.main import app
from sgi.io.dataset import open_dataset
from sgi.kernel.signature import digest
from sgi.metrics.grounding.evidence_map import EvidenceMap
from sgi.metrics.grounding.model import sigmoid
from sgi.metrics.grounding.signals import Signals
from sgi.metrics.grounding.words import split_words
from sgi.reporting.markdown import escape
from sgi.reporting.table import Table
from sgi.stats.calibration import brier, expected_calibration_error
from sgi.stats.confounds import stratified_auroc
from sgi.stats.intervals import interval_or_none
from sgi.stats.means import mean_interval
from sgi.stats.ranking import ranking

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from sgi.kernel.sample import Sample
    from sgi.metrics.grounding.evidence_map import SentenceEvidence

    Floats = NDArray[np.float64]

PAGE = Path(__file__).parents[1] / "docs" / "grounding.md"
EXAMPLES_PAGE = PAGE.parent / "results" / "grounding-examples.md"
NEVER_TRAINED = {
    "HaluEval QA": "halueval_qa.jsonl",
    "HaluEval dialogue": "halueval_dialogue.jsonl",
    "SummEdits": "entailment/summedits.jsonl",
    "FoolMeTwice": "entailment/fool_me_twice.jsonl",
}
PART_OF = {"HaluEval QA": "HaluEval QA, equal lengths"}  # a training set that is a part of another set
MAX_ROWS = 1000
SHOWN = "RAGTruth QA"
LONGEST = 900  # characters of an answer that is shown
QUOTED = 180
HALF = 0.5
CHECK = re.compile(r"\$ (sgi check (?:.*\\\n)*.*)\n")


@dataclass(frozen=True, eq=False)
class Scored:
    """A set whose rows have labels and values.

    Attributes:
        samples: those with a label and a value of the detector.
        rows: their signals and labels, as the training takes them.
        scores: of the detector with the committed weights.
        maps: its evidence.
        others: further scores by name, higher for supported, NaN where there is none.
    """

    samples: tuple[Sample, ...]
    rows: training.Rows
    scores: Floats
    maps: tuple[EvidenceMap, ...]
    others: dict[str, Floats]


def scored(path: Path, *, most: int | None = None) -> Scored:
    """Score the labelled rows of a file, at most so many."""
    asked = [sample for sample in open_dataset(path).samples() if sample.label is not None]
    result = sgi.evaluate(asked[:most], ["grounding", "sgi"])
    found, geometric = result["grounding"], result["sgi"]
    known = np.flatnonzero(found.ok)
    samples = tuple(result.samples[place] for place in known)
    maps = tuple(EvidenceMap.model_validate(dict(found.details[place])) for place in known)
    return Scored(
        samples,
        rows_of(samples, maps),
        found.values[known],
        maps,
        {
            "sgi": np.where(geometric.ok, geometric.values, np.nan)[known],
            "token precision": overlaps(samples),
            "best-sentence similarity": np.array([similarity(one) for one in maps]),
            "length (shorter first)": np.array([-float(len(sample.response)) for sample in samples]),
        },
    )


def rows_of(samples: Sequence[Sample], maps: Sequence[EvidenceMap]) -> training.Rows:
    """The rows as the training takes them, of evidence that is there."""
    values = [[one.signals[name].value for name in Signals._fields] for one in maps]
    return training.Rows(
        np.array(values, dtype=np.float64),
        np.array([sample.label for sample in samples], dtype=np.bool_),
        np.array([len(sample.response) for sample in samples], dtype=np.float64),
        np.array([int(split_words(sample.response).content.sum()) for sample in samples]),
        np.array([sample.cluster(place) for place, sample in enumerate(samples)]),
        0,
    )


def similarity(evidence_map: EvidenceMap) -> float:
    """The mean over the response's sentences of the greatest cosine with a passage's sentence."""
    return float(np.mean([max(sentence.similarity) for sentence in evidence_map.sentences]))


def cards(sets: Mapping[str, Scored]) -> str:
    """AUROC of the detector and of its baselines, on every set."""
    rows = []
    for name, one in sets.items():
        scores = {"grounding, not trained on this set": one.scores}
        if held_out(name):
            scores = {
                "grounding, trained on the other sets; design chosen on this one": log_odds(sets, name),
                "grounding, as committed: trained on this set": one.scores,
            }
        rows += [(name, score, *areas(one, values)) for score, values in (scores | one.others).items()]
    return Table(("set", "score", "rows", "AUROC", "AUROC within lengths"), rows, left=("score",)).markdown()


def held_out(name: str) -> bool:
    """Whether the committed weights were trained on the set, or on a part of it."""
    return PART_OF.get(name, name) in training.SETS


def log_odds(sets: Mapping[str, Scored], name: str) -> Floats:
    """The detector's log odds on a set, with weights trained on the other sets."""
    trained = {other: found.rows for other, found in sets.items() if other in training.SETS}
    weights = training.left_out(trained, PART_OF.get(name, name))
    return weights.log_odds(sets[name].rows.signals)


def calibration(sets: Mapping[str, Scored]) -> str:
    """How far the score is from a probability on sets that its weights were not trained on.

    Rows are balanced, as many supported as not: a constant 0.5 then has a calibration error of 0 and a Brier
    score of 0.25.
    """
    rows = []
    for name, one in sets.items():
        even = training.balanced(one.rows)
        scores, true = sigmoid(log_odds(sets, name))[even], one.rows.true[even]
        error = expected_calibration_error(scores, true, binning="mass")
        interval = interval_or_none(
            mean_interval((scores - true) ** 2, one.rows.clusters[even], low=0.0, high=1.0)
        )
        score = brier(scores, true).score
        shown = "" if interval is None else f" [{interval.low:.3f}, {interval.high:.3f}]"
        rows.append((name, f"{len(even):,}", f"{error:.2f}", f"{score:.3f}{shown}", "0.250"))
    return Table(
        ("set", "rows", "calibration error", "Brier score", "Brier score of a constant 0.5"), rows
    ).markdown()


def areas(one: Scored, values: Floats) -> tuple[str, str, str]:
    """Over how many rows, how the score ranks them, and how within fifths of length."""
    kept = np.flatnonzero(np.isfinite(values))
    if not len(kept):  # sgi, where no row has a question
        return "0", "–", "–"
    true, clusters, length = one.rows.true[kept], one.rows.clusters[kept], one.rows.length[kept]
    edges = np.quantile(length, np.linspace(0, 1, training.STRATA + 1)[1:-1])
    inside = stratified_auroc(values[kept], true, np.digitize(length, edges), clusters)
    whole = ranking(values[kept], true, clusters)
    return f"{len(kept):,}", training.area(whole), training.area(inside.ranking if inside else None)


def ablation(sets: Mapping[str, Scored]) -> str:
    """What each signal ranks alone, and what the others rank without it, on every set."""
    trained = {name: one.rows for name, one in sets.items() if name in training.SETS}
    whole = [area_of(one, log_odds(sets, name)) for name, one in sets.items()]
    rows = [("all signals", *whole)]
    for signal in Signals._fields:
        only = [area_of(one, training.alone(one.rows, signal)) for one in sets.values()]
        rows.append((f"{signal} alone", *only))
    for signal in Signals._fields:
        fewer = {name: training.without(rows, signal) for name, rows in trained.items()}
        rest = [
            area_of(
                one,
                training.left_out(fewer, PART_OF.get(name, name)).log_odds(
                    training.without(one.rows, signal).signals
                ),
            )
            for name, one in sets.items()
        ]
        rows.append((f"all but {signal}", *rest))
    return Table(("AUROC", *sets), rows).markdown()


def area_of(one: Scored, scores: Floats) -> str:
    """A bare area, without an interval."""
    found = ranking(scores, one.rows.true, one.rows.clusters)
    return "–" if found is None else f"{found.auroc:.3f}"


def chosen(one: Scored) -> Iterator[tuple[str, int]]:
    """Ten answers by rule: four supported with a high score, one with a low score, and the reverse."""
    order = sorted(range(len(one.samples)), key=lambda place: digest(b"0", one.samples[place].id.encode()))
    taken: set[str] = set()
    kinds = (
        ("supported, high score", True, True, 4),
        ("supported, low score: a false alarm", True, False, 1),
        ("not supported, low score", False, False, 4),
        ("not supported, high score: a miss", False, True, 1),
    )
    for kind, label, high, most in kinds:
        found = 0
        for place in order:
            sample = one.samples[place]
            fits = sample.label == label and (one.scores[place] >= HALF) == high
            if found < most and fits and len(sample.response) <= LONGEST and sample.question not in taken:
                taken.add(sample.question)
                found += 1
                yield kind, place


def examples(one: Scored) -> str:
    """Ten answers with their evidence."""
    parts = [example(number, kind, one, place) for number, (kind, place) in enumerate(chosen(one), start=1)]
    return "\n\n".join(parts)


def example(number: int, kind: str, one: Scored, place: int) -> str:
    """An answer, sentence by sentence, beside what people marked in it."""
    sample, found = one.samples[place], one.maps[place]
    spans: Any = sample.metadata["spans"]
    marked = "; ".join(f"“{cut(span['text'])}”" for span in spans) or "nothing"
    lines = [
        f"## {number}. {kind[:1].upper()}{kind[1:]}",
        f"`{sample.id}`, score {one.scores[place]:.2f}. Question: *{escape(sample.question)}*",
        f"People marked: {escape(marked)}.",
        "\n".join(line for sentence in found.sentences for line in sentence_lines(sentence)),
        similarities(found),
    ]
    if found.unused:
        lines.append(f"Supports no sentence: passage {', '.join(str(place + 1) for place in found.unused)}.")
    return "\n\n".join(lines)


def sentence_lines(sentence: SentenceEvidence) -> Iterator[str]:
    """A sentence with what is unbacked in bold type, its passage, and the facts that fail."""
    score = "–" if sentence.score is None else f"{sentence.score:.2f}"
    yield f"- {score} · {bold(sentence)}"
    if sentence.score is not None:
        yield f"  - passage {sentence.passage + 1}: {escape(cut(sentence.beside))}"
    for check in sentence.checks:
        if check.verdict == "contradicted" and check.passage is not None:
            there = f"passage {check.passage + 1} has {cut(check.found)} ({check.how})"
            yield f"  - ✗ {check.kind} {escape(check.fact)}: {escape(there)}"
        elif check.verdict == "absent":
            yield f"  - ? {check.kind} {escape(check.fact)}: in no passage"


def bold(sentence: SentenceEvidence) -> str:
    """The sentence on one line, its unbacked stretches in bold type."""
    parts, at = [], 0
    for first, last in sentence.unbacked:
        start, end = first - sentence.start, last - sentence.start
        parts += [escape(sentence.text[at:start]), f"**{escape(sentence.text[start:end].strip())}**"]
        at = end
    return "".join([*parts, escape(sentence.text[at:])])


def cut(text: str) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= QUOTED else f"{line[:QUOTED].rstrip()}…"


def similarities(evidence_map: EvidenceMap) -> str:
    """Sentences beside passages: the greatest cosine with a sentence of each."""
    columns = ("sentence", *(f"passage {place + 1}" for place in evidence_map.passages))
    rows = [
        (str(number), *(f"{value:.2f}" for value in sentence.similarity))
        for number, sentence in enumerate(evidence_map.sentences, start=1)
    ]
    return Table(columns, rows).markdown()


def checked(page: str) -> str:
    """The first `sgi check` of the page, with what it prints.

    Raises:
        SystemExit: there is none.
    """
    shown = CHECK.search(page)
    if shown is None:
        sys.exit(f"{PAGE} shows no `sgi check`.")
    words = shlex.split(shown[1].replace("\\\n", " "))
    done = CliRunner().invoke(app, words[1:], catch_exceptions=False)
    return f"```console\n$ {shown[1]}\n{done.stdout.rstrip()}\n```"


def written(page: str, parts: Mapping[str, str]) -> str:
    """The page with the parts between their markers.

    Raises:
        SystemExit: a marker is not there.
    """
    for name, text in parts.items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
        if not pattern.search(page):
            sys.exit(f"The page has no markers {begin} and {end}.")
        block = f"{begin}\n\n{text}\n\n{end}"
        page = pattern.sub(lambda _, block=block: block, page)  # type: ignore[misc]  # bound at once
    return page


def main(words: Sequence[str]) -> None:
    """Compute all parts and write both pages.

    Raises:
        SystemExit: not one folder was named, or a marker is not there.
    """
    if len(words) != 1 or not Path(words[0]).is_dir():
        sys.exit("Name the folder that holds the sets: python scripts/grounding_page.py DATA_FOLDER")
    folder, page = Path(words[0]), PAGE.read_text(encoding="utf-8")
    sets = {name: scored(folder / file) for name, file in training.SETS.items()}
    sets |= {name: scored(folder / file, most=MAX_ROWS) for name, file in NEVER_TRAINED.items()}
    made = bench.benches(folder)
    parts = {
        "check": checked(page),
        "cards": cards(sets),
        "calibration": calibration(sets),
        "ablation": ablation(sets),
        "demands": bench.demands(made, folder),
        "errors": bench.errors_seen(made),
        "steadiness": bench.steadiness(made),
    }
    PAGE.write_text(written(page, parts), encoding="utf-8")
    shown = EXAMPLES_PAGE.read_text(encoding="utf-8")
    EXAMPLES_PAGE.write_text(written(shown, {"examples": examples(sets[SHOWN])}), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
