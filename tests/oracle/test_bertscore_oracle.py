"""BERTScore beside the package bert-score, on the same weights and real pairs and what people say."""

import json
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

import sgi
from sgi.kernel.errors import UsageError
from sgi.metrics.bertscore import BASELINES
from support.minilm_weights import embedded_folder
from support.slow import slow

pytestmark = pytest.mark.oracle

NAMES = ("bertscore_precision", "bertscore_recall", "bertscore")
CLOSE = 1e-4
LAYERS = 6

Pair = tuple[str, list[str]]


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The embedded model's own weights, for torch."""
    pytest.importorskip("transformers", reason="needs transformers (make oracles)")
    return embedded_folder(tmp_path_factory.mktemp("weights") / "minilm")


@pytest.fixture(scope="module")
def pairs(data_folder: Path) -> list[Pair]:
    """Answers beside answers, long texts among them, and some with several references."""
    halueval = lines_of(data_folder / "halueval_qa.jsonl", 120)
    found = [(row["hallucinated_answer"], [row["right_answer"]]) for row in halueval]
    found += [(row["right_answer"], [row["knowledge"]]) for row in halueval[:40]]
    evouna = [
        (row["response"], row["meta"]["references"]) for row in lines_of(data_folder / "evouna.jsonl", 60)
    ]
    return found + [(response, references[:3]) for response, references in evouna]


def lines_of(path: Path, count: int) -> list[dict]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in islice(lines, count)]


def reference(weights: Path, pairs: list[Pair], *, layer: int = LAYERS, idf: bool = False) -> np.ndarray:
    """Precision, recall and F1 of bert-score, shape (3, pairs)."""
    pytest.importorskip("bert_score", reason="needs bert-score (make oracles)")
    from bert_score import BERTScorer

    scorer = BERTScorer(model_type=str(weights), num_layers=layer, idf=idf, nthreads=0, device="cpu")
    if idf:
        scorer.compute_idf([text for _, references in pairs for text in references])
    made = scorer.score([response for response, _ in pairs], [list(given) for _, given in pairs])
    return np.array([np.asarray(part, dtype=np.float64) for part in made])


def ours(pairs: list[Pair], settings: str = "") -> np.ndarray:
    rows = [{"response": r, "reference": g[0], "alternatives": g[1:]} for r, g in pairs]
    wanted = [f"{name}({settings})" if settings else name for name in NAMES]
    found = list(sgi.evaluate(rows, wanted, cache=False).values())
    assert all(scores.ok.all() for scores in found)
    return np.array([scores.values for scores in found])


@pytest.mark.parametrize("idf", [*slow((False,)), True])
def test_values_are_those_of_the_reference(weights: Path, pairs: list[Pair], idf: bool) -> None:
    assert len(pairs) >= 200
    assert sum(len(references) > 1 for _, references in pairs) > 20
    found = ours(pairs, "idf=true" if idf else "")
    assert np.abs(found - reference(weights, pairs, idf=idf)).max() <= CLOSE


@pytest.mark.parametrize("layer", [1, 3])
def test_any_layer_by_torch(weights: Path, pairs: list[Pair], layer: int) -> None:
    found = ours(pairs[:40], f'model="torch:{weights}", layer={layer}')
    assert np.abs(found - reference(weights, pairs[:40], layer=layer)).max() <= CLOSE


def test_a_layer_beyond_the_last_is_told(weights: Path, pairs: list[Pair]) -> None:
    with pytest.raises(UsageError, match="has 6 layers; layer 7 does not exist"):
        ours(pairs[:1], f'model="torch:{weights}", layer=7')


def test_rescaling_is_the_published_formula(pairs: list[Pair]) -> None:
    raw, rescaled = ours(pairs[:40]), ours(pairs[:40], "rescale=true")
    baseline = BASELINES["sentence-transformers/all-MiniLM-L6-v2", None]
    for before, after, low in zip(raw, rescaled, baseline, strict=True):
        assert after == pytest.approx((before - low) / (1 - low))


def test_a_byte_level_model_with_random_weights(tmp_path: Path, pairs: list[Pair]) -> None:
    """RoBERTa's tokens depend on the space before a word; this tokenizer puts one before a text."""
    pytest.importorskip("torch", reason="needs torch (make oracles)")
    model = random_roberta(
        tmp_path / "roberta", [text for response, given in pairs for text in (response, *given)]
    )
    found = ours(pairs[:60], f'model="torch:{model}", layer=2')
    assert np.abs(found - reference(model, pairs[:60], layer=2)).max() <= CLOSE


def random_roberta(folder: Path, texts: list[str]) -> Path:
    import torch
    from tokenizers import ByteLevelBPETokenizer
    from transformers import RobertaConfig, RobertaModel, RobertaTokenizerFast

    torch.manual_seed(0)
    marks = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trained = ByteLevelBPETokenizer(add_prefix_space=True)
    trained.train_from_iterator(texts, vocab_size=600, special_tokens=marks, show_progress=False)
    folder.mkdir()
    trained.save_model(str(folder))
    tokenizer = RobertaTokenizerFast.from_pretrained(str(folder), model_max_length=512, add_prefix_space=True)
    tokenizer.save_pretrained(str(folder))
    size = len(tokenizer)
    config = RobertaConfig(
        vocab_size=size,
        hidden_size=32,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=514,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
    )
    RobertaModel(config).eval().save_pretrained(str(folder))
    return folder


def test_people_agree_with_it_on_similar_sentences(data_folder: Path) -> None:
    """STS-B, whose pairs people have scored: the ranks agree."""
    from scipy.stats import spearmanr

    rows = lines_of(data_folder / "stsb.jsonl", 10**6)[::25]
    found = ours([(row["response"], [row["reference"]]) for row in rows])
    correlation = spearmanr(found[2], [row["meta"]["score"] for row in rows]).statistic
    assert len(rows) > 50
    assert correlation > 0.6
