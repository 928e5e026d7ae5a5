"""The promise of a guard on good answers, its monitor of traffic, and how its score ranks real answers."""

from __future__ import annotations

import gzip
import json
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import stats
from simulations.harness import clusters_of, correlated, percent, section

from sgi.kernel.clusters import BY_QUESTION, cluster_number
from sgi.metrics.grounding.streaming import SENTENCE_MARGIN, StreamedAnswer
from sgi.service.guard_file import ANSWER_WORDS, SCORE, SIDES, fit_limit
from sgi.stats.conformal import one_row_per_cluster
from sgi.stats.ranking import auroc
from sgi.stats.traffic_monitor import ALARM, Evidence, traffic_limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from simulations.harness import Codes, Floats

    Values = dict[str, Floats]

QUESTIONS = (30, 60, 100, 300)
RATE = 0.05
SHARED = 0.8
"""Share of the variance between questions."""
BAD_SHARE = 0.1
ANSWERS, CHANGED_AFTER = 10_000, 5_000
MOST_SETS = 1000
_SPREAD = 0.5
"""Standard deviation of the logarithm of a number of words."""
_LONGER = math.log(2) / _SPREAD
_UNGROUNDED = -2.5
_LOWER = float(stats.norm.ppf(RATE) - stats.norm.ppf(3 * RATE))
"""Shift at which 15 % of the good answers are below the limit of 5 %."""
DATA = Path(os.environ.get("SGI_DATA_DIR", Path(__file__).parents[3] / "shared" / "data"))
CHOSEN_ON = ("answers/ragtruth_qa_extra.jsonl.gz", "answers/qa_feedback_dev.jsonl.gz")
REPORTED_ON = (
    "ragtruth_qa_test.jsonl",
    "answers/attributionbench_stanford_expertqa.jsonl.gz",
    "halueval_qa.jsonl",
    "begin.jsonl",
)
MARGINS = (0.0, 1.0, 1.5, 2.0, 3.0)
MIN_OTHERS = 20
_MOST_ROWS = 1000


class Sizes(NamedTuple):
    """How many answers a question has: from 1 to ``most``; ``slope`` lowers the scores of large questions."""

    name: str
    most: int
    slope: float = 0.0


CASES = (
    Sizes("one answer a question", 1),
    Sizes("1 to 10 answers", 10),
    Sizes("1 to 10 answers, more answers score lower", 10, -0.3),
)


def draw(generator: np.random.Generator, questions: int, sizes: Sizes) -> tuple[Floats, Codes]:
    """Draw normal scores of good answers, and their questions."""
    counts = generator.integers(1, sizes.most + 1, size=questions)
    codes = clusters_of(questions, counts)
    return correlated(generator, codes, SHARED) + sizes.slope * counts[codes], codes


def real_rate(limit: float, sizes: Sizes) -> float:
    """Return the share below a limit, of one answer to each new question."""
    means = sizes.slope * np.arange(1, sizes.most + 1)
    return float(stats.norm.cdf(limit - means).mean())


def as_score(normal: Floats) -> Floats:
    """Map normal scores to [0, 1]."""
    return np.asarray(stats.norm.cdf(normal / 4))


def promises(sets: int) -> Iterator[list[str]]:
    """Yield how often the real rate exceeds the promise, if a guard is fitted many times."""
    for sizes in CASES:
        for questions in QUESTIONS:
            generator = np.random.default_rng(questions)
            rates, naive = [], []
            for _ in range(sets):
                scores, codes = draw(generator, questions, sizes)
                chosen = one_row_per_cluster(codes, seed=int(generator.integers(1 << 30)))
                limit, promise = fit_limit(as_score(scores[chosen]), RATE)
                rates.append(real_rate(4 * stats.norm.ppf(limit), sizes))
                of_all, claimed = fit_limit(as_score(scores), RATE)
                naive.append(real_rate(4 * stats.norm.ppf(of_all), sizes) > claimed)
            exceeded = np.mean(np.array(rates) > promise)
            all_rows = percent(float(np.mean(naive))) if sizes.most > 1 else "–"
            cells = (percent(promise), percent(float(np.mean(rates))), percent(float(exceeded)), all_rows)
            yield [sizes.name, str(questions), *cells]


def unchanged(values: Values) -> Values:
    """Return traffic like the fitted answers."""
    return values


def ungrounded(values: Values) -> Values:
    """Return traffic whose answers are all ungrounded."""
    return values | {SCORE: values[SCORE] + _UNGROUNDED}


def longer(values: Values) -> Values:
    """Return traffic with answers that are twice as long."""
    return values | {ANSWER_WORDS: values[ANSWER_WORDS] + _LONGER}


