"""Compute the numbers of docs/grounding.md, docs/results/grounding.md and docs/results/grounding-examples.md.

The script reads the sets from a folder, and replaces the parts between markers in the pages. It uses only the
first rows of sets that are not training sets. Equal files give equal pages.

    python scripts/grounding_page.py DATA_FOLDER
"""

from __future__ import annotations

import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grounding_requirements as requirements
import numpy as np
import train_grounding as training
from page_parts import replace_parts
from typer.testing import CliRunner

import sgi
from sgi.analysis.card.features import overlaps, precisions
from sgi.cli.main import app
from sgi.io.dataset import open_dataset
from sgi.kernel.signature import digest
from sgi.metrics.grounding.evidence_map import EvidenceMap
from sgi.metrics.grounding.model import sigmoid
from sgi.metrics.grounding.signals import Signals
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
RESULTS_PAGE = PAGE.parent / "results" / "grounding.md"
EXAMPLES_PAGE = PAGE.parent / "results" / "grounding-examples.md"
NEVER_TRAINED = {
    "HaluEval QA": "halueval_qa.jsonl",
    "HaluEval dialogue": "halueval_dialogue.jsonl",
    "SummEdits": "entailment/summedits.jsonl",
    "FoolMeTwice": "entailment/fool_me_twice.jsonl",
    "FEVER-Symmetric": "entailment/fever_symmetric.jsonl",
}
TRAINING_SUBSET = {
    "HaluEval QA": "HaluEval QA, equal lengths"
}  # set, and the training set that is a part of it
MAX_ROWS = 1000
EXAMPLE_SET = "RAGTruth QA"
MAX_ANSWER = 900  # characters of an example
MAX_QUOTE = 180
HALF = 0.5
CHECK = re.compile(r"\$ (sgi check (?:.*\\\n)*.*)\n")


@dataclass(frozen=True, eq=False)
class ScoredSet:
    """A set whose rows have labels and values.

    Attributes:
        samples: rows with a label and a value of the detector.
        rows: their signals and labels for the training.
        scores: scores of the detector with the committed weights.
        maps: evidence maps.
        others: other scores by name, higher for supported, NaN without a score.
    """

    samples: tuple[Sample, ...]
    rows: training.Rows
    scores: Floats
    maps: tuple[EvidenceMap, ...]
    others: dict[str, Floats]


def score_set(path: Path, *, limit: int | None = None) -> ScoredSet:
    """Score the labelled rows of a file, at most ``limit`` of them."""
    labelled = [sample for sample in open_dataset(path).samples() if sample.label is not None]
    result = sgi.evaluate(labelled[:limit], ["grounding", "sgi"])
    grounding, geometric = result["grounding"], result["sgi"]
    known = np.flatnonzero(grounding.ok)
    samples = tuple(result.samples[row] for row in known)
    maps = tuple(EvidenceMap.model_validate(dict(grounding.details[row])) for row in known)
    return ScoredSet(
        samples,
        training.rows_of(samples, maps),
        grounding.values[known],
        maps,
        {
            "sgi": np.where(geometric.ok, geometric.values, np.nan)[known],
            "content-word precision": precisions(samples),
            "overlap": overlaps(samples),
            "similarity of the sentences with least support": np.array([similarity(one) for one in maps]),
            "length (shorter first)": np.array([-float(len(sample.response)) for sample in samples]),
        },
    )


def similarity(evidence_map: EvidenceMap) -> float:
    """Return the greatest cosine of the compared sentence; NaN if none is compared."""
    cosines = [cosine for sentence in evidence_map.sentences for cosine in sentence.similarity]
    return max((cosine for cosine in cosines if cosine is not None), default=float("nan"))


def summary(sets: Mapping[str, ScoredSet]) -> str:
    """Return the AUROC of the detector on every set, with `sgi` and the best of the other baselines."""
    rows = []
    for name, one in sets.items():
        trained = is_training_set(name)
        n, grounding, _ = areas(one, log_odds(sets, name) if trained else one.scores)
        baselines = {score: areas(one, values)[1] for score, values in one.others.items()}
        geometric = baselines.pop("sgi")
        best = max(baselines, key=lambda score: baselines[score])  # all have three decimals
        rows.append((name, "yes" if trained else "no", n, grounding, geometric, f"{best}: {baselines[best]}"))
    columns = ("set", "design chosen on it", "rows", "grounding", "sgi", "best of the other baselines")
    return Table(columns, rows, left=("design chosen on it", "best of the other baselines")).markdown()


def cards(sets: Mapping[str, ScoredSet]) -> str:
    """Return the AUROC of the detector and of its baselines on every set."""
    rows = []
    for name, one in sets.items():
        scores = {"grounding, not trained on this set": one.scores}
        if is_training_set(name):
            scores = {
                "grounding, trained on the other sets; design chosen on this one": log_odds(sets, name),
                "grounding, as committed: trained on this set": one.scores,
            }
        rows += [(name, score, *areas(one, values)) for score, values in (scores | one.others).items()]
    return Table(("set", "score", "rows", "AUROC", "AUROC within lengths"), rows, left=("score",)).markdown()


