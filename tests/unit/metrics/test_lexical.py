import subprocess
import sys

import numpy as np
import pytest

import sgi
from sgi.kernel.metric import Scores
from sgi.kernel.registry import BUILT_IN, metric
from sgi.kernel.sample import Batch, Sample
from sgi.kernel.vectors import Features
from sgi.metrics.lexical import RougeL, RougeLRecall
from sgi.metrics.references import best_reference, not_blank, pairs_of
from sgi.text.token_columns import TokenColumn
from sgi.text.tokenizers import rouge_words

NAMES = [name for name, place in BUILT_IN.items() if place.startswith("sgi.metrics.lexical:")]
GOLDEN = ("Paris is the capital of France.", "The capital of France is Paris.")


def scored(name: str, *rows: tuple[str, str | list[str]]) -> Scores:
    samples = [Sample(id=str(i), response=r, reference=g) for i, (r, g) in enumerate(rows)]
    return metric(name).score(Batch.of(samples), Features())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("bleu", 0.2907),
        ("rouge_l", 4 / 6),
        ("rouge_l_precision", 4 / 6),
        ("rouge_l_recall", 4 / 6),
        ("squad_em", 0.0),
        ("squad_token_f1", 1.0),
        ("content_f1", 1.0),
        ("lexical_aggregate", 0.5539),
    ],
)
def test_the_golden_pair(name: str, value: float) -> None:
    # "the capital of France" is common to six tokens on either side; case counts for BLEU, as in sacrebleu.
    assert scored(name, GOLDEN).values[0] == pytest.approx(value, abs=5e-5)
    assert scored(name, GOLDEN[::-1]).values[0] == pytest.approx(value, abs=5e-5)


@pytest.mark.parametrize("name", NAMES)
def test_a_blank_response_is_a_bad_answer(name: str) -> None:
    scores = scored(name, ("", "Paris is it"), (" \n\u3000", "Paris is it"))
    assert scores.values.tolist() == [0.0, 0.0]
    assert scores.reasons == ("", "")


@pytest.mark.parametrize("name", NAMES)
def test_a_blank_reference_leaves_nothing_to_measure(name: str) -> None:
    scores = scored(name, ("Paris", ""), ("Paris", [" ", "\n"]), ("", " "))
    assert scores.status.tolist() == ["undefined"] * 3
    assert set(scores.reasons) == {"the reference is blank"}


@pytest.mark.parametrize("name", NAMES)
def test_the_best_of_several_references_counts(name: str) -> None:
    answers = ["something else entirely", " ", "Paris it is", "Paris"]
    several = scored(name, ("Paris it was", answers)).values[0]
    each = [scored(name, ("Paris it was", answer)).values[0] for answer in answers if answer.strip()]
    if name == "lexical_aggregate":  # its parts take their best one by one
        assert several >= max(each)
    else:
        assert several == max(each)


def test_case_counts_for_bleu_alone() -> None:
    pair = ("the capital of france is paris now", "The Capital Of France Is Paris Now")
    assert scored("bleu", pair).values[0] == 0.0
    assert all(scored(name, pair).values[0] == 1.0 for name in ("rouge_l", "squad_em", "content_f1"))


def test_bleu_reads_the_whole_text_and_not_its_first_sentence() -> None:
    first, both = "Paris is the capital.", "Paris is the capital. It lies on the river Seine."
    assert scored("bleu", (first, both)).values[0] < 0.5
    assert scored("bleu", (both, both)).values[0] == 1.0


def test_bleu_asks_no_more_words_of_a_short_answer_than_it_has() -> None:
    assert scored("bleu", ("Paris", "Paris"), ("in Paris", "in Paris")).values.tolist() == [1.0, 1.0]


def test_precision_and_recall_know_their_side() -> None:
    pair = ("Paris France", "It is Paris, the capital of France")
    assert scored("rouge_l_precision", pair).values[0] == 1.0
    assert scored("rouge_l_recall", pair).values[0] == 2 / 7
    assert scored("rouge_l", pair).values[0] == pytest.approx(2 * 2 / 9, abs=1e-15)
    assert scored("rouge_l(beta=3)", pair).values[0] == pytest.approx(10 * (2 / 7) / (9 + 2 / 7), abs=1e-15)


