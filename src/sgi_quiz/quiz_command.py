"""``sgi quiz``: makes questions with right answers from documents."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sgi.cli import options
from sgi.cli.console import one_line, print_json, print_lines, print_message, progress
from sgi.cli.run_options import Values, with_run_options
from sgi.kernel.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sgi.engine.run_options import RunOptions
    from sgi_quiz.document_files import Documents
    from sgi_quiz.judge_check import CheckedRows
    from sgi_quiz.quiz_update import UpdatedQuiz
    from sgi_quiz.review_file import QuizRow, QuizRows

Paths = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="DOCUMENTS", help="Folders and files: .md, .html, .txt, .pdf, or .jsonl with passages."
    ),
]
Number = Annotated[int, typer.Option("-n", "--number", min=1, max=2000, help="Number of questions.")]
Out = Annotated[
    Path | None, typer.Option("-o", "--out", help="File for the questions: .jsonl, .csv or .parquet.")
]
Seed = Annotated[int, typer.Option(help="Random seed; the same seed and documents give the same questions.")]
Encoding = Annotated[
    str | None, typer.Option(help="Encoding of the files that do not declare one; utf-8 if left out.")
]
Reviewed = Annotated[
    Path | None,
    typer.Option(
        "--review", help="Quiz to review: keep, drop or edit each question. DOCUMENTS are not read."
    ),
]
Update = Annotated[
    bool, typer.Option("--update", help="Make the quiz in -o again, and keep what a person decided.")
]
AsJson = options.Json

INCOMPLETE = 3
"""The exit code if a file was skipped, or if a question was not checked by the judge."""


@with_run_options("judge", "cache")
def quiz(
    documents: Paths = None,
    out: Out = None,
    number: Number = 100,
    seed: Seed = 0,
    encoding: Encoding = None,
    *,
    values: Values,
    update: Update = False,
    review: Reviewed = None,
    as_json: AsJson = False,
) -> None:
    """Make questions with right answers from your documents, to test a RAG system with.

    Each row has the question, the reference, the gold passages, whether the documents answer it, and why the
    row exists. No model is called without --judge. Exits with 3 if a file was skipped.

    --judge sends each question with its passages to a model, which writes it in other words and checks it.
    Unclear questions are left out. A question without a usable reply stays as it is, and the exit code is 3.

    --review shows one question after the other, and stores your decision at each key. With --update, a row
    that you kept is marked as stale if its passage is no longer in the documents.

    Examples:
      sgi quiz docs/ -o quiz.jsonl
      sgi quiz docs/ handbook.pdf -n 300 --seed 1 -o quiz.jsonl
      sgi quiz --review quiz.jsonl
      sgi serve --quiz quiz.jsonl
      sgi quiz docs/ -o quiz.jsonl --update
      sgi quiz docs/ -o quiz.jsonl --judge openai:gpt-4o-mini --max-cost 1
      sgi run quiz.jsonl --target http://localhost:8000/ask
    """
    if review is not None:
        if documents or out or update or "judge" in values:
            raise UsageError("--review takes no documents, no -o, no --update and no --judge.")
        _review(review, as_json=as_json)
        return
    if not documents or out is None:
        missing = "-o" if documents else "DOCUMENTS"
        raise UsageError(f"{missing} is required.", hint="Example: `sgi quiz docs/ -o quiz.jsonl`.")
    judge = _judge_options(values)
    _make(documents, out, number, seed, encoding, judge, update=update, as_json=as_json)


def _judge_options(values: Values) -> RunOptions | None:
    """Return the options of the judge; None without one."""
    if "judge" not in values:
        return None
    from sgi.engine.open_resources import given_options

    if "model" not in values["judge"]:
        raise UsageError("Options of the judge are set, but no judge: --judge is required.")
    return given_options(values, source="the command line")


def _review(path: Path, *, as_json: bool) -> None:
    from sgi_quiz.review_file import read_quiz
    from sgi_quiz.terminal_review import review_quiz

    if as_json:
        quiz = read_quiz(path)
        print_json({"questions": quiz.number, **quiz.counts()})
    else:
        review_quiz(path)


def _make(
    paths: Sequence[Path],
    out: Path,
    number: int,
    seed: int,
    encoding: str | None,
    judge: RunOptions | None,
    *,
    update: bool,
    as_json: bool,
) -> None:
    from sgi.io.text_file import checked_encoding
    from sgi.io.write import check_target, open_writer
    from sgi_quiz.build import build_quiz
    from sgi_quiz.document_files import Documents
    from sgi_quiz.parsing import parser
    from sgi_quiz.quiz_update import update_quiz
    from sgi_quiz.review_file import QuizRow

    check_target(out)
    dropped = len(_old_rows(out, update=update).dropped)
    parser()
    found = Documents.find(paths, checked_encoding(encoding))
    if not found.files and not found.skipped:
        raise UsageError(
            f"{', '.join(map(str, paths))}: no documents found.",
            hint="It can be Markdown, HTML, text, PDF, or JSON Lines with a text in each row.",
        )
    made = build_quiz(found, number + dropped, seed)
    for name, reason in sorted(found.skipped.items()):
        print_message(f"skipped {name}: {reason}")
    if not made.questions:
        raise DataError(f"no question could be made of {made.passages:,} passages")
    rows = [
        _with_skipped(QuizRow.model_validate(question.row()), found.skipped) for question in made.questions
    ]
    checked = None
    if judge is not None:
        checked = _check(update_quiz(_old_rows(out, update=update), rows, found, number).rows, judge)
        rows = checked.rows
    old = _old_rows(out, update=update)  # again: somebody may have reviewed it meanwhile
    updated = update_quiz(old, rows, found, number)
    if not updated.rows:
        raise DataError("the judge left out all questions")
    with open_writer(out) as writer:
        writer.write([row.model_dump(exclude_unset=True) for row in updated.rows])
    result = _Result(out, number, made.passages, found, updated, len(old.dropped), checked)
    if as_json:
        print_json(result.facts())
    else:
        print_lines(result.lines())
    if found.skipped or (checked is not None and checked.unchecked):
        raise typer.Exit(INCOMPLETE)


def _check(rows: Sequence[QuizRow], judge: RunOptions) -> CheckedRows:
    from sgi_quiz.judge_check import check_rows

    with progress(quiet=False) as listener:
        return check_rows(rows, judge, listener)


def _old_rows(out: Path, *, update: bool) -> QuizRows:
    """Return the rows of an earlier quiz. Raises UsageError if decisions of a person would be lost."""
    from sgi_quiz.review_file import QuizRows, dropped_path, read_quiz

    if not update and out.suffix.casefold() != ".jsonl":
        return QuizRows([], [])
    if not out.exists() and not dropped_path(out).exists():
        return QuizRows([], [])
    old = read_quiz(out)
    decisions = len(old.decided) + len(old.dropped)
    if decisions and not update:
        hint = "Add --update to keep them, or name another file with -o."
        raise UsageError(f"{out} has {decisions:,} decisions of a review.", hint=hint)
    return old


def _with_skipped(row: QuizRow, skipped: Mapping[str, str]) -> QuizRow:
    """Say in an unanswerable row that some files were not searched for an answer."""
    if row.gold_passages or not skipped:
        return row
    return row.model_copy(update={"why": f"{row.why} Not searched: {', '.join(sorted(skipped))}."})


@dataclass
class _Result:
    """What was made, to be printed."""

    out: Path
    asked: int
    passages: int
    documents: Documents
    quiz: UpdatedQuiz
    dropped: int
    checked: CheckedRows | None

    def facts(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        skipped = self.documents.skipped
        reviews = Counter(row.review for row in self.quiz.rows)
        return {
            "out": str(self.out),
            "questions": len(self.quiz.rows),
            "passages": self.passages,
            "files": sum(name not in skipped for _, name in self.documents.files),
            "kinds": dict(
                sorted(
                    Counter(row.kind for row in self.quiz.rows).items(), key=lambda pair: (-pair[1], pair[0])
                )
            ),
            "skipped": skipped,
            "kept": reviews["kept"],
            "edited": reviews["edited"],
            "dropped": self.dropped,
            "stale": [
                {"id": row.id, "question": row.question, "reason": row.stale_reason}
                for row in self.quiz.stale
            ],
            "unchecked": self.quiz.unchecked,
        } | ({} if self.checked is None else {"judge": self.checked.facts()})

    def lines(self) -> Iterator[str]:
        """Yield the lines of the result."""
        facts = self.facts()
        made = f"{facts['questions']:,} questions from {self.passages:,} passages"
        yield f"{made} of {facts['files']:,} files: {self.out}"
        for kind, count in facts["kinds"].items():
            yield f"  {count:>5}  {kind}"
        if facts["kept"] or facts["edited"] or self.dropped:
            decided = ", ".join(f"{facts[name]:,} {name}" for name in ("kept", "edited", "dropped"))
            yield f"Your decisions are as they were: {decided}."
        for row in self.quiz.stale:
            yield one_line(f"stale {row.id}: {row.stale_reason}: {row.question}", longest=200)
        if self.quiz.stale:
            yield f"Review the stale questions: sgi quiz --review {self.out}"
        if self.quiz.unchecked:
            yield (
                f"{self.quiz.unchecked:,} kept questions are unanswerable; it was not checked whether the "
                "documents answer them now."
            )
        left_out = 0
        if self.checked is not None:
            left_out = self.checked.left_out.total()
            yield from self.checked.lines()
        if facts["questions"] + left_out < self.asked:
            yield f"You asked for {self.asked:,}: the documents give no more questions that pass all checks."
        if facts["skipped"]:
            skipped = len(facts["skipped"])
            yield f"The quiz is incomplete: {skipped:,} files were skipped (exit code {INCOMPLETE})."
