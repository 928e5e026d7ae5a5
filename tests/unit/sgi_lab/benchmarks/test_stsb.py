import gzip
import json

import pytest

from sgi.kernel.errors import DataError
from sgi_lab.benchmarks import open_benchmark

GLUE = "index\tgenre\tsentence1\tsentence2\tscore\n"


def read(path, **options):
    return list(open_benchmark("stsb", path).samples(**options))


def save(folder, name, text):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


FORMS = {
    "sts-train.csv": 'captions\tMSRvid\t2012\t0001\t3.800\t"A" is, here.\tB.\textra\n',
    "train.tsv": GLUE + '0\tcaptions\t"A" is, here.\tB.\t3.800\n',
    "commas.csv": 'sentence1,sentence2,score\n"""A"" is, here.",B.,3.8\n',
    "rows.jsonl": json.dumps({"sentence1": '"A" is, here.', "sentence2": "B.", "score": 3.8}),
}


@pytest.mark.parametrize("name", FORMS)
def test_every_published_form_gives_the_same_pair(tmp_path, name):
    (sample,) = read(save(tmp_path, name, FORMS[name]))

    assert (sample.id, sample.reference, sample.response) == ("stsb-1", '"A" is, here.', "B.")
    assert sample.label is None
    assert (sample.metadata["similarity"], sample.metadata["score"]) == (3.8 / 5, 3.8)


def test_what_else_is_known_stays(tmp_path):
    (sample,) = read(save(tmp_path, "sts-train.csv", FORMS["sts-train.csv"]))

    assert {key: sample.metadata[key] for key in ("genre", "file", "year", "sid")} == {
        "genre": "captions",
        "file": "MSRvid",
        "year": "2012",
        "sid": "0001",
    }


def test_a_compressed_table_is_read(tmp_path):
    path = tmp_path / "stsbenchmark.tsv.gz"
    path.write_bytes(gzip.compress(FORMS["train.tsv"].encode()))

    assert len(read(path)) == 1


@pytest.mark.parametrize("score", ["-0.1", "5.01", "nan", "inf", "much", ""])
def test_a_score_off_the_scale_is_refused(tmp_path, score):
    path = save(tmp_path, "a.tsv", GLUE + f"0\tg\ta\tb\t{score}\n")

    with pytest.raises(DataError, match=r"a.tsv:2: field 'score': expected a number from 0 to 5, found text"):
        read(path)


def test_a_set_without_scores_is_refused(tmp_path):
    path = save(tmp_path, "test.tsv", "index\tsentence1\tsentence2\n0\ta\tb\n")

    with pytest.raises(DataError, match="field 'score': is missing"):
        read(path)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "question,answer\nq,a\n", "no column is called 'sentence1'"),
        ("a.tsv", "question\tanswer\nq\ta\n", "expected 7 cells, found 2"),
        ("a.jsonl", '{"question": "q"}', "is not STS-B"),
    ],
)
def test_other_tables_are_refused(tmp_path, name, text, message):
    with pytest.raises(DataError, match=message):
        read(save(tmp_path, name, text))


def test_rows_of_our_own_get_the_same_measure(data_folder):
    samples = read(data_folder / "stsb.jsonl")

    assert len(samples) == 2533
    assert all(sample.metadata["similarity"] == sample.metadata["score"] / 5 for sample in samples)
