"""Folders of partitions, made in this process without a cluster."""

from __future__ import annotations

import json

from sgi.distributed.cluster import Cluster
from sgi.distributed.driver import _prepare_run, _summarise_folder, _Tally
from sgi.distributed.fragments import cut
from sgi.distributed.partition import partition_name
from sgi.distributed.scan import survey
from sgi.distributed.storage import Folder, sources
from sgi.distributed.worker import Task, Worker
from sgi.kernel.protocols import Usage


def write_data(path):
    """Nine rows that every kind of metric can score."""
    made = [
        {"question": f"Q {n}?", "contexts": [f"It is {n}."], "response": f"!{n}", "reference": f"It is {n}."}
        for n in range(9)
    ]
    path.write_text("\n".join(json.dumps(row) for row in made))
    return path


def by_hand(spec, place, size):
    """What a cluster does, in this process: the folder, with its run summed up."""
    folder = Folder(str(spec.out))
    (source,) = sources(str(spec.data))
    fragments = list(cut(source, size))
    found = [survey(fragment, spec.columns, skipping=False) for fragment in fragments]
    settings, kept = _prepare_run(spec, place, Cluster(2, 1.0), fragments, found, folder)
    kept.begin(folder)
    worker = Worker(settings)
    for n, (fragment, seen) in enumerate(zip(fragments, found, strict=True)):
        assert "manifest" in json.loads(worker.score(Task(n, partition_name(n), fragment, seen).to_json()))
    worker.close()
    done = kept.done(folder)
    tally = _Tally(settings.metrics, spec.max_failures)
    tally.add(done.values())
    used = sum((usage for part in done.values() for usage in part.used().values()), start=Usage())
    return folder, _summarise_folder(kept, settings, folder, tally.share, used)
