"""Whatever stands in a benchmark's file: samples, or an error that says where; and nothing is lost."""

import json
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from sgi.io import open_dataset
from sgi.io.readers import absolute, parse_name
from sgi.kernel.errors import DataError, UsageError
from sgi_lab.benchmarks import BENCHMARKS, open_benchmark
from sgi_lab.benchmarks.ragtruth import _passages

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
COLUMNS = {
    "halueval_qa": ("knowledge", "question", "right_answer", "hallucinated_answer", "hallucination"),
    "halueval_dialogue": ("knowledge", "dialogue_history", "right_response", "hallucinated_response"),
    "halueval_summarization": ("document", "summary", "hallucination", "right_summary"),
    "truthfulqa": ("Question", "Best Answer", "Correct Answers", "Incorrect Answers"),
    "ragtruth": ("id", "source_id", "labels", "response", "meta"),
    "begin": ("knowledge", "message", "response", "begin_label"),
    "stsb": ("sentence1", "sentence2", "score", "id", "meta"),
    "squad": ("id", "question", "context", "answers", "paragraphs", "title"),
}


@st.composite
def files(draw):
    """A benchmark, and rows that have most of its columns, with anything in them."""
    name = draw(st.sampled_from(list(BENCHMARKS)))
    likely = draw(st.sampled_from([TEXTS, VALUES]))
    row = st.fixed_dictionaries(dict.fromkeys(COLUMNS[name], likely)) | st.dictionaries(
        st.sampled_from(COLUMNS[name]) | TEXTS, VALUES, max_size=4
    )
    return name, draw(st.lists(row, min_size=1, max_size=4))


def read(name, path, content, **options):
    """How many rows became samples or were refused, and both; the file's own errors go through."""
    path.write_bytes(content)
    refused = []
    samples = list(open_benchmark(name, path, **options).samples(on_reject=refused.append))
    return samples, refused


@given(files())
def test_rows_of_any_content_become_samples_or_are_refused_with_their_line(file):
    name, rows = file
    content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    with TemporaryDirectory() as folder, suppress(DataError):
        samples, refused = read(name, Path(folder, "a.jsonl"), content)

        assert samples or refused
        assert len({sample.id for sample in samples}) == len(samples)
        assert all(item.error.line is not None and item.error.file for item in refused)
        assert all(isinstance(json.loads(sample.model_dump_json()), dict) for sample in samples)


@given(st.sampled_from(["begin", "stsb", "truthfulqa"]), st.sampled_from(["a.tsv", "a.csv"]), st.binary())
def test_any_bytes_as_a_table_are_samples_or_data_errors(name, file, content):
    with TemporaryDirectory() as folder, suppress(DataError):
        read(name, Path(folder, file), content)


LINES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12)


@given(st.lists(LINES, min_size=1, max_size=5))
def test_texts_between_tabs_come_back_as_they_were(texts):
    head = "knowledge\tmessage\tresponse\tbegin_label\n"
    lines = "".join(f"k\tm\t{text}\tGeneric\n" for text in texts)
    with TemporaryDirectory() as folder:
        samples, refused = read("begin", Path(folder, "a.tsv"), (head + lines).encode())

    assert [sample.response for sample in samples] == texts
    assert refused == []


@given(VALUES, VALUES)
def test_any_sources_and_labels_of_ragtruth(info, labels):
    source = {"source_id": "s", "source_info": info}
    response = {"id": "1", "source_id": "s", "labels": labels, "response": "r"}
    with TemporaryDirectory() as folder, suppress(DataError):
        Path(folder, "source_info.jsonl").write_text(json.dumps(source))
        Path(folder, "response.jsonl").write_text(json.dumps(response))
        for sample in open_benchmark("ragtruth", folder).samples():
            assert sample.label is (not labels)


@given(st.lists(TEXTS.map(str.strip).filter(lambda text: text and "passage" not in text), min_size=1))
def test_passages_are_taken_apart_as_they_were_put_together(passages):
    text = "".join(f"passage {number}:{passage}\n\n" for number, passage in enumerate(passages, 1))

    assert _passages(text) == tuple(passages)


@given(st.text(max_size=40) | st.from_regex(r"\A[a-z_/.:()=,]{0,30}\Z"))
def test_any_text_as_a_name_is_a_file_a_benchmark_or_a_usage_error(text):
    with suppress(DataError, UsageError):
        open_dataset(text)


@given(st.sampled_from(list(BENCHMARKS)), st.lists(st.sampled_from(["..", "a", "b c"]), max_size=4))
def test_an_absolute_name_names_the_same_place(name, parts):
    spelt = parse_name(f"{name}:{'/'.join([*parts, 'rows.jsonl'])}")
    again = parse_name(absolute(Path(str(spelt))))

    assert again.reader.name == name
    assert again.path == spelt.path.resolve()
