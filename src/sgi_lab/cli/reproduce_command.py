"""``sgi reproduce``: reproduces the tables and figures of the SGI paper, with controls."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from sgi.cli import options
from sgi.cli.console import print_json, print_lines, print_message, progress
from sgi_lab.cli.study_output import make_folder

if TYPE_CHECKING:
    from sgi_lab.paper.findings import Finding


def _complete(incomplete: str) -> list[str]:
    from sgi_lab.paper import ALL, NAMES

    return [name for name in (*NAMES, ALL) if name.startswith(incomplete)]


Name = Annotated[
    str,
    typer.Argument(
        help="table1 … table5, figure2 … figure5, displacement, calibration, or all.",
        autocompletion=_complete,
        show_default=False,
    ),
]
Models = Annotated[
    str,
    typer.Option(
        help="Embedding models, separated by commas: minilm, mpnet, bge, e5, gte, a folder, or torch:NAME. "
        "Of several, those that are not on this machine are left out, with a warning."
    ),
]
Data = Annotated[
    list[str] | None,
    typer.Option(
        help="The file of HaluEval QA, a folder with the files of benchmarks, or BENCHMARK:PATH; "
        "repeatable. Default: the folder SGI_DATA_DIR, installed packages, the Hugging Face hub; for "
        "HaluEval QA otherwise the 250 items that come with SGI, with a warning."
    ),
]
Sample = Annotated[
    Literal["paper", "full", "matched"],
    typer.Option("--answers", help="Answers to use: as the paper selects them, all, or matched by length."),
]
Limit = Annotated[int | None, typer.Option(min=2, help="Use only the first LIMIT answers.")]
Seed = Annotated[int, typer.Option(min=0, help="Random seed.")]
Out = Annotated[Path, typer.Option("-o", "--out", help="Folder for tables and figures.")]


def reproduce(
    name: Name,
    models: Models = "minilm",
    data: Data = None,
    sample: Sample = "paper",
    limit: Limit = None,
    seed: Seed = 0,
    out: Out = Path("results"),
    cache: options.Cache = None,
    no_cache: options.NoCache = False,
    as_json: options.Json = False,
) -> None:
    """Reproduce the tables and figures of the SGI paper, with controls.

    Each experiment writes a page (NAME.md), numbers (NAME.json) and figures (PNG and SVG) to the folder of
    -o. Vectors are cached, so that a second run takes seconds.

    Examples:
      sgi reproduce table1 --data halueval_qa.jsonl
      sgi reproduce all --models minilm,mpnet --data data/ -o results
      sgi reproduce displacement --answers full --json
    """
    from sgi_lab.paper.reproduce import experiment_names, open_workbench, run_experiments

    names = experiment_names(name)
    make_folder(out)
    where = cache or not no_cache
    findings: list[Finding] = []
    with (
        progress(quiet=as_json and not sys.stderr.isatty()) as listener,
        open_workbench(
            models.split(","),
            data or [],
            sample=sample,
            limit=limit,
            seed=seed,
            cache=where,
            listener=listener,
            warn=lambda text: print_message(f"Warning: {text}"),
        ) as bench,
    ):
        for finding in run_experiments(names, bench):
            paths = finding.write(out)
            findings.append(finding)
            print_message(f"{finding.name}: {', '.join(path.name for path in paths)} in {out}")
    if as_json:
        print_json([finding.to_dict() for finding in findings])
    else:
        print_lines("\n".join(finding.markdown() for finding in findings).splitlines())