def is_training_set(name: str) -> bool:
    """Return whether the committed weights were trained on the set, or on a part of it."""
    return TRAINING_SUBSET.get(name, name) in training.SETS


def log_odds(sets: Mapping[str, ScoredSet], name: str) -> Floats:
    """Return the log odds of a set, with weights trained on the other sets."""
    trained = {other: one.rows for other, one in sets.items() if other in training.SETS}
    weights = training.train_without(trained, TRAINING_SUBSET.get(name, name))
    return weights.log_odds(sets[name].rows.signals)


def calibration(sets: Mapping[str, ScoredSet]) -> str:
    """Return the calibration of the score on sets that its weights were not trained on.

    Half of the rows are supported, so a constant 0.5 has a calibration error of 0 and a Brier score of 0.25.
    """
    rows = []
    for name, one in sets.items():
        rows_used = training.balanced_rows(one.rows)
        scores, true = sigmoid(log_odds(sets, name))[rows_used], one.rows.true[rows_used]
        error = expected_calibration_error(scores, true, binning="mass")
        interval = interval_or_none(
            mean_interval((scores - true) ** 2, one.rows.clusters[rows_used], low=0.0, high=1.0)
        )
        score = brier(scores, true).score
        limits = "" if interval is None else f" [{interval.low:.3f}, {interval.high:.3f}]"
        rows.append((name, f"{len(rows_used):,}", f"{error:.2f}", f"{score:.3f}{limits}", "0.250"))
    return Table(
        ("set", "rows", "calibration error", "Brier score", "Brier score of a constant 0.5"), rows
    ).markdown()


def sentence_verdicts(sets: Mapping[str, ScoredSet]) -> str:
    """Return how often sentences get each verdict; weights and limits are trained without the set."""
    trained = {name: one.rows for name, one in sets.items() if name in training.SETS}
    rows = []
    for name, one in sets.items():
        others = [some for other, some in trained.items() if other != TRAINING_SUBSET.get(name, name)]
        weights = training.train(others)
        shares = training.verdict_shares(weights, training.choose_limits(weights, others), one.rows)
        for true, counts in shares.items():
            sentences = int((one.rows.sentences.true == true).sum())
            cells = [f"{counts[verdict]:.3f}" for verdict in training.VERDICTS]
            rows.append((name, "supported" if true else "not supported", f"{sentences:,}", *cells))
    return Table(("set", "label", "sentences", *training.VERDICTS), rows, left=("label",)).markdown()


def areas(one: ScoredSet, values: Floats) -> tuple[str, str, str]:
    """Format the number of rows, the AUROC, and the AUROC within strata of length."""
    finite = np.flatnonzero(np.isfinite(values))
    if not len(finite):  # sgi on a set without questions
        return "0", "–", "–"
    true, clusters, length = one.rows.true[finite], one.rows.clusters[finite], one.rows.length[finite]
    edges = np.quantile(length, np.linspace(0, 1, training.STRATA + 1)[1:-1])
    within = stratified_auroc(values[finite], true, np.digitize(length, edges), clusters)
    whole = ranking(values[finite], true, clusters)
    return (
        f"{len(finite):,}",
        training.format_auroc(whole),
        training.format_auroc(within.ranking if within else None),
    )


def ablation(sets: Mapping[str, ScoredSet]) -> str:
    """Return the AUROC of each signal alone, and of the detector without it, on every set."""
    trained = {name: one.rows for name, one in sets.items() if name in training.SETS}
    whole = [auroc_of(one, log_odds(sets, name)) for name, one in sets.items()]
    rows = [("all signals", *whole)]
    for signal in Signals._fields:
        only = [auroc_of(one, training.signal_alone(one.rows, signal)) for one in sets.values()]
        rows.append((f"{signal} alone", *only))
    for signal in Signals._fields:
        fewer = {name: training.without_signal(rows, signal) for name, rows in trained.items()}
        rest = [
            auroc_of(
                one,
                training.train_without(fewer, TRAINING_SUBSET.get(name, name)).log_odds(
                    training.without_signal(one.rows, signal).signals
                ),
            )
            for name, one in sets.items()
        ]
        rows.append((f"all but {signal}", *rest))
    return Table(("AUROC", *sets), rows).markdown()


def auroc_of(one: ScoredSet, scores: Floats) -> str:
    """Format the AUROC without its interval."""
    result = ranking(scores, one.rows.true, one.rows.clusters)
    return "–" if result is None else f"{result.auroc:.3f}"


def select_examples(one: ScoredSet) -> Iterator[tuple[str, int]]:
    """Select ten answers: four supported ones with a high score, one with a low score, and the reverse."""
    order = sorted(range(len(one.samples)), key=lambda row: digest(b"0", one.samples[row].id.encode()))
    questions: set[str] = set()
    kinds = (
        ("supported, high score", True, True, 4),
        ("supported, low score: a false alarm", True, False, 1),
        ("not supported, low score", False, False, 4),
        ("not supported, high score: a miss", False, True, 1),
    )
    for kind, label, high, limit in kinds:
        count = 0
        for row in order:
            sample = one.samples[row]
            fits = sample.label == label and (one.scores[row] >= HALF) == high
            if (
                count < limit
                and fits
                and len(sample.response) <= MAX_ANSWER
                and sample.question not in questions
            ):
                questions.add(sample.question)
                count += 1
                yield kind, row


