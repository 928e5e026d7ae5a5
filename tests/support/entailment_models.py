"""Folders of small entailment models: one with outputs computable by hand, one with an attention layer."""

import json
from pathlib import Path

import numpy as np
import pytest

WORDS = (
    *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "not", "the", "tower", "is", "in", "paris", "rome", "tall"),
    "old",
)
_WORDS_FROM = 4
_NOT = WORDS.index("not")
_STEEP = 8.0

NLI = ("contradiction", "entailment", "neutral")
"""The outputs of the model, in order."""


def expected(premise: str, hypothesis: str) -> tuple[float, float]:
    """Entailment and contradiction that the counting model returns for lower-case texts, split at spaces.

    The logit of entailment is 8·(s − 1/2). s is the share of the hypothesis's known words in the premise.
    The logit of contradiction is 4 if only the hypothesis contains "not", else −4. That of neutral is 0.
    """
    known = [set(text.split()) & set(WORDS[_WORDS_FROM:]) for text in (premise, hypothesis)]
    words = [word for word in hypothesis.split() if word in known[1]]
    share = sum(word in known[0] for word in words) / len(words) if words else 0.0
    against = "not" in known[1] and "not" not in known[0]
    raised = np.exp([_STEEP * against - _STEEP / 2, _STEEP * share - _STEEP / 2, 0.0])
    return float(raised[1] / raised.sum()), float(raised[0] / raised.sum())


def counting_model(
    folder: Path,
    *,
    columns: tuple[int, ...] = (0, 1, 2),
    labels: tuple[str, ...] | None = None,
    limit: int = 32,
    steep: float = _STEEP,
    **configuration: object,
) -> Path:
    """Make a folder with an ONNX graph that compares the words of premise and hypothesis (`expected`).

    Args:
        folder: a folder that does not exist yet.
        columns: indices into `NLI` of the outputs, in their order.
        labels: names of the outputs in ``id2label``; None for those of `NLI`.
        limit: the maximum number of tokens.
        steep: factor of the logits; NaN for a broken model.
        configuration: further keys of ``config.json``.
    """
    onnx = pytest.importorskip("onnx", reason="makes a graph no package ships")
    folder.mkdir(parents=True)
    (folder / "onnx").mkdir()
    (folder / "onnx" / "model.onnx").write_bytes(_counting_graph(onnx, columns, steep).SerializeToString())
    names = labels or tuple(NLI[column] for column in columns)
    settings = {
        "model_type": "bert",
        "id2label": {str(place): name for place, name in enumerate(names)},
        "label2id": {name: place for place, name in enumerate(names)},
        "max_position_embeddings": limit,
    }
    (folder / "config.json").write_text(json.dumps(settings | configuration))
    word_tokenizer().save(str(folder / "tokenizer.json"))
    return folder


def word_tokenizer():
    """A tokenizer of words with BERT's special tokens and token types."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    vocabulary = {word: place for place, word in enumerate(WORDS)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.add_special_tokens(list(WORDS[:_WORDS_FROM]))
    return with_pairs(tokenizer, WORDS.index("[CLS]"), WORDS.index("[SEP]"))


def with_pairs(tokenizer, first: int, between: int):
    """Add BERT's special tokens around texts and pairs."""
    from tokenizers import processors

    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", first), ("[SEP]", between)],
    )
    return tokenizer


def template_tokenizer(*, byte_level: bool):
    """A tokenizer of single characters: of bytes as RoBERTa's, or with word starts and ``</s>`` as T5's."""
    from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors

    special = ["<s>", "<pad>", "</s>", "<unk>"]
    if byte_level:
        letters = sorted(pre_tokenizers.ByteLevel.alphabet())
        vocabulary = {piece: place for place, piece in enumerate([*special, *letters])}
        tokenizer = Tokenizer(models.BPE(vocabulary, [], unk_token="<unk>"))
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    else:
        pieces = [*special, "▁", *(chr(code) for code in range(33, 127))]
        tokenizer = Tokenizer(
            models.Unigram([(piece, -float(place)) for place, piece in enumerate(pieces)], 3)
        )
        tokenizer.normalizer = normalizers.Replace("\n", " ")
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always")]
        )
    tokenizer.add_special_tokens([AddedToken(word, special=True, normalized=False) for word in special])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>" if byte_level else "$A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return tokenizer


