"""Data and models of a reproduction, opened lazily and once."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sgi.engine.progress import silent
from sgi.geometry.passages import LEAST_SEPARATION
from sgi.kernel.errors import DataError
from sgi.kernel.signature import run_signature
from sgi.stats.conformal import one_row_per_cluster
from sgi.stats.confounds import matched_rows
from sgi_lab.paper.paper_answers import Answers, AnswerVectors, embed_answers
from sgi_lab.paper.published import REPORTED_MODEL, paper_model

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from sgi.engine.progress import Listener
    from sgi.kernel.protocols import Embedder
    from sgi.kernel.sample import Sample

SampleName = Literal["paper", "full", "matched"]
SAMPLES: tuple[SampleName, ...] = ("paper", "full", "matched")

SHORTEST = 20
"""Least length of an answer in the author's loader, in characters."""
MOST = 5000
"""Greatest number of answers in the paper's sample."""
DRAWS = 200
"""Number of draws that show how much a number depends on the draw."""


@dataclass(frozen=True, eq=False)
class Selection:
    """A selection of answers.

    ``rows`` are ascending row numbers, shape (m,); ``filtered`` counts omitted rows by reason.
    """

    name: SampleName
    rows: NDArray[np.int64]
    filtered: Mapping[str, int] = field(default_factory=dict)

    @property
    def omissions(self) -> str:
        """Describe the omitted rows."""
        return "; ".join(f"{rows:,} {reason}" for reason, rows in self.filtered.items() if rows) or "nothing"


def select(answers: Answers, name: SampleName, *, seed: int = 0) -> Selection:
    """Select the rows of a sample.

    * ``paper``: the selection of the author's published loader: one random answer per item, then only answers
      of at least 20 characters, then the first 5,000. Most correct answers are shorter, so about 84 % of the
      selected answers are hallucinated.
    * ``full``: every answer.
    * ``matched``: for each length in characters, equally many answers of both classes, so that length is
      uninformative.
    """
    everything = np.arange(len(answers.labels))
    if name == "full":
        return Selection(name, everything)
    if name == "matched":
        values = matched_rows(answers.lengths, answers.labels, seed=seed)
        return Selection(name, values, {"without a partner of equal length": len(everything) - len(values)})
    return _paper_sample(answers, seed)


def _paper_sample(answers: Answers, seed: int) -> Selection:
    one = one_row_per_cluster(answers.clusters, seed=seed)
    long = one[answers.lengths[one] >= SHORTEST]
    filtered = {
        "other answers of the same items": len(answers.labels) - len(one),
        f"answers shorter than {SHORTEST} characters": len(one) - len(long),
        f"answers after the first {MOST:,}": max(0, len(long) - MOST),
    }
    return Selection("paper", long[:MOST], filtered)


HALUEVAL, TRUTHFULQA = "halueval_qa", "truthfulqa"