@pytest.mark.parametrize("name", ["rouge_l", "rouge_l_precision", "rouge_l_recall"])
def test_texts_in_other_scripts_are_read_by_unicode_tokens(name: str) -> None:
    pair = ("東京は日本の首都です。", "東京は日本の首都です。")
    assert scored(f'{name}(tokenizer="unicode")', pair).values[0] == 1.0
    assert scored(name, pair).status.tolist() == ["undefined"]


FACTS = [  # two facts that share a number or a Latin name, and the ROUGE-L of their words
    ("Завод построен в 1931 году", "Завод закрыт в 1931 году", 4 / 5),
    ("Η γέφυρα έχει μήκος 900 μέτρα", "Το λιμάνι έχει βάθος 900 εκατοστά", 2 / 6),
    ("הגשר נבנה בשנת 1960", "המלון נסגר בשנת 1960", 2 / 4),
    ("الجسر طوله 300 متر", "السفينة وزنها 300 طن", 1 / 4),
    ("पुल 1960 में बना", "होटल 1960 में बंद हुआ", 2 * 2 / 9),
    ("สะพานสร้างปี 1960", "โรงแรมปิดปี 1960", None),
    ("다리는 1960년에 지어졌다", "호텔은 1960년에 닫혔다", 1 / 3),
    ("橋は1960年に完成した", "ホテルは1960年に閉館した", None),
    ("大桥建于1960年", "酒店关闭于1960年", 2 * 3 / 13),
    ("他用 Windows 写作", "我讨厌 Windows 系统", 2 / 11),
    ("Тhе рriсе is 40", "Тhе sресs аrе 40", None),
]  # fmt: skip


@pytest.mark.parametrize(("response", "reference", "value"), FACTS)
def test_texts_that_share_a_number_do_not_match_if_their_letters_are_not_read(
    response: str, reference: str, value: float | None
) -> None:
    for name in ("rouge_l", "rouge_l_precision", "rouge_l_recall", "lexical_aggregate"):
        scores = scored(name, (response, reference), ("The bridge", reference), (response, ["The bridge"]))
        assert scores.status.tolist() == ["undefined"] * 3
        shown = [next(kind for kind in ("response", "reference") if kind in r) for r in scores.reasons]
        assert shown == ["response", "reference", "response"]
        assert all('tokenizer="unicode"' in reason for reason in scores.reasons)
    by_words = scored('rouge_l(tokenizer="unicode")', (response, reference)).values[0]
    assert by_words < 0.9
    if value is not None:
        assert by_words == pytest.approx(value)
    assert scored('lexical_aggregate(tokenizer="unicode")', (response, reference)).values[0] < 0.9


@pytest.mark.parametrize(
    "text",
    [
        *("42", "8½", "…", "👍", "Der Bär frißt gern süße Äpfel", "“Yes” – she said 🎉"),
        "The novelist Лев Толстой was born at Yasnaya Polyana in 1828.",
    ],
)
def test_foreign_letters_and_signs_that_are_a_small_part_change_nothing(text: str) -> None:
    rows = [
        (text, "Seine"),
        ("Seine", text),
        (f"Seine {text}", f"Seine {text}"),
        ("Seine", ["大桥", "Seine"]),
    ]
    has_tokens = any(sign.isascii() and sign.isalnum() for sign in text)
    for name in ("rouge_l", "lexical_aggregate"):
        assert scored(name, *rows).ok.tolist() == [True, has_tokens or name != "rouge_l", True, True]
    assert scored("rouge_l", *rows[2:]).values.tolist() == [1.0, 1.0]


def test_the_aggregate_of_words_of_any_script_ignores_their_punctuation() -> None:
    pairs = [("五味子。", "五味子"), ("Налог вырос!", "налог вырос"), ("नमक है।", "नमक है")]
    whole = scored('lexical_aggregate(tokenizer="unicode")', *pairs)
    assert whole.values.tolist() == pytest.approx([1.0] * 3)
    assert whole.details[0] == {"bleu": 1.0, "rouge_l": 1.0, "content_f1": 1.0, "squad_em": 1.0}


