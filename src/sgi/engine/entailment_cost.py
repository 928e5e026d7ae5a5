"""Measures what an entailment model costs on this machine: time of a pair, pairs of a row, memory."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from itertools import islice
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING

from sgi.kernel.entailment_profile import find_profile
from sgi.kernel.sample import Batch, Sample
from sgi.metrics.grounding.detector import Grounding
from sgi.models.entailment.load_entailment import load_entailment_model
from sgi.models.hub import local_files_only

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.kernel.protocols import EntailmentModel

ITEMS = 6
"""Number of items of the sample; each has a right and a hallucinated answer."""
MAX_SECONDS = 20.0
"""No further pair is timed after this time."""

_MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class EntailmentCost:
    """Cost of an entailment model on this machine, measured on rows of the bundled sample.

    Attributes:
        model: the name that was measured.
        profile: the name of its profile; empty if it has none.
        fingerprint: the model's identity, with the meanings of its outputs.
        outputs: the meanings of its outputs.
        load_seconds: time of the first pair, with the opening of the model.
        pairs: number of pairs that were timed, after the first one.
        milliseconds: median time of a pair.
        pairs_per_row: mean number of pairs of a row; each row of the sample has one passage.
        rows_per_second: rows in a second with ``milliseconds`` and ``pairs_per_row``; embedding excluded.
        memory: increase of the process's peak memory in MiB; None if the system does not report it.
    """

    model: str
    profile: str
    fingerprint: str
    outputs: str
    load_seconds: float
    pairs: int
    milliseconds: float
    pairs_per_row: float
    rows_per_second: float
    memory: float | None

    def lines(self) -> Iterator[str]:
        """Yield the measurements as lines for a terminal."""
        yield f"entailment model  {self.model} ({self.fingerprint})"
        yield f"profile           {self.profile or 'none: defaults'}"
        yield f"outputs           {self.outputs}"
        yield f"first pair        {self.load_seconds:.2f} s, with the opening of the model"
        yield f"a pair            {self.milliseconds:.1f} ms (median of {self.pairs})"
        yield (
            f"a row             {self.pairs_per_row:.1f} pairs, {self.rows_per_second:.2f} rows a second "
            "(rows of the sample: one passage each)"
        )
        memory = "unknown" if self.memory is None else f"{self.memory:,.0f} MiB more at the peak"
        yield f"memory            {memory}"


def measure_entailment(name: str) -> EntailmentCost:
    """Open an entailment model and time it on the bundled sample; nothing is downloaded.

    Raises:
        UsageError: the name, its profile or its outputs cannot be used.
        EmbedderError: the model is not on this machine, or fails.
    """
    before = _peak_memory()
    with local_files_only():
        start = perf_counter()
        model = load_entailment_model(name)
        grounding = Grounding(nli=name)
        rows = grounding.prepare(Batch.of(list(_sample_rows(ITEMS))))
        pairs = list(dict.fromkeys(grounding.pairs(rows)))
        model.entail(pairs[:1])
        load_seconds = perf_counter() - start
        seconds = list(_pair_seconds(model, pairs[1:]))
    per_row = len(pairs) / len(rows)
    typical = median(seconds)
    profile = find_profile(name)
    after = _peak_memory()
    return EntailmentCost(
        name,
        "" if profile is None else profile.name,
        model.fingerprint,
        outputs=model.network.labels.description,
        load_seconds=load_seconds,
        pairs=len(seconds),
        milliseconds=1000 * typical,
        pairs_per_row=per_row,
        rows_per_second=1 / (typical * per_row),
        memory=None if before is None or after is None else (after - before) / _MEBIBYTE,
    )


def _pair_seconds(model: EntailmentModel, pairs: list[tuple[str, str]]) -> Iterator[float]:
    end = perf_counter() + MAX_SECONDS
    for pair in pairs:
        start = perf_counter()
        model.entail([pair])
        now = perf_counter()
        yield now - start
        if now > end:
            return


def _sample_rows(items: int) -> Iterator[Sample]:
    text = (files("sgi") / "data" / "halueval_qa_sample.jsonl").read_text(encoding="utf-8")
    for number, line in enumerate(islice(text.splitlines(), items)):
        item = json.loads(line)
        for kind in ("right_answer", "hallucinated_answer"):
            yield Sample(
                id=f"{number}-{kind}",
                question=item["question"],
                contexts=(item["knowledge"],),
                response=item[kind],
            )


def _peak_memory() -> int | None:
    """Return the peak memory of this process in bytes; None where the system does not report it."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    import sys

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
