"""``sgi demo``: scores a bundled sample, and says what the scores show."""

from __future__ import annotations

import textwrap
from importlib.resources import as_file, files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sgi.cli import options
from sgi.cli.console import plain, print_json, print_message, progress
from sgi.cli.report_command import report

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sgi.engine.run import Run

_TITLE = "HaluEval QA, the bundled sample"
_ITEMS = 250
"""The number of questions of the bundled sample."""
_WIDTH = 80
_METRIC = "grounding"


def demo(
    out: Annotated[
        Path,
        typer.Option(
            "-o",
            "--out",
            help="File for the scores; the run (.db) and its report (.html) are written beside it.",
        ),
    ] = Path("sgi-demo.jsonl"),
    data: Annotated[
        Path | None,
        typer.Option("--data", help="Write only the answers to this .csv or .jsonl file, to try `sgi run`."),
    ] = None,
    questions: Annotated[
        int, typer.Option(min=2, max=_ITEMS, help="Number of questions; each has two answers.")
    ] = 30,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Score a bundled sample of answers, offline, and write a report.

    The sample is from HaluEval QA (MIT licence): each question has a right and an invented answer. You need
    no network, no key and no account.

    Examples:
      sgi demo
      sgi demo --questions 250
      sgi demo --data answers.csv
    """
    from sgi.api_analysis import run
    from sgi.io.write import open_writer

    rows = _sample(questions)
    if data is not None:
        with open_writer(data) as writer:
            writer.write(rows)
        if not quiet:
            print_message(f"Wrote {data}: {len(rows)} answers with labels. Next: sgi run {data}")
        return
    database = str(out.with_suffix(".db"))
    with TemporaryDirectory() as folder:
        source = Path(folder, "halueval_qa_sample.jsonl")
        with open_writer(source) as writer:
            writer.write(rows)
        with progress(quiet=True) as listener:
            scored = run(source, out=out, inputs=True, db=database, listener=listener)
    report([scored.record.id], out=out.with_suffix(".html"), title=_TITLE, db=database, quiet=True)
    facts = _facts(scored, rows)
    if as_json:
        places = {"output": str(out), "report": str(out.with_suffix(".html")), "database": database}
        print_json(facts | places)
    elif not quiet:
        typer.echo(plain("\n".join(_screen(facts, out))))


def _sample(questions: int) -> list[dict[str, Any]]:
    """Return the first questions of the sample, each as two rows: the right answer, then the invented one."""
    from sgi.io.halueval_qa import load_halueval_qa

    with as_file(files("sgi") / "data" / "halueval_qa_sample.jsonl") as sample:
        cases = load_halueval_qa(2 * questions, path=sample)
    return [
        {
            "id": f"q{number // 2 + 1}-{'right' if case.is_grounded else 'invented'}",
            "question": case.question,
            "contexts": [case.context.strip()],
            "response": case.response,
            "reference": cases[number // 2 * 2].response,
            "label": int(case.is_grounded),
        }
        for number, case in enumerate(cases)
    ]


def _facts(scored: Run, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what the scores show: how many pairs are in the right order, and an invented number."""
    values = scored[_METRIC].values
    right, invented = rows[::2], rows[1::2]
    longer = [len(b["response"]) > len(a["response"]) for a, b in zip(right, invented, strict=True)]
    return {
        "run": scored.record.id,
        "rows": len(rows),
        "questions": len(right),
        "lower_grounding": int((values[1::2] < values[::2]).sum()),
        "longer": sum(longer),
        "example": _example(scored, rows),
    }


def _example(scored: Run, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return the answer with the lowest score that has a number or date which its passage does not have."""
    from sgi.metrics.grounding.evidence_map import EvidenceMap
    from sgi.reporting.views.evidence_checks import fact_reason

    scores = scored[_METRIC]
    for place in scores.values.argsort().tolist():
        evidence = EvidenceMap.read(scores.details[place])
        checks = () if evidence is None else [c for one in evidence.sentences for c in one.checks]
        for check in checks:
            if check.kind in {"number", "date"} and check.verdict == "absent":
                finding = f"{check.kind} {check.fact}: {fact_reason(check)}"
                return {**rows[place], _METRIC: float(scores.values[place]), "finding": finding}
    return None


def _screen(facts: Mapping[str, Any], out: Path) -> Iterator[str]:
    """Yield the lines of the first screen."""
    count, lower, longer = facts["questions"], facts["lower_grounding"], facts["longer"]
    yield from _wrapped(
        f"SGI scored {facts['rows']} answers of HaluEval QA (MIT licence): {count} questions, each with a "
        "right and an invented answer. It used no network, no judge and no labels."
    )
    if example := facts["example"]:
        yield from ("", f"{example['id']}: {_METRIC} {example[_METRIC]:.2f} on a scale from 0 to 1")
        texts = {"Question": example["question"], "Passage": example["contexts"][0]}
        texts |= {"Answer": example["response"], "Finding": example["finding"]}
        for name, text in texts.items():
            yield from _wrapped(text, f"  {name:<10}")
    yield ""
    yield from _wrapped(
        f"{_METRIC} is lower for the invented answer than for the right one in {lower} of {count} questions."
    )
    longest = f"the invented answer is the longer one in {longer} of {count}."
    if longer >= lower:
        yield from _wrapped(
            f"Length alone does at least as well: {longest} {_METRIC} was "
            "also trained on pairs of this data set. The sample shows how SGI works, not how good it is."
        )
    else:
        yield from _wrapped(f"Length alone does less well: {longest}")
    yield ""
    yield f"Report       {out.with_suffix('.html')}"
    yield f"All answers  sgi show last --db {out.with_suffix('.db')}"
    yield "Next         sgi demo --data answers.csv, then sgi run answers.csv"


def _wrapped(text: str, head: str = "") -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=head, subsequent_indent=" " * len(head))
