import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.kernel.errors import EmbedderError, ModelCorruptError
from sgi.models.model_files import ModelFiles, read_settings
from sgi.models.tokenizer import FileTokenizer, open_tokenizer, tokenize, unread_texts
from support.reference_tokenizer import bert_tokenizer

CLS, SEP, UNK = 101, 102, 100


@pytest.fixture(scope="module")
def vocabulary():
    from sgi.models.known_models import MODELS
    from sgi.models.model_files import embedded_files

    return embedded_files(MODELS["minilm"]).tokenizer


@pytest.fixture(scope="module")
def tokenizer(vocabulary):
    return open_tokenizer(vocabulary)


@pytest.fixture(scope="module")
def reference(vocabulary):
    return bert_tokenizer(vocabulary)


def ids(tokenizer, text):
    return tokenize(tokenizer, [text]).ids[0].tolist()


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("", []),
        ("Hello, World!", ["hello", ",", "world", "!"]),
        ("unaffable", ["una", "##ffa", "##ble"]),
        ("Über naïve Café", ["uber", "naive", "cafe"]),
        ("東京都", ["東", "京", "都"]),
        ("a\x00b\ufffdc\u200b", ["abc"]),
        ("tab\tnew\nline\u00a0space", ["tab", "new", "line", "space"]),
        ("x" * 100, None),
        ("x" * 101, ["[UNK]"]),
        ("[SEP] [MASK]", ["[SEP]", "[MASK]"]),
        ("don't", ["don", "'", "t"]),
    ],
)
def test_word_pieces(tokenizer, vocabulary, text, pieces):
    names = vocabulary.read_text("utf-8").splitlines()
    tokens = [names[token] for token in ids(tokenizer, text)]
    assert (tokens[0], tokens[-1]) == ("[CLS]", "[SEP]")
    if pieces is None:
        assert "[UNK]" not in tokens
    else:
        assert tokens[1:-1] == pieces


OLD = st.characters(max_codepoint=0x2FFF, exclude_categories=("Cs", "Cn", "Mn", "Po"))
"""Letters that are no newer than the tables of the package tokenizers, mostly."""


@given(st.text(st.one_of(OLD, st.sampled_from(" .,-'[]東京é\u0301\u00adⅣﬁİΣß")), max_size=40))
def test_the_ids_are_those_of_the_package_tokenizers(tokenizer, reference, text):
    assert ids(tokenizer, text) == reference.encode(text).ids


def test_special_tokens_in_a_text_and_words_without_pieces(tokenizer, reference):
    for text in ("a[SEP]b [CLS]", "[sep] [ SEP ]", "[[MASK]]", "\u10a0\u10a0 x", "x" * 101 + " y", "\u0301"):
        assert ids(tokenizer, text) == reference.encode(text).ids


@given(st.text())
def test_any_text_becomes_ids_between_the_marks(tokenizer, text):
    ids, truncated = tokenize(tokenizer, [text], 256)
    assert ids[0][0] == CLS
    assert ids[0][-1] == SEP
    assert len(ids[0]) <= 256
    assert truncated.tolist() == [False]


def test_exactly_at_the_limit(tokenizer):
    ids, truncated = tokenize(tokenizer, ["a " * 254, "a " * 255], 256)
    assert [len(some) for some in ids] == [256, 256]
    assert truncated.tolist() == [False, True]


def test_more_texts_than_are_tokenized_at_once(tokenizer):
    texts = [f"text {number}" for number in range(5000)]
    tokens = tokenize(tokenizer, texts)
    assert len(tokens.ids) == len(tokens.truncated) == 5000
    assert tokens.ids[4999].tolist() == ids(tokenizer, "text 4999")


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["fine", "bad \ud800 text"], "character 4"),
        ([3], "not int"),
        ([None], "not NoneType"),
    ],
)
def test_what_is_no_text(tokenizer, texts, message):
    with pytest.raises(EmbedderError, match=message):
        tokenize(tokenizer, texts)


LONG = {
    "words": "word " * 20_000,
    "one word": "x" * 100_000,
    "japanese": "日本" * 50_000,
    "families": "👩‍👩‍👧 " * 20_000,
    "blanks, then words": " " * 60_000 + "word " * 400,
    "blanks alone": " " * 60_000,
    "long words": ("y" * 130 + " ") * 600,
    "the cut in a word": ("a" * 127 + " ") * 300,
    "accents": "e\u0301" * 40_000,
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_a_long_text_is_cut_as_if_it_had_been_read_whole(tokenizer, reference, text):
    reference.enable_truncation(256)
    whole = reference.encode(text)
    reference.no_truncation()
    tokens = tokenize(tokenizer, ["before", text, "after"], 256)
    assert tokens.ids[1].tolist() == whole.ids
    assert tokens.truncated.tolist() == [False, bool(whole.overflowing), False]


def test_a_surrogate_far_behind_is_found_too(tokenizer):
    with pytest.raises(EmbedderError, match="character 500000"):
        tokenize(tokenizer, ["word " * 100_000 + "\ud800"])


@pytest.mark.parametrize(
    ("name", "content"), [("tokenizer.json", b"{}"), ("vocab.txt", b"\xff"), ("vocab.txt", b"a")]
)
def test_a_file_that_is_no_tokenizer(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ModelCorruptError, match=name):
        open_tokenizer(path)


@pytest.mark.parametrize(
    ("text", "unread"),
    [
        ("公司于2023年盈利", True),
        ("大桥建于1960年", True),
        ("สะพานสร้างปี 1960", True),
        ("다리는 1960년에 지어졌다", True),
        ("ድመቷ በጣሪያው ላይ ትተኛለች።", True),
        ("👍", True),
        ("\u200b\u200b", True),
        ("x" * 101, True),
        ("", False),
        (" \n", False),
        ("…", False),
        ("1889", False),
        ("Great 🎉🎉, see § 5 ✓", False),
        ("The word 你好 means hello.", False),
        ("L'été, les élèves préfèrent la plage.", False),
        ("Налог вырос на 5 процентов", False),
        ("Η τιμή είναι 10 ευρώ", False),
        ("[CLS]", False),
    ],
)
def test_texts_of_unknown_letters(tokenizer, reference, text, unread):
    for one in (tokenizer, FileTokenizer(reference)):
        own = one.token_ids([text, "a"])
        found = unread_texts([text, "a"], own, unknown=one.unknown, reads=one.reads, added=2)
        assert found.tolist() == [unread, False]


def test_a_tokenizer_with_a_token_for_every_byte_reads_everything():
    from tokenizers import Tokenizer, models, pre_tokenizers

    letters = {letter: number for number, letter in enumerate(pre_tokenizers.ByteLevel.alphabet())}
    bytes_only = Tokenizer(models.BPE(vocab=letters, merges=[]))
    bytes_only.pre_tokenizer = pre_tokenizers.ByteLevel()
    one = FileTokenizer(bytes_only)
    texts = ["公司于2023年盈利", "👍"]
    assert one.unknown is None
    own = one.token_ids(texts)
    assert not unread_texts(texts, own, unknown=one.unknown, reads=one.reads, added=0).any()


def test_the_unknown_token_of_a_unigram_model_is_found():
    from tokenizers import Tokenizer, models

    one = FileTokenizer(Tokenizer(models.Unigram([("<unk>", -9.0), ("a", -1.0), ("b", -1.0)], unk_id=0)))
    texts = ["ab", "公司 a"]
    assert unread_texts(
        texts, one.token_ids(texts), unknown=one.unknown, reads=one.reads, added=0
    ).tolist() == [False, True]


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