@dataclass(eq=False)
class Study:
    """Answers of one benchmark, with embeddings by each model.

    ``embedders`` are models by the names that the user gave; ``measured`` caches embeddings by model.
    """

    answers: Answers
    embedders: Mapping[str, Embedder]
    seed: int = 0
    listener: Listener = silent
    measured: dict[str, AnswerVectors] = field(default_factory=dict)
    _draws: dict[SampleName, tuple[NDArray[np.int64], ...]] = field(default_factory=dict)

    @property
    def models(self) -> tuple[str, ...]:
        """Model names."""
        return tuple(self.embedders)

    @property
    def reported_model(self) -> str:
        """The model for single-model results: the paper's choice, mpnet, or the first one."""
        return next((name for name in self.models if paper_model(name) == REPORTED_MODEL), self.models[0])

    def of(self, model: str) -> AnswerVectors:
        """Return the embeddings of all answers by the model."""
        if model not in self.measured:
            self.measured[model] = AnswerVectors.of(model, self.embedders[model], self.answers, self.listener)
        return self.measured[model]

    def embed_answers(self, model: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return vectors of length 1 of further texts, in their order."""
        return embed_answers(model, self.embedders[model], texts, self.listener).rows

    def rows(self, name: SampleName) -> Selection:
        """Return the answers that a named sample selects."""
        return self._selections[name]

    @cached_property
    def _selections(self) -> dict[SampleName, Selection]:
        return {name: select(self.answers, name, seed=self.seed) for name in SAMPLES}

    def draws(self, name: SampleName) -> tuple[NDArray[np.int64], ...]:
        """Return the row numbers of `DRAWS` random samples with consecutive seeds; none for ``full``."""
        if name not in self._draws:
            count = 0 if name == "full" else DRAWS
            draws = (select(self.answers, name, seed=self.seed + draw).rows for draw in range(count))
            self._draws[name] = tuple(draws)
        return self._draws[name]

    def sample(self, name: SampleName) -> Selection:
        """Return the rows of the sample for an experiment.

        Raises:
            DataError: the sample does not have both classes.
        """
        selection = self.rows(name)
        labels = self.answers.labels[selection.rows]
        if labels.all() or not labels.any():
            text = f"leaves {len(labels):,} answers and not both classes in the sample {name!r}"
            hint = "Give more answers, or another --answers."
            raise DataError(text, file=self.answers.name, hint=hint)
        return selection

    def caveats(self) -> Iterator[str]:
        """Yield data problems: truncated contexts and undefined angles."""
        for model in self.models:
            measured = self.of(model)
            if measured.cut:
                yield f"{model}: {measured.cut:,} contexts exceed the model's limit and were truncated."
            near = int((measured.theta_rc < LEAST_SEPARATION).sum())
            if near:
                yield (
                    f"{model}: {near:,} answers equal their context, so only ε limits their SGI. Means and d "
                    "of SGI are meaningless here; AUROC is not affected."
                )
            same = int((measured.theta_qc < LEAST_SEPARATION).sum())
            if same:
                yield f"{model}: {same:,} answers have their question as context, and an SGI of 1."

    def settings(self, selection: Selection | None = None) -> dict[str, Any]:
        """Return the settings that affect a number, apart from the model."""
        about: dict[str, Any] = {
            "data": f"{self.answers.name} ({len(self.answers.labels):,} answers, {self.answers.digest})"
        }
        if selection is not None:
            about |= {"sample": selection.name, "n": len(selection.rows), "left out": selection.omissions}
        return about | {"seed": self.seed}

    def signatures(self, models: Sequence[str], n: int) -> tuple[str, ...]:
        """Return one line of provenance per model."""
        return tuple(run_signature([self.of(model).fingerprint], n=n) for model in models)


@dataclass(eq=False)
class Workbench:
    """Data and models of the experiments.

    ``read`` gives the name of the data and the samples of a benchmark. ``embedders`` are models by name.
    ``sample`` is for experiments on one sample.
    """

    read: Callable[[str], tuple[str, Sequence[Sample]]]
    embedders: Mapping[str, Embedder]
    sample: SampleName = "paper"
    seed: int = 0
    listener: Listener = silent

    @cached_property
    def halueval(self) -> Study:
        """HaluEval QA, or other labelled answers with contexts."""
        return self._study(HALUEVAL, contexts=True)

    @cached_property
    def truthfulqa(self) -> Study:
        """TruthfulQA."""
        return self._study(TRUTHFULQA, contexts=False)

    def _study(self, benchmark: str, *, contexts: bool) -> Study:
        name, samples = self.read(benchmark)
        lacking = sum(not any(map(str.strip, sample.contexts)) for sample in samples)
        if contexts and lacking:
            text = f"has {lacking:,} of {len(samples):,} answers without a context, and SGI needs one"
            raise DataError(text, file=name)
        return Study(Answers.of(name, samples), self.embedders, self.seed, self.listener)
