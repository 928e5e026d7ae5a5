"""Scores as a cluster does, but in this process; compares runs; finds the workers of a cluster."""

from pathlib import Path

import anyio
from typer.testing import CliRunner

from sgi.cli.main import app
from sgi.store import schema
from sgi_cluster.driver import plan_cluster_run, read_items, write_scores


def score_here(spec):
    """Do the work of a cluster in this process, and return the report."""
    run = anyio.run(plan_cluster_run, spec.model_copy(update={"cache": False}))
    try:
        return write_scores(run, map(run.worker.score, read_items(run.options)))
    finally:
        run.worker.close()


def sgi(*words, code=0):
    """Run the command, check its exit code, and return its output."""
    result = CliRunner().invoke(app, list(map(str, words)))
    assert result.exit_code == code, (result.output, result.exception)
    return result.stdout


def worker_processes(root):
    """The ids of descendant processes that hold a worker."""
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
    """The tables of `contents` without what differs between equal runs: names, times and settings."""
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
        found[table.name] = rows if table.name == "samples" else kept
    return found
