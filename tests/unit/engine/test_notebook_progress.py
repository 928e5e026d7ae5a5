from __future__ import annotations

from threading import Event

import numpy as np
import pytest

import sgi
from sgi.engine.progress import Advanced, Embedded, Finished, NotebookProgress, Started
from sgi.models.batching import counting_work, current_work
from sgi.models.cached_embedder import CachedEmbedder
from sgi.store.cache import MemoryCache
from sgi.testing import HashEmbedder


class Output:
    """What a cell shows."""

    def __init__(self):
        self.shown = []

    def display(self, data, *, raw, display_id):
        assert raw
        assert display_id
        return self.update(data, raw=raw)

    def update(self, data, *, raw):
        self.shown.append(data)
        return self


def test_a_stage_is_one_output_that_is_updated_and_cleared():
    output = Output()
    listen = NotebookProgress(output.display)
    for event in (
        Started("scoring", 300),
        Embedded(30, 120, 256),
        Advanced(256),
        Advanced(44),
        Finished("scoring"),
    ):
        listen(event)
    assert [data["text/plain"] for data in output.shown] == [
        "scoring: 0 of 300 rows",
        "scoring: 64 of 300 rows, 30 of 120 texts of this batch",
        "scoring: 256 of 300 rows",
        "scoring: 300 of 300 rows",
        "",
    ]
    assert '<progress max="300" value="64">' in output.shown[1]["text/html"]


def test_text_in_the_page_is_escaped():
    output = Output()
    NotebookProgress(output.display)(Started("<b>", None))
    assert output.shown == [{"text/plain": "<b>: 0 rows", "text/html": "<div>&lt;b&gt;: 0 rows</div>"}]


ROWS = [{"question": f"q{i}", "context": f"c{i}", "response": f"r{i}"} for i in range(40)]
LONGEST_WAIT = 60.0


class Pausing(HashEmbedder):
    """Counts its first texts, and goes on when somebody has heard of them."""

    def __init__(self, heard):
        super().__init__()
        self.heard = heard

    def embed(self, texts, /):
        current_work().add(30)
        assert self.heard.wait(LONGEST_WAIT)
        return super().embed(texts)


def test_a_batch_reports_its_texts_before_it_ends():
    heard, events = Event(), []

    def listen(event):
        events.append(event)
        if isinstance(event, Embedded) and event.done:
            heard.set()

    sgi.evaluate(ROWS, ["sgi(sentences=false)"], Pausing(heard), listener=listen)
    inside = [event for event in events if isinstance(event, Embedded)]
    assert inside[-1] == Embedded(30, 120, 40)
    assert inside[-1].row_share == 10
    assert events.index(inside[-1]) < events.index(Advanced(40))


def test_an_error_of_the_listener_ends_the_work_and_is_raised_as_it_is():
    class Stop(Exception):  # noqa: N818 - no error of a program
        pass

    heard = Event()

    def listen(event):
        if isinstance(event, Embedded):
            heard.set()
            raise Stop

    with pytest.raises(Stop):
        sgi.evaluate(ROWS, ["sgi(sentences=false)"], Pausing(heard), listener=listen)


def counted(embedder, texts):
    with counting_work() as work:
        work.expect(len(texts))
        rows = embedder.encode(texts).rows
    return work.done, rows


def test_the_embedded_model_counts_texts_batch_by_batch(monkeypatch):
    """The count rises with each batch of equal length, and changes no vector."""
    minilm = sgi.load_embedder("minilm")
    texts = ["a", "b c", "d e f g", "h i j k l m n o"]
    seen = []
    inner = minilm._unit_rows
    with counting_work() as work:
        work.expect(len(texts))
        monkeypatch.setattr(minilm, "_unit_rows", lambda hidden: seen.append(work.done) or inner(hidden))
        rows = minilm.encode(texts).rows
    assert seen[0] == 0
    assert max(seen) >= 1
    assert work.done == len(texts)
    assert np.array_equal(rows, minilm.encode(texts).rows)


def test_a_cache_counts_what_it_has_and_what_an_embedder_does_not_count():
    cache = MemoryCache()
    texts = [f"t{i}" for i in range(10)]
    CachedEmbedder(HashEmbedder(), cache).embed(texts[:4])
    assert counted(CachedEmbedder(HashEmbedder(), cache), texts)[0] == 10
