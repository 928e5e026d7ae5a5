"""Rows scored by the grounding detector, and rows of the labelled data."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sgi.io.dataset import open_dataset
from sgi.kernel.metric import Scores
from sgi.kernel.sample import Batch, Sample
from sgi.kernel.vectors import Features
from sgi.metrics.grounding.detector import Grounding
from sgi.metrics.grounding.evidence_map import EvidenceMap


def grounding_scores(samples: Sequence[Sample]) -> Scores:
    """Score rows."""
    return Grounding().score(Grounding().prepare(Batch.of(samples)), Features())


def row(response: str, *contexts: str, question: str = "") -> Sample:
    """A row with these texts."""
    return Sample(id="1", question=question, contexts=contexts, response=response)


def evidence_maps_of(scores: Scores) -> list[EvidenceMap]:
    """The evidence maps of the rows that have a value."""
    return [evidence_map(body) for body, ok in zip(scores.details, scores.ok, strict=True) if ok]


def evidence_map(details: Any) -> EvidenceMap:
    """Read an evidence map from details."""
    return EvidenceMap.model_validate(dict(details))


def supported_rows(path: Path, n: int) -> list[Sample]:
    """The first rows of a file with the label of supported answers, with distinct passages."""
    return list(_supported(path, n))


def _supported(path: Path, n: int) -> Iterator[Sample]:
    seen: set[tuple[str, ...]] = set()
    for sample in open_dataset(path).samples():
        if sample.label and sample.contexts not in seen:
            seen.add(sample.contexts)
            yield sample
        if len(seen) == n:
            return


def is_consistent(evidence: EvidenceMap, sample: Sample) -> bool:
    """Whether all offsets of a map are in range and in order, and its texts equal those at the offsets."""
    for sentence in evidence.sentences:
        offsets = [sentence.start, *(at for span in sentence.unbacked for at in span), sentence.end]
        texts = {sample.response[sentence.start : sentence.end]: sentence.text}
        texts |= {sample.response[check.start : check.end]: check.fact for check in sentence.checks}
        if offsets != sorted(offsets) or any(written != expected for written, expected in texts.items()):
            return False
        if any(start >= end for start, end in sentence.unbacked):
            return False
        if not all(_match_is_inside(check, sample) for check in sentence.checks):
            return False
        if sentence.passage not in evidence.passages:
            return False
    ends = [at for sentence in evidence.sentences for at in (sentence.start, sentence.end)]
    passages = tuple(at for at, text in enumerate(sample.contexts) if at in evidence.passages)
    return ends == sorted(ends) and ends[-1] <= len(sample.response) and passages == evidence.passages


def _match_is_inside(check: Any, sample: Sample) -> bool:
    if check.found_start is None:
        return check.found_end is None
    text = sample.contexts[check.passage]
    return bool(0 <= check.found_start < check.found_end <= len(text))
