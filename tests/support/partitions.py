"""Reads folders of partitions, compares them with runs of one process, and finds cluster workers."""

from itertools import islice
from pathlib import Path

from typer.testing import CliRunner

from sgi.cli.main import app
from sgi.store import schema


def write_head(source, target, lines):
    """Write the first lines of a file to another file."""
    with source.open("rb") as stream:
        target.write_bytes(b"".join(islice(stream, lines)))
    return target


def partition_lines(folder, kind=""):
    """The lines of all partitions, sorted by file name."""
    files = sorted(folder.glob(f"part-??????{kind}.jsonl"))
    return b"".join(file.read_bytes() for file in files)


def manifest_files(folder):
    """Inode and modification time of each manifest by name; they change if a file is written again."""
    files = folder.glob("part-??????.json")
    return {file.name: (file.stat().st_ino, file.stat().st_mtime_ns) for file in files}


def sgi(*words, code=0):
    """Run the command, check its exit code, and return its output."""
    result = CliRunner().invoke(app, list(map(str, words)))
    assert result.exit_code == code, (result.output, result.exception)
    return result.stdout


def score_in_one_process(data, target, *words):
    """Score the data in one process; return the content of its output file."""
    sgi("run", data, "-o", target, "-q", "--no-store", *words)
    return target.read_bytes()


def scoring_advances(events):
    """The number of rows in each progress event of the scoring."""
    from sgi.engine.progress import Advanced, Started

    began = next(
        n for n, event in enumerate(events) if isinstance(event, Started) and event.stage == "scoring"
    )
    return [event.rows for event in events[began:] if isinstance(event, Advanced)]


def engine_processes(root):
    """The ids of descendant processes that hold an engine."""
    pids = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_bytes()
            if words.startswith(b"ray::MapWorker") and root in _ancestors(place):
                pids.append(int(place.name))
        except OSError:  # the process ended
            continue
    return sorted(pids)


def _ancestors(place):
    parents = []
    while place.name not in {"0", "1"}:
        parent = (place / "stat").read_text().rpartition(") ")[2].split()[1]
        parents.append(int(parent))
        place = place.with_name(parent)
    return parents


def comparable_tables(tables):
    """The tables of `contents` without what differs between equal runs: names, times, settings, batches."""
    ignored = {"id", "run", "name", "spec", "created_at", "finished_at", "attempt"}
    found = {}
    for name in tables:
        table = schema.metadata.tables[name]
        columns = [column.name for column in table.columns]
        if table.name == "run_metrics":
            columns = columns[1:]  # its number is left out by `contents`
        rows = [dict(zip(columns, row, strict=True)) for row in tables[table.name]]
        kept = [{name: value for name, value in row.items() if name not in ignored} for row in rows]
        if table.name in {"scores", "details", "evidence"}:
            kept = [row | {"metric": row["metric"][1:]} for row in kept]
        if table.name == "samples":
            kept = rows
        found[table.name] = kept
    del found["batches"]
    return found
