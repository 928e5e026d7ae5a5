"""Runs over partitions: what they hold, beside a run of one process; and the workers of a cluster."""

from itertools import islice
from pathlib import Path

from typer.testing import CliRunner

from sgi.cli.main import app
from sgi.store import schema


def write_head(source, target, lines):
    """A file with the first lines of another."""
    with source.open("rb") as stream:
        target.write_bytes(b"".join(islice(stream, lines)))
    return target


def partition_lines(folder, kind=""):
    """The lines of all partitions, in the order of their names."""
    files = sorted(folder.glob(f"part-??????{kind}.jsonl"))
    return b"".join(file.read_bytes() for file in files)


def manifest_files(folder):
    """The manifests there are, by name, with what tells a file that was written again."""
    files = folder.glob("part-??????.json")
    return {file.name: (file.stat().st_ino, file.stat().st_mtime_ns) for file in files}


def sgi(*words, code=0):
    """What the command prints; it must end with this code."""
    done = CliRunner().invoke(app, list(map(str, words)))
    assert done.exit_code == code, (done.output, done.exception)
    return done.stdout


def score_in_one_process(data, target, *words):
    """The rows that one process writes."""
    sgi("run", data, "-o", target, "-q", "--no-store", *words)
    return target.read_bytes()


def scoring_advances(events):
    """How many rows each event of the scoring told."""
    from sgi.engine.progress import Advanced, Started

    began = next(
        n for n, event in enumerate(events) if isinstance(event, Started) and event.stage == "scoring"
    )
    return [event.rows for event in events[began:] if isinstance(event, Advanced)]


def engine_processes(root):
    """The processes below this one that hold an engine, by their ids."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_bytes()
            if words.startswith(b"ray::MapWorker") and root in _ancestors(place):
                found.append(int(place.name))
        except OSError:  # it has ended meanwhile
            continue
    return sorted(found)


def _ancestors(place):
    parents = []
    while place.name not in {"0", "1"}:
        parent = (place / "stat").read_text().rpartition(") ")[2].split()[1]
        parents.append(int(parent))
        place = place.with_name(parent)
    return parents


def comparable_tables(tables):
    """What `contents` found, without what names a run, tells its time or place, or how its data was cut."""
    passed_over = {"id", "run", "name", "spec", "created_at", "finished_at", "attempt"}
    found = {}
    for name in tables:
        table = schema.metadata.tables[name]
        columns = [column.name for column in table.columns]
        if table.name == "run_metrics":
            columns = columns[1:]  # its number is left out by `contents`
        rows = [dict(zip(columns, row, strict=True)) for row in tables[table.name]]
        kept = [{name: value for name, value in row.items() if name not in passed_over} for row in rows]
        if table.name in {"scores", "details", "evidence"}:
            kept = [row | {"metric": row["metric"][1:]} for row in kept]
        if table.name == "samples":
            kept = rows
        found[table.name] = kept
    del found["batches"]
    return found
