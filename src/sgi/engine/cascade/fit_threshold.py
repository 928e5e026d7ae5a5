"""Learn on labelled rows from which score on a row is cleared, so that few unsupported ones are."""

from __future__ import annotations

import math
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from sgi.engine.cascade.config import FittedThreshold
from sgi.engine.progress import Advanced, Finished, Started, silent
from sgi.engine.score import batches, evaluate_batch
from sgi.io.dataset import open_dataset
from sgi.kernel.clusters import BY_QUESTION, BY_ROW
from sgi.kernel.errors import EmbedderError, UsageError
from sgi.kernel.metric import Status
from sgi.kernel.signature import digest
from sgi.stats.conformal import clearing_threshold, one_of_each

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from sgi.engine.cascade.config import Cascade
    from sgi.engine.progress import Listener
    from sgi.engine.resources import Resources
    from sgi.io.dataset import Dataset
    from sgi.io.rows import Rejected
    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.sample import Sample

_HINT = "Give each row that people have checked a label (1 supported, 0 not), or write labelled=FILE."


async def fit_threshold(
    cascade: Cascade,
    detector: AnyMetric,
    resources: Resources,
    dataset: Dataset,
    *,
    columns: Mapping[str, str] | None = None,
    own_answers: bool = True,
    cluster: str = BY_QUESTION,
    on_reject: Callable[[Rejected], None] | None = None,
    listener: Listener = silent,
) -> Cascade:
    r"""The cascade with the threshold that these labels give.

    With s the scores of n unsupported labelled rows, one of each question, the threshold is the
    ⌊(n + 1)·alpha⌋-th greatest of them, and a row is cleared that scores more. A new unsupported row that is
    exchangeable with them is then cleared with probability alpha at most. With fewer than 1/alpha − 1 rows
    nothing can be promised and nothing is cleared. Rows without a value are left out: they are never
    cleared, neither here nor later, so the promise holds for them as it is. That is not so of rows that
    failed, which may have a value the next time: nothing is learnt where there is one.

    Args:
        cascade: how much may be missed, and where the labels are.
        detector: what scores the rows.
        resources: the embedders it wants.
        dataset: the rows that will be scored.
        columns: field → column, where names are not recognised; for the file of labelled rows too.
        own_answers: whether the labels of the data are of the answers that will be scored; else, as where a
            target is asked for answers, they neither teach nor measure anything.
        cluster: the rule by which rows form clusters, of which one row each counts.
        on_reject: takes rows of the data that cannot be read; in the labelled file the first is raised.
        listener: hears of the progress.

    Raises:
        UsageError: no row has a label; or the labels of the data are wanted, and are of other answers.
        DataError: a labelled row cannot be read.
        EmbedderError: the scoring of a labelled row failed.
    """
    own = cascade.labelled is None
    if own and not own_answers:
        hint = "Write --cascade alpha=…,labelled=FILE, with answers of the target that people have checked."
        raise UsageError(
            "The labels of the data are not of the answers that the target will give.", hint=hint
        )
    source = dataset if cascade.labelled is None else open_dataset(cascade.labelled, columns=columns)
    rows = _Labelled(source.samples(on_reject=on_reject if own else None), cluster)
    scores, clusters = await _scored(rows, detector, resources, listener)
    if not rows.labelled:
        raise UsageError(
            f"No row of {source.name} has a label, and a cascade is learnt from labels.", hint=_HINT
        )
    chosen = one_of_each(clusters)
    found = clearing_threshold([scores[row] for row in chosen], cascade.alpha)
    told = FittedThreshold(
        threshold=None if math.isinf(found) else found,
        unsupported=len(chosen),
        candidates=len(set(rows.clusters)),
        labelled=rows.labelled,
        apart=not own and own_answers and _apart(dataset.samples(on_reject=on_reject), rows.known, cluster),
    )
    return cascade.model_copy(update={"fitted": told})


async def _scored(
    rows: _Labelled, detector: AnyMetric, resources: Resources, listener: Listener
) -> tuple[list[float], list[int]]:
    """The scores of the unsupported rows that have one, and their clusters; an error if one failed."""
    scores: list[float] = []
    clusters: list[int] = []
    start = 0
    listener(Started("learning", None))
    for batch in batches(rows.unsupported()):
        made = (await evaluate_batch(batch, [detector], resources)).scores[detector.canonical]
        for place in np.flatnonzero(made.status == Status.FAILED.value)[:1].tolist():
            raise _unscored(batch.ids[place], detector, made.reasons[place])
        scores += made.values[made.ok].tolist()
        clusters += compress(rows.clusters[start : start + len(batch)], made.ok)
        start += len(batch)
        listener(Advanced(len(batch)))
    listener(Finished("learning"))
    return scores, clusters


def _unscored(name: str, detector: AnyMetric, reason: str) -> EmbedderError:
    message = f"The cascade is not learnt: {detector.canonical} failed on the labelled row {name}: {reason}"
    hint = "Mend the cause and run again. A row that can never be scored has to lose its label."
    return EmbedderError(message, hint=hint)


def _apart(samples: Iterator[Sample], known: set[int], cluster: str) -> bool:
    """Whether none of the samples shares its cluster or its passages with a known one."""
    return all(known.isdisjoint(_marks(sample, position, cluster)) for position, sample in enumerate(samples))


def _marks(sample: Sample, position: int, cluster: str) -> set[int]:
    """What a row is known again by, also where a column is not given: its cluster, and its passages."""
    marks = {sample.cluster(position, BY_QUESTION if cluster == BY_ROW else cluster)}
    if any(text.strip() for text in sample.contexts):
        parts = (text.encode("utf-8", "surrogatepass") for text in sorted(sample.contexts))
        marks.add(int.from_bytes(digest(*parts, size=8), "big", signed=True))
    return marks


class _Labelled:
    """Rows with labels, as they are read.

    Attributes:
        labelled: how many there were.
        known: what all of them are known again by.
        clusters: of the unsupported ones, in their order.
    """

    def __init__(self, samples: Iterator[Sample], cluster: str) -> None:
        self._samples = samples
        self._cluster = cluster
        self.labelled = 0
        self.known: set[int] = set()
        self.clusters: list[int] = []

    def unsupported(self) -> Iterator[Sample]:
        """The rows labelled 0."""
        for position, sample in enumerate(self._samples):
            if sample.label is None:
                continue
            self.labelled += 1
            self.known |= _marks(sample, position, self._cluster)
            if not sample.label:
                self.clusters.append(sample.cluster(position, self._cluster))
                yield sample
