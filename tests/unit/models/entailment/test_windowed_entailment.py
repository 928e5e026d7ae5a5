"""Pairs in windows and batches, by graphs that ONNX Runtime runs: known answers, company, faults."""

from concurrent.futures import ThreadPoolExecutor
from itertools import permutations
from threading import Barrier

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.kernel.errors import EmbedderError, ModelCorruptError, NonFiniteVectorError
from sgi.kernel.protocols import EntailmentModel
from sgi.models.entailment.load_entailment import load_entailment_model
from sgi.models.entailment.windowed_entailment import _pool_windows
from sgi.testing.entailment import check_entailment_model
from sgi.testing.strategies import texts
from support.entailment_models import NLI, WORDS, attending_model, counting_model, expected

PAIRS = [
    ("the tower is tall", "the tower is tall"),
    ("the tower is tall", "the tower is not tall"),
    ("the tower is not tall", "the tower is not tall"),
    ("the tower is in paris", "the tower is in rome"),
    ("", "paris"),
    ("paris", ""),
    ("", ""),
    ("the tower is tall", "the tower is tall"),
    ("[SEP] [CLS] rome", "rome [SEP] paris"),
    ("a\x00b 🦊", "東京 is old"),
]


@pytest.fixture(scope="module")
def counting(tmp_path_factory):
    return load_entailment_model(counting_model(tmp_path_factory.mktemp("models") / "counting"))


@pytest.fixture(scope="module")
def attending_folder(tmp_path_factory, minilm_files):
    return attending_model(tmp_path_factory.mktemp("models") / "attending", minilm_files)


def probabilities(pairs):
    return np.array([expected(*pair) for pair in pairs]).reshape(-1, 2).T


def test_the_answers_are_the_graphs(counting):
    assert isinstance(counting, EntailmentModel)
    follows, against, windows = counting.entail(PAIRS)
    known = probabilities(PAIRS)
    assert follows == pytest.approx(known[0], abs=1e-6)
    assert against == pytest.approx(known[1], abs=1e-6)
    assert windows.tolist() == [1] * len(PAIRS)
    assert follows[0] > 0.9 > follows[1]
    assert against[1] > 0.8


@given(st.lists(st.tuples(*[st.lists(st.sampled_from(WORDS[4:]), max_size=6).map(" ".join)] * 2), max_size=5))
def test_any_words(counting, pairs):
    follows, against, windows = counting.entail(pairs)
    assert np.array([follows, against]) == pytest.approx(probabilities(pairs), abs=1e-6)
    assert len(windows) == len(pairs)


@given(st.lists(st.tuples(texts(), texts()), max_size=4))
def test_any_texts(counting, pairs):
    readable = counting.readable([hypothesis for _, hypothesis in pairs])
    assert readable.shape == (len(pairs),)
    pairs = [pair for pair, fits in zip(pairs, readable, strict=True) if fits]
    follows, against, windows = counting.entail(pairs)
    assert ((follows >= 0) & (follows <= 1) & (against >= 0) & (against <= 1) & (windows >= 1)).all()


@pytest.mark.parametrize("columns", list(permutations(range(3))))
def test_outputs_in_another_order_change_nothing(tmp_path, counting, columns):
    other = load_entailment_model(counting_model(tmp_path / "other", columns=columns))
    ours, theirs = counting.entail(PAIRS), other.entail(PAIRS)
    assert theirs.entailment == pytest.approx(ours.entailment, abs=1e-12)
    assert theirs.contradiction == pytest.approx(ours.contradiction, abs=1e-12)
    assert (other.fingerprint.split("@")[1] == counting.fingerprint.split("@")[1]) == (columns == (0, 1, 2))


def test_labels_told_otherwise_swap_the_columns(tmp_path, counting):
    folder = counting_model(tmp_path / "nameless", labels=("LABEL_0", "LABEL_1", "LABEL_2"))
    right = load_entailment_model(folder, labels=NLI)
    swapped = load_entailment_model(f"{folder}(labels=entailment, contradiction, neutral)")
    assert right.entail(PAIRS).entailment.tobytes() == counting.entail(PAIRS).entailment.tobytes()
    assert swapped.entail(PAIRS).entailment.tobytes() == right.entail(PAIRS).contradiction.tobytes()
    assert swapped.fingerprint != right.fingerprint


