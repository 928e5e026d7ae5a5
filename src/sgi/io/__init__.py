"""Data in and out: files, streams and frames become samples, result rows become files.

`open_dataset` opens any data as a `Dataset`, `stream_rows` reads JSON lines as they arrive, `open_writer`
writes rows atomically, and `load_halueval_qa` gives HaluEval's questions as plain cases. Errors name file,
line, id and field of a bad row.
"""

from sgi.io.dataset import DataLike, open_dataset
from sgi.io.halueval_qa import Case, load_halueval_qa
from sgi.io.jsonl import stream_rows
from sgi.io.readers import Dataset
from sgi.io.rows import RejectedRow
from sgi.io.write import RowWriter, open_writer

__all__ = [
    "Case",
    "DataLike",
    "Dataset",
    "RejectedRow",
    "RowWriter",
    "load_halueval_qa",
    "open_dataset",
    "open_writer",
    "stream_rows",
]