def lower(values: Values) -> Values:
    """Return traffic in which 15 % of the good answers are blocked."""
    return values | {SCORE: values[SCORE] + _LOWER}


CHANGES: dict[str, Callable[[Values], Values]] = {
    "all answers ungrounded": ungrounded,
    "answers twice as long": longer,
    "15 % of the good answers blocked": lower,
}


def withdrawals(
    questions: int,
    sets: int,
    change: Callable[[Values], Values],
    *,
    bad: float,
    answers: int,
    after: int = 0,
) -> Floats:
    """Return after how many answers since the change each guard withdraws; infinite if it does not.

    A negative number is a withdrawal before the change. Bad answers score lower and are longer.
    """
    generator = np.random.default_rng(questions)
    fits = [
        traffic_limits(
            {name: generator.normal(size=questions) for name in SIDES}, SIDES, other_share=BAD_SHARE
        )
        for _ in range(sets)
    ]
    names, signs = zip(*((each.value, 1 if each.side == "below" else -1) for each in fits[0]), strict=True)
    limits = np.array(signs) * np.array([[each.limit for each in fit] for fit in fits])
    evidence = Evidence([[each.share for each in fit] for fit in fits])
    found = np.full(sets, math.inf)
    for answer in range(1, answers + 1):
        values = {name: generator.normal(size=sets) for name in SIDES}
        is_bad = generator.random(sets) < bad
        values[SCORE] = values[SCORE] + np.where(is_bad, _UNGROUNDED, 0)
        values[ANSWER_WORDS] = values[ANSWER_WORDS] + np.where(is_bad, 1.0, 0)
        values = values if answer <= after else change(values)
        evidence.add(np.array(signs) * np.stack([values[name] for name in names], axis=1) < limits)
        found[(evidence.total >= ALARM) & np.isinf(found)] = answer - after
        if np.isfinite(found).all():
            break
    return found


def false_withdrawals(sets: int) -> Iterator[list[str]]:
    """Yield the share of guards that withdraw their promise without a change."""
    for bad in (0.0, BAD_SHARE):
        for questions in QUESTIONS[1:]:
            found = withdrawals(questions, sets, unchanged, bad=bad, answers=ANSWERS)
            yield [percent(bad), str(questions), percent(float(np.isfinite(found).mean()))]


def delays(sets: int) -> Iterator[list[str]]:
    """Yield the number of answers until the promise is withdrawn."""
    for name, change in CHANGES.items():
        for after in (0, CHANGED_AFTER):
            for questions in QUESTIONS[1:]:
                found = withdrawals(questions, sets, change, bad=0.05, answers=after + 5000, after=after)
                median = np.quantile(found, 0.5, method="higher")
                shown = f"{median:,.0f}" if math.isfinite(median) else "–"
                yield [name, str(after), str(questions), shown, percent(float(np.isfinite(found).mean()))]


class RealAnswers(NamedTuple):
    """Scores of real answers.

    Attributes:
        label: whether each is good.
        question: the question of each.
        whole: the log odds of the whole answer.
        alone: the lowest log odds of a sentence alone, with `SENTENCE_MARGIN`.
        early: the same, without the last sentence.
        prefix: the lowest log odds of the answer up to the end of a sentence.
    """

    label: Codes
    question: Codes
    whole: Floats
    alone: Floats
    early: Floats
    prefix: Floats


def real_answers(file: str) -> RealAnswers:
    """Score the rows of a file, at most a thousand; rows without a score are left out."""
    rows = []
    for number, row in enumerate(_rows(DATA / file)[:_MOST_ROWS]):
        contexts = [row["context"]] if isinstance(row["context"], str) else row["context"]
        question = row.get("question") or ""
        answer = StreamedAnswer(question, contexts)
        odds, prefixes = [], []
        for sentence in answer.feed(row["response"], last=True):
            support = answer.support(sentence)
            answer.add(sentence, support)
            odds.append(support.log_odds)
            prefixes.append(answer.whole().log_odds)
        whole = answer.whole()
        if not (answer.problem or whole.problem):
            code = cluster_number(BY_QUESTION, number, question=question, contexts=contexts)
            lowest, early = min(odds, default=math.inf), min(odds[:-1], default=math.inf)
            prefix = min((each for each in prefixes if not math.isnan(each)), default=math.inf)
            rows.append((int(row["label"]), code, whole.log_odds, lowest, early, prefix))
    return RealAnswers(*map(np.array, zip(*rows, strict=True)))


def _rows(path: Path) -> list[dict[str, Any]]:
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    rows = [json.loads(line) for line in content.splitlines()]
    if "right_answer" in rows[0]:
        return [
            {"question": row["question"], "context": row["knowledge"], "response": row[name], "label": label}
            for row in rows
            for name, label in (("right_answer", 1), ("hallucinated_answer", 0))
        ]
    return [row for row in rows if row["label"] is not None]


