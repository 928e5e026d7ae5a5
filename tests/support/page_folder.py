"""The folder in which a page runs: rows of the bundled sample, and what the page itself needs."""

import csv
import json
import tomllib
from importlib.resources import files
from pathlib import Path
from shutil import copy, copytree, ignore_patterns
from typing import Any

from support.pages import ROOT

SETTINGS = tomllib.loads((ROOT / "tests" / "e2e" / "pages.toml").read_text("utf-8"))
"""For each page, with the meaning of its keys in comments."""

_FILES = {"answers.jsonl": 24, "answers.csv": 24, "today.jsonl": 24, "labelled.jsonl": 40}


def settings_of(page: Path) -> dict[str, Any]:
    """Return the settings of a page."""
    return dict(SETTINGS.get(str(page.relative_to(ROOT)), {}))


def fill(settings: dict[str, Any], folder: Path) -> None:
    """Write the files of a page into its folder."""
    for source in settings.get("copies", []):
        _copy(ROOT / source, folder)
    for source in settings.get("checkout", []):
        place = folder / source if (ROOT / source).is_dir() else (folder / source).parent
        place.mkdir(parents=True)
        _copy(ROOT / source, place)
    columns = settings.get("columns", {})
    for name, count in (_FILES | settings.get("rows", {})).items():
        _write(folder / name, [row | _more(columns, number) for number, row in enumerate(rows(count))])
    for name, content in settings.get("files", {}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, "utf-8")


def _copy(source: Path, folder: Path) -> None:
    """Copy a file, or the content of a folder, into the folder."""
    if source.is_dir():
        copytree(source, folder, dirs_exist_ok=True, ignore=ignore_patterns("__pycache__"))
    else:
        copy(source, folder)


def rows(count: int) -> list[dict[str, Any]]:
    """Return rows of the sample, two answers to each question, with the columns that the pages use."""
    lines = (files("sgi") / "data" / "halueval_qa_sample.jsonl").read_text("utf-8").splitlines()
    result = []
    for number in range(count):
        item = json.loads(lines[number // 2])
        is_right = number % 2 == 0
        result.append(
            {
                "id": f"q{number + 1}",
                "question": item["question"],
                "contexts": [item["knowledge"]],
                "response": item["right_answer" if is_right else "hallucinated_answer"],
                "reference": item["right_answer"],
                "label": is_right,
                "human": is_right,
                "stars": 5 if is_right else 1 + number % 3,
                "model": "large" if is_right else "small",
                "method": "dense" if is_right else "bm25",
                "question_type": ("who", "when")[number // 2 % 2],
            }
        )
    return result


def _more(columns: dict[str, list[Any]], number: int) -> dict[str, Any]:
    """Return the values of further columns in a row; they repeat from row to row."""
    return {name: values[number % len(values)] for name, values in columns.items()}


def _write(path: Path, found: list[dict[str, Any]]) -> None:
    path.parent.mkdir(exist_ok=True)
    if path.suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(found[0]))
            writer.writeheader()
            writer.writerows(row | {"contexts": json.dumps(row["contexts"])} for row in found)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in found), encoding="utf-8")
