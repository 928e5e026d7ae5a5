"""Compare the ranks that generated questions give to systems with the ranks that other questions give.

Eight retrievers return parts of the documents, and four answerers return a sentence of what one found. A
set of questions gives each a mean: the share of the answer sentences in the retrieved parts, and the token F1
of the answer. Kendall's tau-b compares the order of the means of `sgi quiz` with that of the other
questions; its interval resamples the documents of both sets 1,000 times. The definition was fixed before the
first run.

    python scripts/quiz_study/compare_ranks.py xquad SHARED_DATA a|b -o ranks.json
    python scripts/quiz_study/compare_ranks.py docs PAGES -o ranks.json

Articles 1 to 24 of XQuAD (half a) were read while the rules of the quiz were written; 25 to 48 (half b) were
not. PAGES is a folder with the pages of the commit that README.md names. Needs the extra quiz and scipy.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.stats import kendalltau

import sgi
from sgi.metrics.grounding.words import split_words
from sgi.metrics.lexical import SquadTokenF1
from sgi.text.tokenizers import sentences
from sgi_quiz.build import build_quiz
from sgi_quiz.document_files import Documents

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from sgi_quiz.passages import Passage

K1, B = 1.5, 0.75
DRAWS, SEED, GENERATED = 1000, 0, 300
QUESTIONS = Path(__file__).with_name("docs_questions.jsonl")


class Unit(NamedTuple):
    """A sentence or a row of a table, with the passage that it is in."""

    passage: Passage
    text: str


class Part(NamedTuple):
    """What a retriever returns: consecutive units of a document."""

    units: tuple[int, ...]
    text: str


@dataclass(frozen=True)
class Asked:
    """A question with its answer, the units that have the answer, and the document for the resampling."""

    question: str
    answer: str
    gold: frozenset[int]
    document: str


class Corpus:
    """The units of documents, and the parts that they are split into."""

    def __init__(self, passages: Iterable[Passage]) -> None:
        self.units: list[Unit] = []
        self.of_passage: dict[tuple[str, int], list[int]] = defaultdict(list)
        for passage in passages:
            texts = passage.text.splitlines() if passage.cells else sentences(passage.plain)
            for text in texts:
                self.of_passage[passage.source, passage.number].append(len(self.units))
                self.units.append(Unit(passage, text))

    def parts(self, size: int) -> list[Part]:
        """Split the documents into parts of at most ``size`` characters, at the ends of units."""
        parts: list[Part] = []
        waiting: list[int] = []
        for number, unit in enumerate(self.units):
            same = waiting and self._place(waiting[0]) == self._place(number)
            if waiting and (
                not same or sum(len(self.units[one].text) for one in waiting) + len(unit.text) > size
            ):
                parts.append(self._part(waiting))
                waiting = []
            waiting.append(number)
        return [*parts, self._part(waiting)]

    def _place(self, number: int) -> tuple[str, tuple[str, ...]]:
        passage = self.units[number].passage
        return passage.id or passage.source, passage.headings

    def _part(self, numbers: Sequence[int]) -> Part:
        heading = " > ".join(self.units[numbers[0]].passage.headings)
        return Part(tuple(numbers), " ".join((heading, *(self.units[one].text for one in numbers))))

    def best(self, passage: tuple[str, int], answer: str) -> int:
        """Return the unit of a passage that shares most words with an answer."""
        wanted = set(words(answer))
        return max(
            self.of_passage[passage], key=lambda one: (len(wanted & {*words(self.units[one].text)}), -one)
        )


def words(text: str) -> list[str]:
    """Return the stems of the words of a text."""
    return list(split_words(text).stems)


class Bm25:
    """Ranks texts by BM25 (Robertson and Zaragoza, 2009, with k1 = 1.5 and b = 0.75)."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._counts = [Counter(words(text)) for text in texts]
        self._lengths = [counts.total() for counts in self._counts]
        frequencies = Counter(word for counts in self._counts for word in counts)
        number = len(texts)
        self._weights = {
            word: math.log(1 + (number - count + 0.5) / (count + 0.5)) for word, count in frequencies.items()
        }

    def scores(self, question: str) -> list[float]:
        """Return the score of each text."""
        asked, mean = set(words(question)), sum(self._lengths) / len(self._lengths)
        return [
            sum(
                self._weights[word]
                * counts[word]
                * (K1 + 1)
                / (counts[word] + K1 * (1 - B + B * length / mean))
                for word in asked & counts.keys()
            )
            for counts, length in zip(self._counts, self._lengths, strict=True)
        ]


