"""Judge 20 real answers with a local model: run, show the evidence, and rescore without a call."""

from __future__ import annotations

import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

from local_model import local_model

METRICS = (
    "faithfulness",
    "context_precision",
    "context_recall",
    "answer_relevance",
    "ragas_score",
    "factual_accuracy",
    "answer_classification",
    "answer_relevance_rated",
    "context_relevance",
    "groundedness",
    "llm_judged_overall",
)
ITEMS = 10  # the shortest items; each has a right and a hallucinated answer


def main() -> None:
    """Start the model and run the commands."""
    with TemporaryDirectory() as folder, local_model() as address:
        rows = Path(folder) / "answers.jsonl"
        sample = files("sgi") / "data" / "halueval_qa_sample.jsonl"
        shortest = sorted(sample.read_text(encoding="utf-8").splitlines(keepends=True), key=len)[:ITEMS]
        rows.write_text("".join(shortest), encoding="utf-8")
        database = f"{folder}/sgi.db"
        judge = ["--judge", f"openai:smollm2@{address}", "--judge-set", "max_tokens=100"]
        lenient = ["--max-failures", "100%"]  # this small model fails often
        metrics = [argument for name in METRICS for argument in ("-m", name)]
        sgi("run", str(rows), *metrics, "--dry-run", *judge)
        sgi("run", str(rows), *metrics, *judge, "--judge-concurrency", "4", *lenient, "--db", database)
        sgi("show", "last", "--sample", "answers-1-hallucinated", "--db", database)
        sgi("judge", "rescore", "last", "-m", 'context_precision(weighting="rank")', "--db", database)


def sgi(*arguments: str) -> None:
    """Print a command and run it."""
    print(f"\n$ sgi {' '.join(arguments)}", flush=True)
    process = subprocess.run([sys.executable, "-m", "sgi", *arguments], check=False)  # noqa: S603 - our own command
    if process.returncode not in {0, 3}:  # 3: finished with failed rows
        raise SystemExit(process.returncode)


if __name__ == "__main__":
    main()