@pytest.mark.parametrize(
    ("response", "reference"),
    [("我用 Windows 写作", "他恨 Windows 系统"), ("눈이 iPhone 많이", "삼성 iPhone 성장")],
)
def test_short_words_of_dense_scripts_are_content(response: str, reference: str) -> None:
    assert scored("content_f1", (response, reference)).values[0] == pytest.approx(1 / 3)


def test_content_words_keep_their_marks() -> None:
    scores = scored("content_f1", ("भारत में नमक", "दूरी नमक"), ("Cafe\u0301", "café"))
    assert scores.values.tolist() == pytest.approx([0.4, 1.0])


def test_unicode_tokens_need_a_letter_too() -> None:
    scores = scored('rouge_l(tokenizer="unicode")', ("🙂", "🙂"))
    assert scores.reasons == ("the reference has no letter and no digit",)


def test_a_reference_of_articles_and_punctuation_has_no_token_f1() -> None:
    scores = scored("squad_token_f1", ("Paris", "the"), ("", "?!"), ("Paris", ["the", "Paris"]))
    assert scores.status.tolist() == ["undefined", "undefined", "ok"]
    assert scores.reasons[0] == "the reference has only punctuation and articles"


def test_choices_by_letter_are_answers_too() -> None:
    rows = [("A", "A"), ("B", "A"), ("A", "B"), ("a.", "A"), ("", "A"), (" ", "?!")]
    assert scored("squad_em", *rows).values.tolist() == [1.0, 0.0, 0.0, 1.0, 0.0, 0.0]


def test_a_reference_without_content_words_has_no_content_f1() -> None:
    scores = scored("content_f1", ("No", "No"), ("1889", "1889"), ("1889", "in the year 1889"))
    assert scores.status.tolist() == ["undefined", "undefined", "ok"]
    assert scores.values[2] == 0.0


def test_the_aggregate_is_the_weighted_sum_of_its_parts() -> None:
    rows = [GOLDEN, ("Paris", ["Paris", "city of Paris"]), ("Rome it is", "Paris")]
    parts = {name: scored(name, *rows).values for name in ("bleu", "rouge_l", "content_f1", "squad_em")}
    whole = scored("lexical_aggregate", *rows)
    expected = (
        0.3 * parts["bleu"] + 0.4 * parts["rouge_l"] + 0.2 * parts["content_f1"] + 0.1 * parts["squad_em"]
    )
    np.testing.assert_allclose(whole.values, expected, rtol=0, atol=1e-15)
    assert whole.details[1] == {name: values[1] for name, values in parts.items()}


def test_the_aggregate_leaves_out_a_part_without_value_and_raises_the_others() -> None:
    scores = scored("lexical_aggregate", ("1889", "1889"), ("in 1889", "1889"))
    assert scores.values[0] == pytest.approx(1.0)
    bleu, rouge = (scored(name, ("in 1889", "1889")).values[0] for name in ("bleu", "rouge_l"))
    assert scores.values[1] == pytest.approx((0.3 * bleu + 0.4 * rouge) / 0.8)
    assert scores.details[0] == {"bleu": 1.0, "rouge_l": 1.0, "content_f1": None, "squad_em": 1.0}


def test_one_beta_has_one_name() -> None:
    assert RougeL(beta=2).canonical == RougeL(beta=2.0).canonical == "rouge_l(beta=2.0)"
    assert RougeL(beta=1) == RougeL()


def test_what_computes_is_loaded_only_when_something_is_scored() -> None:
    heavy = {"sacrebleu", "rapidfuzz", "regex", "sentencex", "rouge_score", "nltk"}
    rooms = "sgi.metrics.lexical, sgi.metrics.similarity, sgi.text.tokenizers, sgi.text.overlap"
    code = f"import sys, {rooms}; print(sorted({heavy} & set(sys.modules)))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_a_beta_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="beta"):
        RougeL(beta=float("nan"))