def attending_model(folder: Path, minilm_files, *, limit: int = 64) -> Path:
    """Make a folder of a model with BERT's tokenizer, one attention layer and random weights."""
    onnx = pytest.importorskip("onnx", reason="makes a graph no package ships")
    from support.reference_tokenizer import bert_tokenizer

    (folder / "onnx").mkdir(parents=True)
    (folder / "onnx" / "model.onnx").write_bytes(_attending_graph(onnx, limit).SerializeToString())
    settings = {"model_type": "bert", "id2label": dict(enumerate(NLI)), "max_position_embeddings": limit}
    (folder / "config.json").write_text(json.dumps(settings))
    with_pairs(bert_tokenizer(minilm_files.tokenizer), 101, 102).save(str(folder / "tokenizer.json"))
    return folder


def attending_graph(folder: Path, *, outputs: int = 3, limit: int = 64, **configuration: object) -> Path:
    """Make a folder with the graph of `attending_model`, without a tokenizer and without token types."""
    onnx = pytest.importorskip("onnx", reason="makes a graph no package ships")
    folder.mkdir(parents=True)
    graph = _attending_graph(onnx, limit, outputs=outputs, typed=False)
    (folder / "model.onnx").write_bytes(graph.SerializeToString())
    (folder / "config.json").write_text(json.dumps({"max_position_embeddings": limit} | configuration))
    return folder


