"""Labels the rows of the last run by their column `label`, as two people do, who disagree on one row."""

from __future__ import annotations

from sgi.kernel.human_labels import HumanLabel, text_version
from sgi.store.database import open_database
from sgi.store.evaluations import sample_evaluation
from sgi.store.human_labels import labelled_rows, store_label
from sgi.store.run_queries import find_run

with open_database("sgi.db") as database:
    record = find_run(database, "last")
    for name in labelled_rows(database, record).ids:
        sample = sample_evaluation(database, record, name).sample
        for author in ("ann", "bob"):
            value = sample.label == 1 or (author, name) == ("bob", "q2")
            label = HumanLabel(name, text_version(sample), author, value)
            store_label(database, record.dataset_name, label)
