"""``sgi quiz``: makes questions with right answers from documents."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sgi.cli.console import print_lines, print_message
from sgi.kernel.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi_quiz.build import Quiz
    from sgi_quiz.document_files import Documents

Paths = Annotated[
    list[Path],
    typer.Argument(
        metavar="DOCUMENTS...", help="Folders and files: .md, .html, .txt, .pdf, or .jsonl with passages."
    ),
]
Number = Annotated[int, typer.Option("-n", "--number", min=1, max=2000, help="Number of questions.")]
Out = Annotated[Path, typer.Option("-o", "--out", help="File for the questions: .jsonl, .csv or .parquet.")]
Seed = Annotated[int, typer.Option(help="Random seed; the same seed and documents give the same questions.")]
Encoding = Annotated[
    str | None, typer.Option(help="Encoding of the files that do not declare one; utf-8 if left out.")
]

INCOMPLETE = 3
"""The exit code if a file was skipped."""


def quiz(documents: Paths, out: Out, number: Number = 100, seed: Seed = 0, encoding: Encoding = None) -> None:
    """Make questions with right answers from your documents, to test a RAG system with.

    Each row has the question, the reference, the gold passages, whether the documents answer it, and why the
    row exists. No model is called. Exits with 3 if a file was skipped.

    Examples:
      sgi quiz docs/ -o quiz.jsonl
      sgi quiz docs/ handbook.pdf -n 300 --seed 1 -o quiz.jsonl
      sgi run quiz.jsonl --target http://localhost:8000/ask
    """
    from sgi.io.text_file import checked_encoding
    from sgi.io.write import check_target, open_writer
    from sgi_quiz.build import build_quiz
    from sgi_quiz.document_files import Documents
    from sgi_quiz.parsing import parser

    check_target(out)
    parser()
    found = Documents.find(documents, checked_encoding(encoding))
    if not found.files and not found.skipped:
        raise UsageError(
            f"{', '.join(map(str, documents))}: no documents found.",
            hint="It can be Markdown, HTML, text, PDF, or JSON Lines with a text in each row.",
        )
    made = build_quiz(found, number, seed)
    for name, reason in sorted(found.skipped.items()):
        print_message(f"skipped {name}: {reason}")
    if not made.questions:
        raise DataError(f"no question could be made of {made.passages:,} passages")
    with open_writer(out) as writer:
        writer.write([question.row() for question in made.questions])
    print_lines(_summary(made, found, number, out))
    if found.skipped:
        raise typer.Exit(INCOMPLETE)


def _summary(made: Quiz, documents: Documents, number: int, out: Path) -> Sequence[str]:
    kinds = Counter(question.kind for question in made.questions)
    files = sum(name not in documents.skipped for _, name in documents.files)
    lines = [f"{len(made.questions):,} questions from {made.passages:,} passages of {files:,} files: {out}"]
    lines += [
        f"  {count:>5}  {kind}" for kind, count in sorted(kinds.items(), key=lambda pair: (-pair[1], pair[0]))
    ]
    if len(made.questions) < number:
        lines.append(f"You asked for {number:,}: the documents give no more questions that pass all checks.")
    if documents.skipped:
        lines.append(
            f"The quiz is incomplete: {len(documents.skipped):,} files were skipped (exit code {INCOMPLETE})."
        )
    return lines
