"""Our numbers against those of the reference implementations, pair by pair, on real answers."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sgi.kernel.registry import metric
from sgi.kernel.sample import Batch, Sample
from sgi.kernel.vectors import Features
from sgi.text.tokenizers import mteval_words

Pair = tuple[str, list[str]]

pytestmark = pytest.mark.oracle


@pytest.fixture(scope="module")
def official() -> dict:
    """What the official SQuAD v1.1 script gives, question by question."""
    return json.loads((Path(__file__).parent / "answers" / "squad.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def evouna(data_folder: Path) -> list[Pair]:
    rows = lines_of(data_folder / "evouna.jsonl")
    return [(row["response"], row["meta"]["references"]) for row in rows]


@pytest.fixture(scope="module")
def pairs(data_folder: Path, evouna: list[Pair]) -> list[tuple[str, str]]:
    """Real responses, each beside one reference."""
    rows = lines_of(data_folder / "halueval_qa.jsonl")[:600]
    halueval = [(row["hallucinated_answer"], row["right_answer"]) for row in rows]
    known = [(row["right_answer"], row["knowledge"]) for row in rows[:200]]
    return [*halueval, *known, *((response, references[0]) for response, references in evouna[:1200])]


def lines_of(path: Path) -> list[dict]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def values(name: str, rows: list[Pair]) -> np.ndarray:
    samples = [Sample(id=str(i), response=r, reference=g) for i, (r, g) in enumerate(rows)]
    scores = metric(name).score(Batch.of(samples), Features())
    assert scores.ok.all()
    return scores.values


def squad(folder: Path) -> list[Pair]:
    predictions = json.loads((folder / "predictions.json").read_text(encoding="utf-8"))
    articles = json.loads((folder / "xquad.en.json").read_text(encoding="utf-8"))["data"]
    questions = [q for article in articles for paragraph in article["paragraphs"] for q in paragraph["qas"]]
    return [(predictions[q["id"]], [answer["text"] for answer in q["answers"]]) for q in questions]


def test_squad_scores_of_all_questions_are_the_official_ones(data_folder: Path, official: dict) -> None:
    rows = squad(data_folder / "xquad_en")
    expected = json.loads((data_folder / "xquad_en" / "expected_scores.json").read_text(encoding="utf-8"))
    exact, shared = values("squad_em", rows), values("squad_token_f1", rows)
    assert len(rows) == expected["total"] == 1190
    assert 100 * exact.mean() == pytest.approx(expected["exact_match"], abs=1e-9)
    assert 100 * shared.mean() == pytest.approx(expected["f1"], abs=1e-9)
    assert exact.tolist() == [float(hit) for hit in official["xquad_en"]["em"]]
    np.testing.assert_allclose(shared, official["xquad_en"]["f1"], rtol=0, atol=1e-12)


def test_squad_scores_by_kind_of_prediction_are_the_published_ones(data_folder: Path) -> None:
    rows = squad(data_folder / "xquad_en")
    kinds = json.loads((data_folder / "xquad_en" / "expected_scores.json").read_text(encoding="utf-8"))[
        "by_kind"
    ]
    shared = values("squad_token_f1", rows)
    framed = [text.startswith("According to the passage, it is ") for text, _ in rows]
    assert sum(framed) == kinds["sentence"]["n"]
    assert 100 * shared[framed].mean() == pytest.approx(kinds["sentence"]["f1"], abs=1e-9)
    empty = [not text for text, _ in rows]
    assert sum(empty) == kinds["empty"]["n"]
    assert shared[empty].max() == 0.0


def test_squad_scores_with_several_answers_are_the_official_ones(evouna: list[Pair], official: dict) -> None:
    rows = [row for row in evouna if len(row[1]) > 1][:1000]
    expected = official["evouna_several_answers"]
    assert len(rows) == len(expected["em"]) == 1000
    assert values("squad_em", rows).tolist() == [float(hit) for hit in expected["em"]]
    np.testing.assert_allclose(values("squad_token_f1", rows), expected["f1"], rtol=0, atol=1e-12)


def test_squad_scores_of_odd_answers_are_the_official_ones(official: dict) -> None:
    rows = [(prediction, answers) for prediction, answers, _, _ in official["cases"]]
    assert values("squad_em", rows).tolist() == [exact for _, _, exact, _ in official["cases"]]
    expected = [shared for *_, shared in official["cases"]]
    np.testing.assert_allclose(values("squad_token_f1", rows), expected, rtol=0, atol=1e-12)


def test_rouge_l_is_that_of_rouge_score(pairs: list[tuple[str, str]]) -> None:
    scorer = pytest.importorskip("rouge_score.rouge_scorer").RougeScorer(["rougeL"])
    expected = np.array([tuple(scorer.score(reference, response)["rougeL"]) for response, reference in pairs])
    rows = [(response, [reference]) for response, reference in pairs]
    assert len(rows) == 2000
    for column, name in enumerate(("rouge_l_precision", "rouge_l_recall", "rouge_l")):
        np.testing.assert_allclose(values(name, rows), expected[:, column], rtol=0, atol=1e-9)


def test_rouge_l_of_several_references_is_the_best_of_rouge_score(evouna: list[Pair]) -> None:
    scorer = pytest.importorskip("rouge_score.rouge_scorer").RougeScorer(["rougeL"])
    rows = [row for row in evouna if len(row[1]) > 1][:300]
    expected = [scorer.score_multi(references, response)["rougeL"].fmeasure for response, references in rows]
    np.testing.assert_allclose(values("rouge_l", rows), expected, rtol=0, atol=1e-9)


def test_bleu_is_that_of_sacrebleu(pairs: list[tuple[str, str]]) -> None:
    sacrebleu = pytest.importorskip("sacrebleu")
    expected = [
        sacrebleu.sentence_bleu(response, [reference], smooth_method="exp", use_effective_order=True).score
        / 100
        for response, reference in pairs
    ]
    rows = [(response, [reference]) for response, reference in pairs]
    np.testing.assert_array_equal(values("bleu", rows), np.minimum(expected, 1.0))
    assert np.ptp(expected) > 0.9


SIGNS = st.sampled_from(
    [*"a1,.-\n &;'(\u3000é\x00", "the ", "&amp;", "&lt;", "<skipped>", "-\n", "1.5", "-3", ".."]
)
ODD = st.lists(SIGNS, max_size=14).map("".join) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=30
)


@settings(deadline=None)
@given(st.lists(st.tuples(ODD, ODD), min_size=1, max_size=6))
@example([("foo-\n", "foo-"), ("foo-\n", "foo"), ("foo", "foo-\n"), ("bar", "bar")])
def test_bleu_of_odd_texts_is_that_of_sacrebleu_to_the_bit(pairs: list[tuple[str, str]]) -> None:
    scorer = pytest.importorskip("sacrebleu.metrics.bleu").BLEU(effective_order=True)
    rows = [(response, [reference]) for response, reference in pairs if reference.strip()]
    expected = [
        min(1.0, scorer.sentence_score(response, references).score / 100) if response.strip() else 0.0
        for response, references in rows
    ]
    assert values("bleu", rows).tolist() == expected


@settings(deadline=None)
@given(ODD)
def test_mteval_words_are_the_tokens_of_sacrebleu(text: str) -> None:
    tokenizer = pytest.importorskip("sacrebleu.tokenizers.tokenizer_13a").Tokenizer13a()
    assert mteval_words(text) == tokenizer(text)


def test_the_unicode_tokenizer_agrees_with_rouge_score_on_plain_english(pairs: list[tuple[str, str]]) -> None:
    rows = [(response, [reference]) for response, reference in pairs if (response + reference).isascii()]
    assert len(rows) > 1000
    unicode = values('rouge_l(tokenizer="unicode")', rows)
    np.testing.assert_array_equal(unicode, values("rouge_l", rows))