def examples(one: ScoredSet) -> str:
    """Return ten answers with their evidence."""
    parts = [
        example(number, kind, one, row) for number, (kind, row) in enumerate(select_examples(one), start=1)
    ]
    return "\n\n".join(parts)


def example(number: int, kind: str, one: ScoredSet, row: int) -> str:
    """Return an answer with its sentences, and the parts that people marked."""
    sample, evidence = one.samples[row], one.maps[row]
    spans: Any = sample.metadata["spans"]
    marked = "; ".join(f"“{quote(span['text'])}”" for span in spans) or "nothing"
    lines = [
        f"## {number}. {kind[:1].upper()}{kind[1:]}",
        f"`{sample.id}`, score {one.scores[row]:.2f}. Question: *{escape(sample.question)}*",
        f"People marked: {escape(marked)}.",
        "\n".join(line for sentence in evidence.sentences for line in sentence_lines(sentence)),
        similarities(evidence),
    ]
    if evidence.unused:
        lines.append(
            f"Supports no sentence: passage {', '.join(str(passage + 1) for passage in evidence.unused)}."
        )
    return "\n\n".join(lines)


def sentence_lines(sentence: SentenceEvidence) -> Iterator[str]:
    """Yield the lines of a sentence: its text, its passage, and the facts that fail."""
    score = "–" if sentence.score is None else f"{sentence.score:.2f}"
    yield f"- {score} · {bold(sentence)}"
    if sentence.score is not None:
        yield f"  - passage {sentence.passage + 1}: {escape(quote(sentence.beside))}"
    for check in sentence.checks:
        if check.verdict == "contradicted" and check.passage is not None:
            reason = f"passage {check.passage + 1} has {quote(check.found)} ({check.how})"
            yield f"  - ✗ {check.kind} {escape(check.fact)}: {escape(reason)}"
        elif check.verdict == "absent":
            yield f"  - ? {check.kind} {escape(check.fact)}: in no passage"


def bold(sentence: SentenceEvidence) -> str:
    """Return the sentence with its unsupported stretches in bold type."""
    parts, position = [], 0
    for first, last in sentence.unbacked:
        start, end = first - sentence.start, last - sentence.start
        parts += [escape(sentence.text[position:start]), f"**{escape(sentence.text[start:end].strip())}**"]
        position = end
    return "".join([*parts, escape(sentence.text[position:])])


def quote(text: str) -> str:
    """Return the start of a text on one line."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_QUOTE else f"{line[:MAX_QUOTE].rstrip()}…"


def similarities(evidence_map: EvidenceMap) -> str:
    """Return the similarities that are known, of sentences to passages."""
    columns = ("sentence", *(f"passage {passage + 1}" for passage in evidence_map.passages))
    rows = [
        (str(number), *("–" if value is None else f"{value:.2f}" for value in sentence.similarity))
        for number, sentence in enumerate(evidence_map.sentences, start=1)
    ]
    return Table(columns, rows).markdown()


def run_check(page: str) -> str:
    """Run the first `sgi check` of the page; return the command and its output.

    Raises:
        SystemExit: the page has no `sgi check`.
    """
    match = CHECK.search(page)
    if match is None:
        sys.exit(f"{PAGE} has no `sgi check`.")
    arguments = shlex.split(match[1].replace("\\\n", " "))
    result = CliRunner().invoke(app, arguments[1:], catch_exceptions=False)
    return f"```console\n$ {match[1]}\n{result.stdout.rstrip()}\n```"


def main(arguments: Sequence[str]) -> None:
    """Compute all parts and write the pages.

    Raises:
        SystemExit: the argument is not one folder, or a marker is missing.
    """
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        sys.exit("Give the folder with the sets: python scripts/grounding_page.py DATA_FOLDER")
    folder = Path(arguments[0])
    sets = {name: score_set(folder / file) for name, file in training.SETS.items()}
    sets |= {name: score_set(folder / file, limit=MAX_ROWS) for name, file in NEVER_TRAINED.items()}
    benches = requirements.benches(folder)
    results = {
        "cards": cards(sets),
        "calibration": calibration(sets),
        "sentences": sentence_verdicts(sets),
        "ablation": ablation(sets),
        "requirements": requirements.requirements_table(benches, folder),
        "errors": requirements.errors_table(benches),
        "stability": requirements.stability_table(benches),
    }
    pages = {
        PAGE: {"check": run_check(PAGE.read_text(encoding="utf-8")), "summary": summary(sets)},
        RESULTS_PAGE: results,
        EXAMPLES_PAGE: {"examples": examples(sets[EXAMPLE_SET])},
    }
    for page, parts in pages.items():
        page.write_text(replace_parts(page.read_text(encoding="utf-8"), parts), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