def test_two_outputs_and_one(tmp_path):
    two = load_entailment_model(
        counting_model(tmp_path / "two", columns=(2, 1), labels=("unsupported", "supported"))
    )
    one = load_entailment_model(counting_model(tmp_path / "one", columns=(1,), labels=("LABEL_0",)))
    for model in (two, one):
        follows, against, _ = model.entail(PAIRS)
        assert np.isnan(against).all()
        assert follows[0] == pytest.approx(1 / (1 + np.exp(-4)), abs=1e-6)
        assert follows[4] == pytest.approx(1 / (1 + np.exp(4)), abs=1e-6)
    assert two.entail(PAIRS).entailment == pytest.approx(one.entail(PAIRS).entailment, abs=1e-12)


@pytest.mark.parametrize("place", [0, 7, 13, 26, 53, 99])
def test_a_long_premise_is_read_wherever_the_evidence_stands(counting, place):
    words = ["old"] * 100
    words[place] = "paris"
    follows, _, windows = counting.entail(
        [(" ".join(words), "paris"), ("old " * 100, "paris"), ("paris", "paris")]
    )
    assert follows[0] == pytest.approx(expected("paris", "paris")[0], abs=1e-6)
    assert follows[1] == pytest.approx(expected("old", "paris")[0], abs=1e-6)
    assert windows.tolist() == [7, 7, 1]  # 28 tokens of premise a window, a new one every 14


def test_a_contradiction_counts_where_nothing_entails_more(counting):
    denial, denied = "is tall " * 30, "is not tall"
    assert counting.entail([(denial, denied)]).contradiction[0] > 0.9
    answered = counting.entail([(denial + "is not tall", denied)])
    assert answered.entailment[0] > 0.95
    assert answered.contradiction[0] < 0.05


WINDOWS = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=5)


@given(st.lists(WINDOWS, max_size=6))
def test_windows_become_pairs(pairs):
    counted = np.array([len(windows) for windows in pairs], dtype=np.int64)
    flat = np.array([window for windows in pairs for window in windows]).reshape(-1, 2)
    follows, against = _pool_windows(counted, flat[:, 0], flat[:, 1])
    for windows, entailment, contradiction in zip(pairs, follows, against, strict=True):
        best = max(range(len(windows)), key=lambda place: windows[place][0])
        worst = max(value for _, value in windows)
        assert entailment == windows[best][0]
        assert contradiction == (worst if worst >= entailment else windows[best][1])


def test_the_contract_is_kept(counting, attending_folder):
    check_entailment_model(counting)
    check_entailment_model(load_entailment_model(attending_folder))


MANY = [
    (f"Passage {n} is {'very ' * (n % 9)}short.", f"It is {'really ' * (n % 4)}short.") for n in range(30)
]


@pytest.mark.parametrize("threads", [1, 3])
def test_the_same_bits_with_any_number_of_threads_and_alone(attending_folder, threads):
    together = load_entailment_model(attending_folder, threads=2).entail(MANY)
    other = load_entailment_model(attending_folder, threads=threads)
    alone = [other.entail([pair]) for pair in MANY]
    for column in range(3):
        assert other.entail(MANY)[column].tobytes() == together[column].tobytes()
        assert np.concatenate([scores[column] for scores in alone]).tobytes() == together[column].tobytes()


def test_several_threads_open_and_use_one_model(attending_folder):
    model, start = load_entailment_model(attending_folder), Barrier(4)

    def use(_):
        start.wait()
        return model.entail(MANY[:8])

    with ThreadPoolExecutor(4) as pool:
        assert len({scores.entailment.tobytes() for scores in pool.map(use, range(4))}) == 1