def retrievers(corpus: Corpus) -> dict[str, Callable[[str], list[Part]]]:
    """Return the eight retrievers; the last one has lost every second part."""
    embedder = sgi.load_embedder()
    small, middle, large = (corpus.parts(size) for size in (300, 800, 2000))
    half = middle[::2]
    vectors = embedder.embed([part.text for part in middle])

    def by_words(parts: Sequence[Part], k: int) -> Callable[[str], list[Part]]:
        index = Bm25([part.text for part in parts])
        return lambda question: [
            parts[at] for at in np.argsort(index.scores(question), kind="stable")[::-1][:k]
        ]

    def by_vectors(k: int) -> Callable[[str], list[Part]]:
        def retrieve(question: str) -> list[Part]:
            scores = vectors @ embedder.embed([question])[0]
            return [middle[at] for at in np.argsort(scores, kind="stable")[::-1][:k]]

        return retrieve

    return {
        "BM25, 300 characters, k = 1": by_words(small, 1),
        "BM25, 300 characters, k = 5": by_words(small, 5),
        "BM25, 800 characters, k = 1": by_words(middle, 1),
        "BM25, 800 characters, k = 5": by_words(middle, 5),
        "BM25, 2,000 characters, k = 1": by_words(large, 1),
        "minilm, 800 characters, k = 1": by_vectors(1),
        "minilm, 800 characters, k = 5": by_vectors(5),
        "BM25, half of the parts, k = 5": by_words(half, 5),
    }


def answerers(corpus: Corpus) -> dict[str, Callable[[str, Sequence[Part]], str]]:
    """Return the four answerers; the last one answers with the last sentence that was found."""
    embedder = sgi.load_embedder()

    def found(parts: Sequence[Part]) -> list[str]:
        return [corpus.units[one].text for part in parts for one in part.units]

    def by_words(question: str, parts: Sequence[Part]) -> str:
        texts = found(parts)
        return texts[int(np.argmax(Bm25(texts).scores(question)))]

    def by_vectors(question: str, parts: Sequence[Part]) -> str:
        texts = found(parts)
        vectors = embedder.embed([question, *texts])
        return texts[int(np.argmax(vectors[1:] @ vectors[0]))]

    return {
        "sentence with the best BM25": by_words,
        "sentence with the nearest vector": by_vectors,
        "first sentence": lambda _question, parts: found(parts)[0],
        "last sentence": lambda _question, parts: found(parts)[-1],
    }


def measured(corpus: Corpus, asked: Sequence[Asked]) -> dict[str, dict[str, list[float]]]:
    """Return a value for each question, for each retriever and answerer."""
    search = retrievers(corpus)
    values: dict[str, dict[str, list[float]]] = {"retrievers": {}, "answerers": {}}
    for name, retrieve in search.items():
        values["retrievers"][name] = [
            len(one.gold & {unit for part in retrieve(one.question) for unit in part.units}) / len(one.gold)
            for one in asked
        ]
    retrieve = search["BM25, 800 characters, k = 5"]
    for name, answer in answerers(corpus).items():
        rows = [
            {"response": answer(one.question, retrieve(one.question)), "reference": one.answer}
            for one in asked
        ]
        values["answerers"][name] = sgi.evaluate(rows, SquadTokenF1())["squad_token_f1"].values.tolist()
    return values


def tau(left: Sequence[float], right: Sequence[float]) -> float:
    """Return Kendall's tau-b of two lists of means."""
    return float(kendalltau(left, right).statistic)


