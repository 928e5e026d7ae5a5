"""Writes folders of partitions in this process, without a cluster."""

from __future__ import annotations

import json

from sgi.distributed.cluster import Cluster
from sgi.distributed.driver import _FailureRate, _prepare_run, _summarise_folder
from sgi.distributed.fragments import split_file
from sgi.distributed.partition import partition_name
from sgi.distributed.scan import scan_fragment
from sgi.distributed.storage import Folder, find_sources
from sgi.distributed.worker import Task, Worker
from sgi.kernel.protocols import Usage


def write_data(path):
    """Write nine rows that every kind of metric can score."""
    rows = [
        {"question": f"Q {n}?", "contexts": [f"It is {n}."], "response": f"!{n}", "reference": f"It is {n}."}
        for n in range(9)
    ]
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return path


def score_partitions(spec, place, size):
    """Do the work of a cluster in this process; return the folder and the summary of the run."""
    folder = Folder(str(spec.out))
    (source,) = find_sources(str(spec.data))
    fragments = list(split_file(source, size))
    found = [scan_fragment(fragment, spec.columns, skipping=False) for fragment in fragments]
    settings, run_manifest = _prepare_run(spec, place, Cluster(2, 1.0), fragments, found, folder)
    run_manifest.begin(folder)
    worker = Worker(settings)
    for n, (fragment, seen) in enumerate(zip(fragments, found, strict=True)):
        assert "manifest" in json.loads(worker.score(Task(n, partition_name(n), fragment, seen).to_json()))
    worker.close()
    done = run_manifest.complete_partitions(folder)
    failure_rate = _FailureRate(settings.metrics, spec.max_failures)
    failure_rate.add(done.values())
    used = sum((usage for part in done.values() for usage in part.used().values()), start=Usage())
    return folder, _summarise_folder(run_manifest, settings, folder, failure_rate.share, used)
