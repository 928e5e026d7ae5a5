import json
import threading

import pytest

from sgi.io import open_dataset
from sgi.kernel.errors import DataError
from sgi_traces import group_spans


def request(*spans):
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}) + "\n"


def span(number, question="Who?", **extra):
    values = {"input.value": question, "output.value": "She."}
    attributes = [{"key": key, "value": {"stringValue": value}} for key, value in values.items()]
    ids = {"traceId": f"{number:032x}", "spanId": f"{number:016x}"}
    return ids | {"name": "ask", "attributes": attributes} | extra


@pytest.fixture
def conversions(monkeypatch):
    calls = []
    real = group_spans.rows_of_trace
    monkeypatch.setattr(group_spans, "rows_of_trace", lambda trace: calls.append(1) or real(trace))
    return calls


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "traces.jsonl"
    path.write_text(request(span(1), span(2)) + request(span(3, traceId="short"), span(4)))
    return path


def questions(dataset):
    rejected, columns = [], []
    samples = [*dataset.samples(on_reject=rejected.append, on_columns=columns.append)]
    return samples, [str(row.error) for row in rejected], columns


def test_a_file_is_converted_once(path, conversions):
    dataset = open_dataset(path)

    first = questions(dataset)
    assert questions(dataset) == first
    assert len(first[0]) == len(conversions) == 3
    assert "field 'traceId'" in first[1][0]


def test_a_changed_file_is_converted_again(path, conversions):
    dataset = open_dataset(path)
    questions(dataset)
    path.write_text(request(span(1, "When?")))

    assert [sample.question for sample in questions(dataset)[0]] == ["When?"]


def test_a_reading_that_stops_early_stores_nothing(path, conversions):
    dataset = open_dataset(path)
    with pytest.raises(DataError):
        list(dataset.samples())

    assert len(questions(dataset)[0]) == 3


def test_threads_read_the_stored_rows_at_the_same_time(path):
    dataset = open_dataset(path)
    expected = questions(dataset)[0]
    results = []
    threads = [threading.Thread(target=lambda: results.append(questions(dataset)[0])) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert results == [expected] * 8