def compared(
    generated: Sequence[Asked], others: Sequence[Asked], values: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """Return means, tau with its interval, and the mean difference, for retrievers and answerers."""
    result: dict[str, Any] = {}
    for group in values[0]:
        tables = [np.array(list(one[group].values())) for one in values]
        means = [np.nanmean(table, axis=1) for table in tables]
        rng = np.random.default_rng(SEED)
        draws, shifts = [], []
        for _ in range(DRAWS):
            drawn = [
                np.nanmean(table[:, resampled(asked, rng)], axis=1)
                for table, asked in zip(tables, (generated, others), strict=True)
            ]
            draws.append(tau(*drawn))
            shifts.append(float(np.mean(drawn[0] - drawn[1])))
        result[group] = {
            "tau": round(tau(*means), 3),
            "interval": [round(float(x), 3) for x in np.nanquantile(draws, (0.025, 0.975))],
            "generated minus others": round(float(np.mean(means[0] - means[1])), 3),
            "interval of the difference": [round(float(x), 3) for x in np.quantile(shifts, (0.025, 0.975))],
            "means": {
                name: [round(float(mean[at]), 3) for mean in means]
                for at, name in enumerate(values[0][group])
            },
        }
    return result


def resampled(asked: Sequence[Asked], rng: np.random.Generator) -> list[int]:
    """Draw documents with replacement, and return the numbers of their questions."""
    by_document: dict[str, list[int]] = defaultdict(list)
    for number, one in enumerate(asked):
        by_document[one.document].append(number)
    names = sorted(by_document)
    return [number for at in rng.integers(len(names), size=len(names)) for number in by_document[names[at]]]


def generated_questions(
    corpus: Corpus, documents: Documents, documents_of: Callable[[Passage], str]
) -> list[Asked]:
    """Make a quiz, and return the questions that need no turn before them and that passages answer."""
    asked = []
    for question in build_quiz(documents, GENERATED, SEED).questions:
        if question.reference is None or question.turns or not question.passages:
            continue
        hints = question.sentence.split("\n") * len(question.passages)
        gold = frozenset(
            corpus.best((passage.source, passage.number), f"{question.reference} {hint}")
            for passage, hint in zip(question.passages, hints, strict=False)
        )
        asked.append(Asked(question.text, question.reference, gold, documents_of(question.passages[0])))
    return asked


def of_xquad(folder: Path, half: str) -> tuple[Corpus, list[Asked], list[Asked]]:
    """Return all paragraphs of XQuAD, and the generated and human questions of one half of the articles."""
    articles = json.loads((folder / "xquad_en" / "xquad.en.json").read_text("utf-8"))["data"]
    rows: list[dict[str, str]] = []
    human: list[tuple[int, int, Any]] = []
    kept = set(range(24) if half == "a" else range(24, 48))
    for at, article in enumerate(articles):
        for paragraph in article["paragraphs"]:
            rows.append({"id": f"{at}-{len(rows)}", "title": article["title"], "text": paragraph["context"]})
            human += [(at, len(rows) - 1, one) for one in paragraph["qas"] if at in kept]
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary, "paragraphs.jsonl")
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        documents = Documents.find([path], None)
        corpus = Corpus(documents.passages())
        made = generated_questions(corpus, documents, lambda passage: (passage.id or "").split("-")[0])
    asked = []
    for at, number, one in human:
        answer = one["answers"][0]
        before = rows[number]["text"][: answer["answer_start"] + len(answer["text"])]
        units = corpus.of_passage["paragraphs.jsonl", number]
        unit = units[min(max(len(sentences(before)) - 1, 0), len(units) - 1)]
        asked.append(Asked(one["question"], answer["text"], frozenset({unit}), str(at)))
    return corpus, [one for one in made if int(one.document) in kept], asked


def of_pages(folder: Path) -> tuple[Corpus, list[Asked], list[Asked]]:
    """Return the pages of a folder, with the generated questions and those of `QUESTIONS`."""
    documents = Documents.find([folder], None)
    corpus = Corpus(documents.passages())
    passages = list(documents.passages())
    asked = []
    for row in map(json.loads, QUESTIONS.read_text("utf-8").splitlines()):
        if not row["answerable"]:
            continue
        name, gold = Path(row["source"]).name, set()
        for text in row["gold_passages"]:
            page = [one for one in passages if one.source == name and one.plain]
            inside = [one for one in page if text in one.text or one.text in text]
            hint = f"{row['answer_text'] or row['reference']} {text}"
            best = [corpus.best((one.source, one.number), hint) for one in inside or page]
            gold |= (
                {*best}
                if inside
                else {max(best, key=lambda one: len({*words(hint)} & {*words(corpus.units[one].text)}))}
            )
        asked.append(Asked(row["question"], row["reference"], frozenset(gold), name))
    return corpus, generated_questions(corpus, documents, lambda passage: passage.source), asked


def main() -> None:
    """Write the comparison as JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("set", choices=["xquad", "docs"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("half", nargs="?", choices=["a", "b"], default="a")
    parser.add_argument("-o", "--out", type=Path, required=True)
    options = parser.parse_args()
    corpus, generated, others = (
        of_xquad(options.folder, options.half) if options.set == "xquad" else of_pages(options.folder)
    )
    values = [measured(corpus, asked) for asked in (generated, others)]
    result = {"generated": len(generated), "others": len(others), "units": len(corpus.units)}
    result |= compared(generated, others, values)
    options.out.write_text(json.dumps(result, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
