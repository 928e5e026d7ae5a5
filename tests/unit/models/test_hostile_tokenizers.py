"""Files tokenizer.json and model folders that were made to exhaust memory, to hang or to panic."""

import json
import os

import pytest

from sgi.kernel.errors import EmbedderError, ModelCorruptError
from sgi.models.model_files import ModelFiles, read_settings
from sgi.models.tokenizer import open_tokenizer, tokenize


def written(tmp_path, **parts):
    model = {"type": "WordLevel", "vocab": {"[UNK]": 0}, "unk_token": "[UNK]"}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps({"version": "1.0", "added_tokens": [], "model": model} | parts))
    return path


def replace(pattern, content):
    return {"type": "Replace", "pattern": pattern, "content": content}


def template(tokens):
    special = {"id": "x", "ids": [0] * tokens, "tokens": ["x"] * tokens}
    own = [{"Sequence": {"id": "A", "type_id": 0}}] if tokens > 1 else []
    single = [{"SpecialToken": {"id": "x", "type_id": 0}}, *own]
    return {"type": "TemplateProcessing", "single": single, "pair": [], "special_tokens": {"x": special}}


def word_level(vocabulary):
    return {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"}


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        ({"normalizer": replace({"String": "a"}, "a" * 33)}, "33 times longer"),
        (
            {"normalizer": {"type": "Sequence", "normalizers": [replace({"String": "a"}, "a" * 10)] * 9}},
            "1,000,000,000 times longer",
        ),
        ({"normalizer": {"type": "Prepend", "prepend": "a" * 100}}, "100 times longer"),
        ({"normalizer": replace({"Regex": ".*"}, "")}, "0 tokens"),
        ({"post_processor": template(1)}, "0 tokens"),
        ({"post_processor": template(65)}, "65 special tokens"),
        ({"model": word_level({})}, "[UNK]"),
        ({"model": word_level({"[UNK]": -1})}, "is not a tokenizer"),
    ],
)
def test_a_tokenizer_that_cannot_be_used_is_refused(tmp_path, parts, problem):
    with pytest.raises(ModelCorruptError) as caught:
        open_tokenizer(written(tmp_path, **parts))
    assert problem in str(caught.value)
    assert "tokenizer.json" in str(caught.value)


def test_files_with_too_many_entries_are_refused_before_they_are_parsed(tmp_path, monkeypatch):
    monkeypatch.setattr("sgi.models.tokenizer._MAX_ENTRIES", 1000)
    vocabulary = {"[UNK]": 0} | {f"w{number}": number for number in range(1, 1001)}
    with pytest.raises(ModelCorruptError, match="more than 1,000 entries"):
        open_tokenizer(written(tmp_path, model=word_level(vocabulary)))
    monkeypatch.setenv("SGI_MAX_FILE", "1KB")
    with pytest.raises(ModelCorruptError, match="is larger than"):
        open_tokenizer(tmp_path / "tokenizer.json")


def test_a_catastrophic_expression_is_an_error_of_the_model(tmp_path):
    split = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}
    tokenizer = open_tokenizer(written(tmp_path, pre_tokenizer=split))
    with pytest.raises(EmbedderError, match="The tokenizer failed: Onig"):
        tokenize(tokenizer, [f"{'a' * 60}!"])


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_pipes_and_devices_in_a_model_folder_are_not_opened(tmp_path, kind):
    place = tmp_path / "config.json"
    if kind == "pipe":
        os.mkfifo(place)
    else:
        place.symlink_to("/dev/zero")
    with pytest.raises(ModelCorruptError, match=r"config\.json is a pipe or a device"):
        read_settings(place)
    with pytest.raises(ModelCorruptError, match=r"config\.json is a pipe or a device"):
        ModelFiles("m", place, place).verify()
