"""Files of exports with given records, and what SGI reads from them."""

import json

from sgi.io import open_dataset

QUESTION = {"role": "user", "content": "Who?"}
REPLY = {"role": "assistant", "content": "She."}
COMPLETION = {"id": "c", "object": "chat.completion", "choices": [{"message": REPLY}]}


def write(folder, *records):
    path = folder / "export.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def read(data):
    rejected, use = [], []
    samples = list(open_dataset(data).samples(on_reject=rejected.append, on_columns=use.append))
    return samples, [str(row.error) for row in rejected], use[-1].line()


def rows(folder, prefix, *records):
    return read(f"{prefix}:{write(folder, *records)}")


def only(folder, prefix, *records):
    samples, rejected, _ = rows(folder, prefix, *records)
    assert not rejected
    (sample,) = samples
    return sample
