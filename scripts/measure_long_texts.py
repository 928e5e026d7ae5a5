"""Compare ways to embed texts that exceed the token limit of the embedded model.

Each check has a known answer and texts of more than 256 tokens, made from real ones. Filler is paragraphs of
other articles (XQuAD).

* halueval: SGI of right and hallucinated answers of equal length; 300 tokens of filler before the context.
* questions: rank the paragraph of a question (XQuAD) among others, each before or after 300 tokens of filler.
* summaries: rank the document of a summary (SummEdits) among other documents of more than 256 tokens.
* pairs: STS-B with 280 tokens of filler before one or both sentences; correlation with people's scores.
* ragtruth: SGI of supported and unsupported answers (RAGTruth QA), with all passages as one text.

    python scripts/measure_long_texts.py DATA_FOLDER [CHECK ...]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.stats import mannwhitneyu, spearmanr

from sgi.models.batching import equal_length_batches
from sgi.models.embedder.onnx import OnnxEmbedder
from sgi.models.files import embedded_files
from sgi.models.known_models import MODELS
from sgi.models.tokenizer import open_tokenizer, tokenize

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.random import Generator

Rows = list[dict[str, Any]]
Vectors = NDArray[np.float64]
T = TypeVar("T")

LIMIT = 256
ITEMS = 81
PARAGRAPHS = 40
QUESTIONS = 120
DOCUMENTS = 50
SUMMARIES = 200
PAIRS = 50


class Way(NamedTuple):
    """A way to embed a long text; without windows it is truncated at the limit.

    ``windows`` is ``fewest``: as few windows as cover the text, evenly spaced; or ``half``: windows that
    overlap by half. ``pool`` is ``mean``; ``weighted``: a mean weighted by the tokens that each window adds
    to those before it; or ``maximum``: two texts are compared by their most similar windows.
    """

    limit: int = LIMIT
    windows: str = ""
    pool: str = "mean"


WAYS = {
    "truncated at 256": Way(),
    "fewest windows, mean": Way(windows="fewest"),
    "fewest windows, maximum": Way(windows="fewest", pool="maximum"),
    "overlap of half, mean": Way(windows="half"),
    "overlap of half, weighted mean": Way(windows="half", pool="weighted"),
    "overlap of half, maximum": Way(windows="half", pool="maximum"),
    "truncated at 512": Way(limit=512),
}


class Model:
    """The embedded model; each input is computed once."""

    def __init__(self) -> None:
        files = embedded_files(MODELS["minilm"])
        self._network = OnnxEmbedder(files, threads=1).network()
        self._tokenizer = open_tokenizer(files.tokenizer, LIMIT)
        self._tokenizer.no_truncation()
        self._rows: dict[bytes, Vectors] = {}

    def length(self, text: str) -> int:
        """Return the number of tokens of a text."""
        return len(tokenize(self._tokenizer, [text]).ids[0])

    def embed(self, texts: Sequence[str], way: Way) -> list[Vectors]:
        """Return one unit vector for each text, or for each window, shape (windows, d)."""
        plans = [_inputs(ids, way) for ids in tokenize(self._tokenizer, texts).ids]
        self._compute([ids for plan in plans for ids, _ in plan])
        embedded = []
        for plan in plans:
            rows = np.stack([self._rows[ids.tobytes()] for ids, _ in plan])
            if way.pool != "maximum":
                added = np.array([tokens for _, tokens in plan], dtype=np.float64)
                mean = (added if way.pool == "weighted" else np.ones(len(plan))) @ rows
                rows = mean[None] / np.linalg.norm(mean)
            embedded.append(rows)
        return embedded

    def _compute(self, inputs: list[NDArray[np.int64]]) -> None:
        missing = list({ids.tobytes(): ids for ids in inputs if ids.tobytes() not in self._rows}.values())
        for batch in equal_length_batches([len(ids) for ids in missing], 2 * LIMIT):
            hidden = self._network.token_vectors(np.stack([missing[place] for place in batch]))
            for place, row in zip(batch.tolist(), hidden.mean(axis=1).astype(np.float64), strict=True):
                self._rows[missing[place].tobytes()] = row / np.linalg.norm(row)


def _inputs(ids: NDArray[np.int64], way: Way) -> list[tuple[NDArray[np.int64], int]]:
    """Return the inputs for a text, each with the number of tokens that it adds."""
    if len(ids) <= way.limit:
        return [(ids, len(ids))]
    if not way.windows:
        return [(np.append(ids[: way.limit - 1], ids[-1]), way.limit)]
    own, width = ids[1:-1], way.limit - 2
    last = len(own) - width
    count = -(-len(own) // width)
    starts = {
        "fewest": [last * place // (count - 1) for place in range(count)],
        "half": [*range(0, last, width // 2), last],
    }
    inputs, end = [], 0
    for start in starts[way.windows]:
        window = np.concatenate([ids[:1], own[start : start + width], ids[-1:]])
        inputs.append((window, start + width - end))
        end = start + width
    return inputs


def _cosine(left: Vectors, right: Vectors) -> float:
    return float((left @ right.T).max())


def _sgi(question: Vectors, context: Vectors, response: Vectors) -> float:
    to_question, to_context = (
        float(np.arccos(np.clip(_cosine(response, other), -1.0, 1.0))) for other in (question, context)
    )
    return to_question / max(to_context, 0.01)


def _sample(seed: int, items: Sequence[T], count: int) -> list[T]:
    places = np.random.default_rng(seed).permutation(len(items))[:count]
    return [items[place] for place in places.tolist()]


def _auroc(values: Vectors, labels: Vectors) -> float:
    right, wrong = values[labels == 1], values[labels == 0]
    return float(mannwhitneyu(right, wrong).statistic) / (len(right) * len(wrong))


def _reciprocal_rank(similarities: list[list[float]], places: list[int]) -> float:
    ranks = [
        sum(value > row[place] for value in row) + 1 for row, place in zip(similarities, places, strict=True)
    ]
    return float(np.mean(1 / np.array(ranks)))


class Checks:
    """The checks; each returns its figures for one way to embed."""

    def __init__(self, folder: Path, model: Model) -> None:
        self.folder = folder
        self.model = model
        articles = json.loads((folder / "xquad_en" / "xquad.en.json").read_text(encoding="utf-8"))["data"]
        self._paragraphs = [
            (name, paragraph) for name, article in enumerate(articles) for paragraph in article["paragraphs"]
        ]

    def halueval(self) -> Callable[[Way], str]:
        """Right and hallucinated answers of equal length."""
        rows = self._read("halueval_qa_lenmatched.jsonl")
        items = set(sorted({row["meta"]["item"] for row in rows})[:: len(rows) // 2 // ITEMS])
        rows = [row for row in rows if row["meta"]["item"] in items]
        random = np.random.default_rng(5)
        filler = {
            item: self._filler(random, 300) for item in dict.fromkeys(row["meta"]["item"] for row in rows)
        }
        near = [row["context"] for row in rows]
        long = [f"{filler[row['meta']['item']]} {row['context']}" for row in rows]
        return lambda way: " ".join(
            f"{name}: AUROC {self._auroc_of_sgi(rows, contexts, way):.3f}"
            for name, contexts in (("without filler", near), ("with filler", long))
        )

    def ragtruth(self) -> Callable[[Way], str]:
        """Answers of language models with the labels of people."""
        rows = self._read("ragtruth_qa_test.jsonl")
        joined = ["\n\n".join(row["context"]) for row in rows]
        beyond = sum(self.model.length(text) > LIMIT for text in joined)
        return lambda way: (
            f"{beyond} of {len(rows)} are long, AUROC {self._auroc_of_sgi(rows, joined, way):.3f}"
        )

    def questions(self) -> Callable[[Way], str]:
        """The paragraph of a question among others."""
        chosen = self._paragraphs[:: len(self._paragraphs) // PARAGRAPHS]
        asked = [(place, qa["question"]) for place, (_, own) in enumerate(chosen) for qa in own["qas"]]
        asked = _sample(1, asked, QUESTIONS)
        places, queries = [place for place, _ in asked], [text for _, text in asked]
        random = np.random.default_rng(2)
        filler = [self._filler(random, 300, article) for article, _ in chosen]
        texts = [own["context"] for _, own in chosen]
        first = [f"{text} {after}" for text, after in zip(texts, filler, strict=True)]
        last = [f"{before} {text}" for text, before in zip(texts, filler, strict=True)]
        return lambda way: " ".join(
            f"{name}: MRR {self._mrr(queries, documents, places, way):.3f}"
            for name, documents in (("at the beginning", first), ("at the end", last))
        )

    def summaries(self) -> Callable[[Way], str]:
        """The document of a summary among others."""
        rows = [
            row | {"document": " ".join(row["context"])} for row in self._read("entailment/summedits.jsonl")
        ]
        documents = sorted({row["document"] for row in rows})
        documents = _sample(7, documents, min(DOCUMENTS, len(documents)))
        documents = [text for text in documents if self.model.length(text) > LIMIT]
        right = {
            row["response"]: row["document"]
            for row in rows
            if row["label"] == 1 and row["document"] in documents
        }
        chosen = _sample(6, sorted(right), min(SUMMARIES, len(right)))
        places = [documents.index(right[text]) for text in chosen]
        return lambda way: f"MRR {self._mrr(chosen, documents, places, way):.4f} ({len(documents)} documents)"

    def pairs(self) -> Callable[[Way], str]:
        """Sentences with the similarity that people gave."""
        rows = _sample(3, self._read("stsb.jsonl"), PAIRS)
        random = np.random.default_rng(4)
        filler = [self._filler(random, 280) for _ in rows]
        scores = [row["meta"]["score"] for row in rows]
        left, right = ([row[name] for row in rows] for name in ("response", "reference"))
        long = [
            [f"{before} {text}" for before, text in zip(filler, texts, strict=True)]
            for texts in (left, right)
        ]

        def correlation(case: tuple[list[str], list[str]], way: Way) -> float:
            vectors = (self.model.embed(texts, way) for texts in case)
            return float(spearmanr([_cosine(*pair) for pair in zip(*vectors, strict=True)], scores)[0])

        cases = {"none": (left, right), "one": (long[0], right), "both": (long[0], long[1])}
        return lambda way: " ".join(
            f"{name} long: {correlation(case, way):.3f}" for name, case in cases.items()
        )

    def _read(self, name: str) -> Rows:
        with (self.folder / name).open(encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]

    def _filler(self, random: Generator, tokens: int, article: int = -1) -> str:
        """Return paragraphs of other articles with at least this many tokens."""
        parts: list[str] = []
        while self.model.length(" ".join(parts)) < tokens:
            name, paragraph = self._paragraphs[random.integers(len(self._paragraphs))]
            if name != article:
                parts.append(paragraph["context"])
        return " ".join(parts)

    def _auroc_of_sgi(self, rows: Rows, contexts: list[str], way: Way) -> float:
        columns = ([row["question"] for row in rows], contexts, [row["response"] for row in rows])
        values = [
            _sgi(*vectors)
            for vectors in zip(*(self.model.embed(texts, way) for texts in columns), strict=True)
        ]
        return _auroc(np.array(values), np.array([row["label"] for row in rows]))

    def _mrr(self, queries: list[str], documents: list[str], places: list[int], way: Way) -> float:
        vectors = self.model.embed(documents, way)
        similarities = [
            [_cosine(query, vector) for vector in vectors] for query in self.model.embed(queries, way)
        ]
        return _reciprocal_rank(similarities, places)


def main() -> None:
    """Print the figures of every check and way."""
    folder, *names = sys.argv[1:]
    checks = Checks(Path(folder), Model())
    for name in names or ("halueval", "questions", "summaries", "pairs", "ragtruth"):
        measure = getattr(checks, name)()
        for label, way in WAYS.items():
            print(f"{name}, {label}: {measure(way)}", flush=True)


if __name__ == "__main__":
    main()