def test_each_distinct_pair_is_computed_once(tmp_path, monkeypatch):
    model = load_entailment_model(counting_model(tmp_path / "counted"), threads=1)
    sizes = []
    plain = model.network.logits
    monkeypatch.setattr(
        model.network, "logits", lambda ids, types: sizes.append(len(ids)) or plain(ids, types)
    )
    model.entail(PAIRS * 3)
    assert sum(sizes) == len(set(PAIRS))


@pytest.mark.parametrize("steep", [np.nan, np.inf])
def test_what_is_no_number_is_told_with_its_pairs(tmp_path, steep):
    model = load_entailment_model(counting_model(tmp_path / "spoilt", steep=steep))
    with pytest.raises(NonFiniteVectorError, match=r"'tall'.*'old'") as caught:
        model.entail([("tall", "old"), ("rome", "paris")])
    assert caught.value.texts == ("old", "paris")


def test_a_hypothesis_too_long_for_the_window(counting):
    long = "tall " * 23
    assert counting.readable([long, "tall " * 21]).tolist() == [False, True]
    assert counting.entail([("tall", long)]).windows.tolist() == [1]  # beside a short premise it is read
    with pytest.raises(EmbedderError, match=r"29 tokens.* 23 "):
        counting.entail([("tall", "tall"), ("old " * 10, long)])
    with pytest.raises(EmbedderError, match=r"29 tokens.* 40 "):
        counting.entail([("", "tall " * 40)])


@pytest.mark.parametrize("pair", [("\ud800", "fine"), ("fine", "\udfff")])
def test_half_a_surrogate_pair_is_told(counting, pair):
    with pytest.raises(EmbedderError, match="lone surrogate"):
        counting.entail([("a", "b"), pair])


def test_more_outputs_than_labels(tmp_path):
    folder = counting_model(tmp_path / "three", labels=("unsupported", "supported"))
    with pytest.raises(ModelCorruptError, match=r"three.*\[1, 2\].*\[1, 3\]"):
        load_entailment_model(folder).entail([("a", "b")])


def test_a_graph_that_wants_something_else(tmp_path):
    import onnx

    folder = counting_model(tmp_path / "generating")
    path = folder / "onnx" / "model.onnx"
    model = onnx.load(str(path))
    extra = onnx.helper.make_tensor_value_info("decoder_input_ids", onnx.TensorProto.INT64, ["n", "length"])
    model.graph.input.append(extra)
    onnx.save(model, str(path))
    with pytest.raises(ModelCorruptError, match=r"model\.onnx.*decoder_input_ids"):
        load_entailment_model(folder).entail([("a", "b")])


def test_a_model_that_fails_while_running(attending_folder, tmp_path):
    import json
    import shutil

    folder = shutil.copytree(attending_folder, tmp_path / "failing")
    settings = json.loads((folder / "config.json").read_text())  # the graph knows 64 places
    (folder / "config.json").write_text(json.dumps(settings | {"max_position_embeddings": 2000}))
    with pytest.raises(EmbedderError, match="failing"):
        load_entailment_model(folder).entail([("word " * 1500, "a")])


@pytest.mark.parametrize("content", [b"", b"no model"])
def test_a_file_that_is_no_graph(tmp_path, content):
    folder = counting_model(tmp_path / "broken")
    (folder / "onnx" / "model.onnx").write_bytes(content)
    with pytest.raises(ModelCorruptError, match=r"model\.onnx"):
        load_entailment_model(folder).entail([("a", "b")])


def test_the_fingerprint_tells_models_apart(tmp_path, counting):
    same = load_entailment_model(counting_model(tmp_path / "counting"))
    assert same.fingerprint == counting.fingerprint
    assert same.fingerprint.startswith("entailment:counting@")
    assert same.fingerprint.endswith(",32tok,softmax3-e1-c0,fp32")
    others = [
        load_entailment_model(counting_model(tmp_path / name / "counting", **how)).fingerprint
        for name, how in {"a": {"limit": 40}, "b": {"steep": 2.0}, "c": {"columns": (1, 0, 2)}}.items()
    ]
    assert len({same.fingerprint, *others}) == 4