PAIR = {"response": "The capital of France is Paris.", "reference": "Paris is the capital of France."}


def test_it_is_the_weighted_mean_of_its_two_parts():
    result = sgi.evaluate(
        [PAIR],
        [
            "semantic_similarity",
            "lexical_aggregate",
            "reference_aggregate",
            "reference_aggregate(weight=0.5)",
        ],
    )
    meaning, wording = (result[name].values[0] for name in ("semantic_similarity", "lexical_aggregate"))
    assert wording == pytest.approx(0.5539, abs=1e-4)
    assert result["reference_aggregate"].values[0] == pytest.approx(0.9 * meaning + 0.1 * wording)
    assert result["reference_aggregate(weight=0.5)"].values[0] == pytest.approx((meaning + wording) / 2)
    assert result["reference_aggregate"].details[0]["parts"] == pytest.approx(
        {"semantic_similarity": meaning, "lexical_aggregate": wording}
    )


def score(chosen, rows, features):
    return chosen.score(chosen.prepare(rows), features)


def test_a_part_without_a_value_is_left_out_and_a_failed_one_fails_the_row():
    rows = Batch.of([Sample(id="1", response="a", reference=" ")])
    blank = score(metric("reference_aggregate"), rows, Features())
    assert blank.values.tolist() == [0.0]
    assert blank.details[0]["parts"]["lexical_aggregate"] is None
    pair = Batch.of([Sample(id="1", response="a", reference="b")])
    failed = score(metric("reference_aggregate"), pair, Features(failures={"demo": "it is away"}))
    assert failed.status.tolist() == ["failed"]
    only_words = score(metric("reference_aggregate(weight=0)"), pair, Features(failures={"demo": "away"}))
    assert only_words.ok.tolist() == [True]


def test_it_uses_the_models_of_semantic_similarity():
    assert metric("reference_aggregate").embedder_names(("a", "b")) == ("a", "b")
    batch = Batch.of([Sample(id="1", **PAIR)])
    chosen = metric("reference_aggregate")
    assert list(chosen.texts(chosen.prepare(batch))) == [PAIR["response"], PAIR["reference"]]


def rows(*pairs: tuple[str, list[str]]) -> Batch:
    return Batch.of([Sample(id=str(i), response=r, reference=g) for i, (r, g) in enumerate(pairs)])


def test_the_best_comparison_of_each_row_is_kept() -> None:
    batch = rows(("a b", ["a", "a b c", ""]), ("a", ["a b c d"]))
    numbers, comparable = np.array([0.5, 2 / 3, 0.9, 0.25]), np.array([True, True, False, True])
    assert best_reference(batch, numbers, comparable=comparable).values.tolist() == [2 / 3, 0.25]


def test_a_blank_reference_and_an_empty_one_have_their_own_reasons() -> None:
    batch = rows(("a", [" ", ""]), ("a", ["?", " "]), ("", ["?"]), ("a", ["a", ""]))
    comparable = np.array([False] * 5 + [True, False])
    scores = best_reference(batch, comparable.astype(float), comparable=comparable, empty="nothing left")
    assert scores.reasons == ("the reference is blank", "nothing left", "nothing left", "")
    assert not_blank(batch).tolist() == [False, False, True, False, True, True, False]


def test_the_pairs_are_every_reference_beside_its_response() -> None:
    pairs = pairs_of(rows(("a b", ["b", "a b"]), ("c", ["c d"])), rouge_words)
    assert pairs.in_order.precision.tolist() == [0.5, 1.0, 1.0]
    assert pairs.in_bags.recall.tolist() == [1.0, 1.0, 0.5]
    assert pairs.have_tokens.tolist() == [True, True, True]


def test_metrics_of_one_batch_share_its_tokens(monkeypatch) -> None:
    tokenized = []
    tokenize = TokenColumn.of
    monkeypatch.setattr(
        TokenColumn, "of", lambda texts, words: tokenized.append(texts) or tokenize(texts, words)
    )
    batch = rows(("a b", ["b"]))
    for made in (RougeL(), RougeLRecall()):
        made.score(batch, Features())
    assert tokenized == [("a b", "b")]
