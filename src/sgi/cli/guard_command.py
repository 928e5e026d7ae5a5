"""``sgi guard fit``: fits a guard on good answers; it blocks answers that passages do not support."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sgi.cli import options
from sgi.cli.console import one_line, print_json, print_lines, print_notes, progress
from sgi.cli.run_options import Values, with_run_options
from sgi.kernel.errors import UsageError
from sgi.kernel.short_text import pluralize
from sgi.reporting.formatting import number as number_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.service.guard_file import FittedGuard

_OTHER_FILE = "Name another file with --out."
_NAMED = 3
"""How many answers without a score are named."""

Good = Annotated[
    Path,
    typer.Argument(help="Good answers: question, contexts, response. Rows with the label 0 or no are bad."),
]
Rate = Annotated[float, typer.Option(help="Largest share of good answers that may be blocked.")]
Bad = Annotated[Path | None, typer.Option(help="Bad answers, to measure how many of them are blocked.")]
BadShare = Annotated[
    float,
    typer.Option(
        help="Largest share of bad answers that you expect in traffic. With clearly more of them, the guard "
        "withdraws its promise: traffic no longer looks like the good answers.",
    ),
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Exit with 2, and write no file, if the promise is above the rate.")
]
Out = Annotated[Path, options.output_option("-o", "--out", help="File for the guard.")]


@with_run_options("columns", "encoding")
def fit(
    values: Values,
    good: Good,
    max_false_alarms: Rate = 0.05,
    bad: Bad = None,
    bad_share: BadShare = 0.1,
    strict: Strict = False,
    out: Out = Path("guard.json"),
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Fit a guard on good answers. It blocks answers that their passages do not support.

    The guard promises a rate: with 95 % confidence over the draw of your good answers, it blocks at most this
    share of good answers, one answer to each of new questions like these. 59 questions promise 5 %. With
    fewer, the command says which rate it can promise; it needs at least ten. No bad answers are needed. If
    you have some, it also says which share of them is blocked.

    Use the file in Python: sgi.Guard("guard.json").check(question, contexts, response).

    Examples:
      sgi guard fit good.jsonl -o guard.json
      sgi guard fit good.jsonl --max-false-alarms 0.1 --bad bad.jsonl
      sgi guard fit labelled.csv --map response=answer --strict
    """
    from sgi.io.write import check_place, write_whole
    from sgi.service.guard_file import fit_guard

    check_place(out)
    for data in (good, bad):
        if data is not None and out.exists() and data.exists() and out.samefile(data):
            raise UsageError(
                f"The guard would overwrite the answers in {one_line(str(data))}.", hint=_OTHER_FILE
            )
    with progress(quiet=quiet) as listener:
        fitted = fit_guard(
            good, bad, max_false_alarms=max_false_alarms, bad_share=bad_share, listener=listener, **values
        )
    if strict and fitted.shortfall:
        raise UsageError(f"{fitted.shortfall}.", hint="Give more good answers, or omit --strict.")
    write_whole(out, fitted.file.to_json().encode())
    if as_json:
        left_out = [each._asdict() for each in fitted.left_out]
        facts = {"file": str(out), "shortfall": fitted.shortfall, "left_out_answers": left_out}
        print_json(fitted.file.model_dump(mode="json") | facts)
    else:
        print_lines(_summary(fitted, out))
    if not quiet:
        print_notes(_notes(fitted), longest=1000)


def _summary(fitted: FittedGuard, out: Path) -> Iterator[str]:
    file = fitted.file
    yield f"{one_line(str(out))}: blocks answers with a score below {number_text(file.limit)}"
    confidence = f"{100 * file.confidence:g} % confidence; {pluralize(file.questions, 'question')}"
    rate = f"at most {100 * file.promise:.1f} % of good answers like these are blocked"
    yield f"promise     {rate} ({confidence})"
    if file.caught is None:
        yield "catches     unknown (give labelled bad answers with --bad)"
        return
    caught = file.caught
    interval = f"95 % interval {100 * caught.low:.1f} to {100 * caught.high:.1f} %"
    yield (
        f"catches     {100 * caught.value:.1f} % of bad answers like these "
        f"({interval}; {pluralize(caught.questions, 'question')})"
    )


def _notes(fitted: FittedGuard) -> Iterator[str]:
    file = fitted.file
    if fitted.shortfall:
        yield f"{fitted.shortfall}."
    if file.answers > file.questions + file.left_out:
        yield (
            f"{file.answers:,} good answers, one to each question was used: answers to the same question are "
            "similar."
        )
    if fitted.left_out:
        named = "; ".join(f"{each.id!r}: {each.reason}" for each in fitted.left_out[:_NAMED])
        more = "" if len(fitted.left_out) <= _NAMED else f"; and {len(fitted.left_out) - _NAMED:,} more"
        count = pluralize(len(fitted.left_out), "answer")
        yield f"{count} without a score left out: {named}{more}. `on_error` decides on such answers."
    if file.caught is not None and file.caught.low <= file.promise:
        yield "It may be useless: perhaps it blocks no larger share of bad answers than of good ones."
