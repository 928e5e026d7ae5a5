import io
import json
from itertools import count

import numpy as np
import pandas as pd
import pytest

from sgi.io.column_use import ColumnUse
from sgi.io.dataset import open_dataset
from sgi.io.empty_columns import NullColumns, look_ahead
from sgi.io.jsonl import stream_rows
from sgi.io.raw_rows import RawRow
from sgi.kernel.errors import DataError
from sgi.kernel.sample import Sample

BOTH = {"question": "q", "context": ["ideal"], "retrieval_context": ["found"], "response": "r"}


def raw(*rows):
    return (RawRow(line, row) for line, row in enumerate(rows, 1))


def read(data, **options):
    used = []
    samples = list(open_dataset(data, **options).samples(on_columns=used.append))
    return samples, used[-1] if used else None


def saved(rows, folder, kind):
    """The rows in a format, as their owners write them."""
    frame = pd.DataFrame(rows)
    path = folder / f"rows.{kind}"
    match kind:
        case "csv" | "tsv":
            frame.to_csv(path, sep="\t" if kind == "tsv" else ",")
        case "numpy in csv":
            path = folder / "rows.csv"
            lists = {name: frame[name].map(np.array) for name in frame if isinstance(frame[name][0], list)}
            frame.assign(**lists).to_csv(path, index=False)
        case "parquet":
            frame.to_parquet(path)
        case "json":
            path.write_text(json.dumps(rows))
        case "jsonl":
            path.write_text("\n".join(map(json.dumps, rows)))
        case "pandas":
            return frame
        case "polars":
            return pytest.importorskip("polars").DataFrame(rows)
        case "arrow":
            return pytest.importorskip("pyarrow").Table.from_pylist(rows)
        case "objects":
            return rows
    return path


FORMATS = ["csv", "tsv", "numpy in csv", "parquet", "json", "jsonl", "pandas", "polars", "arrow", "objects"]


@pytest.mark.parametrize("kind", FORMATS)
def test_the_retrieved_passages_are_preferred(tmp_path, kind):
    samples, use = read(saved([BOTH, BOTH], tmp_path, kind))

    assert [sample.contexts for sample in samples] == [("found",)] * 2
    assert use.fields["contexts"] == ("retrieval_context",)
    assert use.not_used["context"] == "contexts ← retrieval_context"


@pytest.mark.parametrize("kind", FORMATS)
def test_a_column_that_is_null_in_every_row_is_passed_over(tmp_path, kind):
    samples, use = read(saved([BOTH | {"retrieval_context": None}] * 2, tmp_path, kind))

    assert [sample.contexts for sample in samples] == [("ideal",)] * 2
    assert use.fields["contexts"] == ("context",)
    assert use.not_used["retrieval_context"] == "null in every row"


@pytest.mark.parametrize("kind", FORMATS)
def test_a_null_in_a_column_that_has_values_stays_a_null(tmp_path, kind):
    rows = [BOTH | {"retrieval_context": None}, BOTH, BOTH | {"retrieval_context": None}]

    samples, use = read(saved(rows, tmp_path, kind))

    assert [sample.contexts for sample in samples] == [(), ("found",), ()]
    assert use.fields["contexts"] == ("retrieval_context",)


def test_a_column_of_nulls_alone_stays_the_field():
    (sample,), use = read([{"response": "r", "contexts": None}])

    assert sample.contexts == ()
    assert use.fields["contexts"] == ("contexts",)


def test_a_mapped_column_is_taken_whatever_it_holds():
    (sample,), use = read([BOTH | {"retrieval_context": None}], columns={"contexts": "retrieval_context"})

    assert "contexts" not in sample.model_fields_set
    assert use.not_used == {}
    assert use.metadata == ("context",)


def test_one_row_is_enough_where_every_preferred_column_has_a_value():
    drawn = []
    rows = (drawn.append(n) or RawRow(n, BOTH) for n in count(1))

    look_ahead(rows, ())

    assert drawn == [1]


def test_samples_are_not_read_ahead():
    drawn = []
    rows = (drawn.append(n) or RawRow(n, Sample(id=str(n))) for n in count(1))

    look_ahead(rows, ())

    assert drawn == [1]


def test_no_more_rows_are_read_ahead_than_the_limit():
    drawn = []
    rows = (drawn.append(n) or RawRow(n, BOTH | {"retrieval_context": None}) for n in count(1))

    again, null = look_ahead(rows, (), limit=5)

    assert drawn == [1, 2, 3, 4, 5]
    assert null == NullColumns(frozenset({"retrieval_context"}), 5)
    assert [next(again).line for _ in range(7)] == [1, 2, 3, 4, 5, 6, 7]


def test_rows_that_cannot_be_read_say_nothing():
    rows = raw(DataError("no JSON"), {"response": None, "answer": "a"}, {"response": "r", "answer": "a"})

    again, null = look_ahead(rows, ())

    assert null.columns == frozenset()
    assert len(list(again)) == 3


def test_a_value_after_the_limit_is_refused_and_names_the_column():
    lines = [json.dumps(BOTH | {"retrieval_context": None})] * 3 + [json.dumps(BOTH)]
    samples = stream_rows(io.BytesIO("\n".join(lines).encode()), name="stdin", ahead=2)

    assert [next(samples).contexts for _ in range(3)] == [("ideal",)] * 3
    with pytest.raises(DataError, match="retrieval_context"):
        next(samples)


def test_rows_with_other_columns_are_reported_together():
    _, use = read([{"query": "q", "answer": "a", "n": 1}, {"input": "q", "output": "a", "m": 2}])

    assert use == ColumnUse(
        {"question": ("query", "input"), "response": ("answer", "output")}, metadata=("n", "m")
    )
    assert use.line() == "Columns: question ← query, input; response ← answer, output. In the metadata: n, m."


def test_hostile_columns_do_not_grow_the_report():
    rows = [{"response": "r", f"column {n}": n} for n in range(500)]

    _, use = read(rows)

    assert len(use.metadata) == 50
    assert use.line().endswith("and 44 more.")
    assert len(use.line()) < 400


def test_both_answers_of_a_row_are_reported():
    _, use = read([{"question": "q", "knowledge": "k", "right_answer": "a", "hallucinated_answer": "b"}])

    assert use.fields["response"] == ("right_answer", "hallucinated_answer")
