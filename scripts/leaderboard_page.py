"""Compute the leaderboards of docs/results/leaderboard.md: four simple systems on GraphRAG-Bench, and EVOUNA.

python scripts/leaderboard_page.py DATA_FOLDER

Latencies are measured, so they differ a little each time. All other figures are equal for equal files.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from page_parts import replace_parts

import sgi
from sgi.engine.opened_models import shared_embedder
from sgi.io.dataset import open_dataset
from sgi.reporting.leaderboard_tables import overview_table, pareto_table, system_group_tables
from sgi.reporting.views.leaderboard import LeaderboardOptions, LeaderboardView, leaderboard_view
from sgi.store.open_runs import open_runs
from sgi.store.scored_runs import scored_run
from sgi_lab.metric_bench.passage_ranking import PassageRanking

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from sgi.kernel.sample import Sample

    System = Callable[[int], str]
    """Answers the question of this row."""

PAGE = Path(__file__).parents[1] / "docs" / "results" / "leaderboard.md"
METRICS = ("rouge_l", "semantic_similarity", "squad_token_f1")
FRONT = ("rouge_l_recall", "rouge_l_precision")
WITHIN = "question_type"


def simple_systems(samples: Sequence[Sample]) -> dict[str, System]:
    """Return the systems by name; none reads the gold answer of its own question.

    ``bm25``, ``vectors`` and ``random`` answer with the gold answer of another question: the most similar
    one by shared words, the most similar one by embedding, or any. ``question`` repeats the question.
    """
    questions = [sample.question for sample in samples]
    ranking = PassageRanking({str(row): question for row, question in enumerate(questions)})
    embedder = shared_embedder("minilm")
    vectors = embedder.embed(questions)
    draw = np.random.default_rng(0)

    def first_other(row: int, order: Iterable[int]) -> str:
        return next(samples[other].reference for other in order if questions[other] != questions[row])

    def similarity(row: int) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
        return vectors @ embedder.embed([questions[row]])[0]

    return {
        "bm25": lambda row: first_other(row, map(int, ranking.best(questions[row]))),
        "vectors": lambda row: first_other(row, np.argsort(-similarity(row), kind="stable").tolist()),
        "random": lambda row: first_other(row, draw.permutation(len(samples)).tolist()),
        "question": lambda row: questions[row],
    }


def write_answers(samples: Sequence[Sample], system: System, path: Path) -> None:
    """Write the answers of a system with their measured latency."""
    with path.open("w", encoding="utf-8") as file:
        for row, sample in enumerate(samples):
            start = time.perf_counter()
            response = system(row)
            fields = {
                "id": sample.id,
                "question": sample.question,
                "response": response,
                "reference": sample.reference,
                "latency_ms": (time.perf_counter() - start) * 1000,
                WITHIN: sample.metadata[WITHIN],
            }
            file.write(json.dumps(fields) + "\n")


def simple_board(
    samples: Sequence[Sample], systems: Mapping[str, System], folder: Path, metrics: Sequence[str]
) -> LeaderboardView:
    """Score the systems in a database in the folder, and rank them."""
    db = folder / "sgi.db"
    for name, system in systems.items():
        path = folder / f"{name}.jsonl"
        write_answers(samples, system, path)
        sgi.run(path, [*metrics, "latency"], db=db, name=name, cache=folder / "cache.db")
    options = LeaderboardOptions(within=WITHIN, metrics=tuple(metrics), pareto=(metrics[0], "latency"))
    with open_runs(db, *systems) as (database, records):
        runs = [scored_run(database, record) for record in records]
        return leaderboard_view(records, runs, options)


def evouna_parts(data: Path, folder: Path) -> Mapping[str, str]:
    """Score the answers of the systems of EVOUNA; return the parts of the page about them."""
    db = folder / "sgi.db"
    sgi.run(data / "evouna.jsonl", [*METRICS, *FRONT], db=db, name="evouna", cache=folder / "cache.db")
    ranking = LeaderboardOptions(by="model", metrics=METRICS)
    front = LeaderboardOptions(by="model", metrics=FRONT, pareto=FRONT)
    with open_runs(db, "evouna") as (database, records):
        runs = [scored_run(database, record) for record in records]
        board = leaderboard_view(records, runs, ranking).leaderboard
        pareto = leaderboard_view(records, runs, front).pareto
    if pareto is None:
        raise AssertionError
    return {"evouna": overview_table(board).markdown(), "evouna front": pareto_table(pareto).markdown()}


def simple_parts(view: LeaderboardView) -> Mapping[str, str]:
    """Return the parts of the page about the simple systems."""
    if view.groups is None or view.pareto is None:
        raise AssertionError
    return {
        "simple systems": overview_table(view.leaderboard).markdown(),
        "simple systems by type": next(system_group_tables(view.groups)).markdown(),
        "simple systems by cost": pareto_table(view.pareto).markdown(),
    }


def main(arguments: Sequence[str]) -> None:
    """Compute the tables, and write them into the page.

    Raises:
        SystemExit: the argument is not one folder.
    """
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        sys.exit("Give the folder with the data: python scripts/leaderboard_page.py DATA_FOLDER")
    data = Path(arguments[0])
    samples = list(open_dataset(data / "graphrag_bench.jsonl").samples())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parts = dict(simple_parts(simple_board(samples, simple_systems(samples), folder, METRICS)))
        parts |= evouna_parts(data, folder)
    PAGE.write_text(replace_parts(PAGE.read_text(encoding="utf-8"), parts), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