def rankings(data: dict[str, RealAnswers]) -> Iterator[list[str]]:
    """Yield the AUROC of the score by margin, and what it catches where 5 % of the good are blocked."""
    for file, found in data.items():
        name = Path(file).stem.removesuffix(".jsonl")
        yield [name, "whole answer", *_ranking(found, found.whole)]
        yield [name, "beginnings", *_ranking(found, np.minimum(found.whole, found.prefix))]
        for margin in MARGINS:
            shift = margin - SENTENCE_MARGIN
            scores = np.minimum(found.whole, found.alone + shift)
            yield [name, f"sentences + {margin:g}", *_ranking(found, scores, found.early + shift)]


def _ranking(found: RealAnswers, odds: Floats, early: Floats | None = None) -> list[str]:
    """Return the number of rows, the AUROC, and what is caught, also before the last sentence."""
    scores = np.nan_to_num(odds, posinf=1e3)
    limit = np.quantile(scores[found.label == 1], RATE, method="lower")
    bad = found.label == 0
    before = math.nan if early is None else float((early[bad] < limit).mean())
    area = auroc(scores, found.label)
    return [str(len(scores)), f"{area:.3f}", percent(float((scores[bad] < limit).mean())), percent(before)]


def real_promises(data: dict[str, RealAnswers], sets: int) -> Iterator[list[str]]:
    """Yield how often the rate of real good answers exceeds the promise, each question counting once.

    The set is the population: questions are drawn from it with replacement, and for each one of its answers.
    The second way fits on a part of the questions, and counts the others, if they are as many.
    """
    for file in REPORTED_ON:
        found = data[file]
        good = found.label == 1
        odds = np.minimum(found.whole, found.alone)[good]
        scores = np.where(np.isinf(odds), np.inf, 1 / (1 + np.exp(-odds)))
        _, codes, sizes = np.unique(found.question[good], return_inverse=True, return_counts=True)
        first, order, count = np.cumsum(sizes) - sizes, np.argsort(codes, kind="stable"), len(sizes)
        for questions in QUESTIONS:
            if count < questions + MIN_OTHERS:
                continue
            generator = np.random.default_rng(questions)
            of_set, of_others = [], []
            for _ in range(sets):
                drawn, split = generator.choice(count, questions), generator.permutation(count)
                for chosen, rest, rates in (
                    (drawn, np.arange(count), of_set),
                    (split[:questions], split[questions:], of_others),
                ):
                    place = (generator.random(questions) * sizes[chosen]).astype(np.int64)
                    limit, promise = fit_limit(scores[order[first[chosen] + place]], RATE)
                    counted = np.isin(codes, rest)
                    rates.append(
                        float(np.average(scores[counted] < limit, weights=1 / sizes[codes[counted]]))
                    )
            name = Path(file).stem.removesuffix(".jsonl")
            others = _rates(of_others, promise) if count >= 2 * questions else ["–", "–"]
            yield [name, f"{count:,}", str(questions), percent(promise), *_rates(of_set, promise), *others]


def _rates(rates: list[float], promise: float) -> list[str]:
    """Return the mean rate, and the share of rates above the promise."""
    return [percent(float(np.mean(rates))), percent(float(np.mean(np.array(rates) > promise)))]


def tables(sets: int) -> Iterator[str]:
    """Yield the tables; those of real answers need the data sets in SGI_DATA_DIR."""
    columns = (
        "good answers",
        "questions",
        "promise",
        "mean real rate",
        "rate above the promise",
        "with all rows",
    )
    yield section(f"Promise, {sets:,} fits", columns, promises(sets))
    some = min(sets, MOST_SETS)
    columns = ("bad answers", "questions", "withdrawn")
    title = f"False withdrawals in {ANSWERS:,} answers, {some:,} guards"
    yield section(title, columns, false_withdrawals(some))
    columns = (
        "change",
        "after answers",
        "questions",
        "median answers until withdrawal",
        "withdrawn in 5,000",
    )
    yield section(f"Answers until a withdrawal, {some // 5:,} guards", columns, delays(max(1, some // 5)))
    if not DATA.is_dir():
        return
    data = {file: real_answers(file) for file in (*CHOSEN_ON, *REPORTED_ON)}
    columns = ("answers", "lowest score of", "rows", "AUROC", "caught", "caught before the last sentence")
    yield section("What the score is computed of", columns, rankings(data))
    columns = (
        *("good answers", "questions of the set", "fitted", "promise", "mean rate of the set"),
        *(
            "rate of the set above the promise",
            "mean rate of the others",
            "rate of the others above the promise",
        ),
    )
    yield section(f"Promise on real answers, {some:,} fits", columns, real_promises(data, some))