def _attending_graph(onnx, limit, width=96, kinds=997, *, outputs=3, typed=True):
    """Build the graph; it has positions up to the limit, so a longer window fails."""
    helper, kind = onnx.helper, onnx.TensorProto
    generator = np.random.default_rng(5)
    sizes = {
        "words": (kinds, width),
        "types": (2, width),
        "places": (1, limit, width),
        "head": (width, outputs),
    }
    sizes |= dict.fromkeys(("query", "key", "value"), (width, width))
    steps = [
        ("Mod", ["input_ids", "kinds"], "folded", {}),
        ("Gather", ["words", "folded"], "of_words", {}),
        ("Gather", ["types", "token_type_ids"], "of_types", {}),
        ("Add", ["of_words", "of_types"], "unplaced", {}),
        ("Shape", ["input_ids"], "length", {"start": 1}),
        ("Range", ["zero", "length_alone", "one"], "counted", {}),
        ("Gather", ["places", "counted"], "of_places", {"axis": 1}),
        ("Add", ["unplaced", "of_places"], "read", {}),
        *(("MatMul", ["read", name], f"{name}_rows", {}) for name in ("query", "key", "value")),
        ("Transpose", ["key_rows"], "key_columns", {"perm": [0, 2, 1]}),
        ("MatMul", ["query_rows", "key_columns"], "alike", {}),
        ("Mul", ["alike", "scale"], "scaled", {}),
        ("Softmax", ["scaled"], "attention", {"axis": -1}),
        ("MatMul", ["attention", "value_rows"], "attended", {}),
        ("ReduceMean", ["attended"], "pooled", {"axes": [1], "keepdims": 0}),
        ("MatMul", ["pooled", "head"], "logits", {}),
    ]
    nodes = [helper.make_node(step, given, [made], **how) for step, given, made, how in steps]
    nodes.insert(5, helper.make_node("Squeeze", ["length", "first"], ["length_alone"]))
    held = {name: generator.normal(size=size).astype(np.float32) for name, size in sizes.items()}
    held |= {"kinds": np.int64(kinds), "zero": np.int64(0), "one": np.int64(1), "first": np.array([0])}
    held["scale"] = np.float32(1 / width)
    if not typed:
        held["token_type_ids"] = np.zeros((1, 1), dtype=np.int64)
        held["head"] *= np.float32(0.05)  # so that no probability is 0 or 1
    graph = helper.make_graph(
        nodes,
        "attending",
        [
            helper.make_tensor_value_info(name, kind.INT64, ["n", "l"])
            for name in ("input_ids", "token_type_ids")
            if typed or name == "input_ids"
        ],
        [helper.make_tensor_value_info("logits", kind.FLOAT, ["n", outputs])],
        [onnx.numpy_helper.from_array(np.asarray(value), name) for name, value in held.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _counting_graph(onnx, columns, steep):
    """Build the graph, which compares all words of a pair with one another."""
    helper, kind = onnx.helper, onnx.TensorProto
    steps = [
        ("Equal", ["token_type_ids", "zero"], "of_premise"),
        ("Equal", ["token_type_ids", "one"], "of_hypothesis"),
        ("GreaterOrEqual", ["input_ids", "words_from"], "is_word"),
        ("And", ["of_premise", "is_word"], "premise"),
        ("And", ["of_hypothesis", "is_word"], "hypothesis"),
        ("Unsqueeze", ["input_ids", "last"], "down"),
        ("Unsqueeze", ["input_ids", "middle"], "across"),
        ("Equal", ["down", "across"], "alike"),
        ("Unsqueeze", ["premise", "middle"], "premise_across"),
        ("And", ["alike", "premise_across"], "found"),
        ("Cast", ["found"], "found_as_number"),
        ("ReduceMax", ["found_as_number"], "is_found"),
        ("Cast", ["hypothesis"], "counts"),
        ("Mul", ["is_found", "counts"], "supported"),
        ("ReduceSum", ["supported", "middle"], "supported_words"),
        ("ReduceSum", ["counts", "middle"], "words"),
        ("Max", ["words", "unit"], "divisor"),
        ("Div", ["supported_words", "divisor"], "share"),
        ("Equal", ["input_ids", "not"], "is_not"),
        ("And", ["is_not", "hypothesis"], "denied"),
        ("And", ["is_not", "premise"], "denied_before"),
        ("Cast", ["denied"], "denied_as_number"),
        ("Cast", ["denied_before"], "before_as_number"),
        ("ReduceMax", ["denied_as_number"], "denies"),
        ("ReduceMax", ["before_as_number"], "denied_already"),
        ("Sub", ["unit", "denied_already"], "denied_newly"),
        ("Mul", ["denies", "denied_newly"], "against"),
        ("Mul", ["share", "none"], "neither"),
        ("Sub", ["against", "half"], "against_centred"),
        ("Sub", ["share", "half"], "share_centred"),
        ("Concat", ["against_flat", "share_centred", "neither"], "three"),
        ("Mul", ["three", "steep"], "scaled"),
        ("Gather", ["scaled", "columns"], "logits"),
    ]
    options = {
        "Cast": {"to": kind.FLOAT},
        "ReduceMax": {"axes": [-1], "keepdims": 0},
        "Concat": {"axis": 1},
        "Gather": {"axis": 1},
        "ReduceSum": {"keepdims": 1},
    }
    nodes = [helper.make_node(step, given, [made], **options.get(step, {})) for step, given, made in steps]
    place = next(number for number, (_, _, made) in enumerate(steps) if made == "share_centred")
    nodes.insert(place, helper.make_node("Unsqueeze", ["against_centred", "middle"], ["against_flat"]))
    whole = {"zero": 0, "one": 1, "words_from": _WORDS_FROM, "not": _NOT, "last": [2], "middle": [1]}
    real = {"unit": 1, "half": 0.5, "none": 0, "steep": steep}
    held = [onnx.numpy_helper.from_array(np.array(value, np.int64), name) for name, value in whole.items()]
    held += [onnx.numpy_helper.from_array(np.array(value, np.float32), name) for name, value in real.items()]
    held.append(onnx.numpy_helper.from_array(np.array(columns, np.int64), "columns"))
    inputs = [
        helper.make_tensor_value_info(name, kind.INT64, ["n", "length"])
        for name in ("input_ids", "token_type_ids")
    ]
    outputs = [helper.make_tensor_value_info("logits", kind.FLOAT, ["n", len(columns)])]
    graph = helper.make_graph(nodes, "counting", inputs, outputs, held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
