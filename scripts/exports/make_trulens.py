"""Write TruLens records with the real package and a local SQLite database.

Run it in an environment with ``trulens-core``.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

os.environ["TRULENS_OTEL_TRACING"] = "1"

from content import FOLDER, PASSAGES, TURNS, Turn
from trulens.apps.app import TruApp
from trulens.core import Metric, Selector, TruSession
from trulens.core.otel.instrument import instrument
from trulens.otel.semconv.trace import SpanAttributes

Kinds = SpanAttributes.SpanType


class TidalApp:
    """The system under test; each turn is looked up by its question."""

    turns = {turn.question: turn for turn in TURNS}

    @instrument(
        span_type=Kinds.RETRIEVAL,
        attributes=lambda found, _error, *_, **given: {
            SpanAttributes.RETRIEVAL.QUERY_TEXT: given["query"],
            **({SpanAttributes.RETRIEVAL.RETRIEVED_CONTEXTS: found} if found and found[0] else {}),
        },
    )
    def search(self, query: str, number: int) -> list[str]:
        turn = self.turns[query]
        return [PASSAGES[key] if turn.has_texts else "" for key in turn.retrievals[number]]

    @instrument(
        span_type=Kinds.RERANKER,
        attributes={
            SpanAttributes.RERANKER.QUERY_TEXT: "query",
            SpanAttributes.RERANKER.INPUT_CONTEXT_TEXTS: "texts",
            SpanAttributes.RERANKER.OUTPUT_CONTEXT_TEXTS: "return",
        },
    )
    def rerank(self, query: str, texts: list[str]) -> list[str]:
        return [text for text in texts if text in {PASSAGES[key] for key in self.turns[query].reranked}]

    @instrument(span_type=Kinds.GENERATION)
    def generate(self, query: str, texts: list[str]) -> str | None:
        turn = self.turns[query]
        if turn.error is not None:
            raise TimeoutError(turn.error)
        return turn.answer

    def query(self, question: str) -> str | None:
        turn = self.turns[question]
        texts = [text for number in range(len(turn.retrievals)) for text in self.search(question, number)]
        return self.generate(question, self.rerank(question, texts) if turn.reranked else texts)


def length(answer: str, passage: list[str]) -> float:
    return min(len(answer) / 100, 1.0) if passage else 0.0


def ask(app: TidalApp, recorder: TruApp, turn: Turn) -> None:
    facts = {"conversation_id": turn.session} if turn.session else {}
    with suppress(TimeoutError), recorder(**facts), recorder.input(turn.name):
        app.query(turn.question)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        session = TruSession(database_url=f"sqlite:///{Path(folder, 'trulens.db')}")
        app = TidalApp()
        metric = Metric(
            name="Length",
            implementation=length,
            selectors={
                "answer": Selector.select_record_output(),
                "passage": Selector.select_context(collect_list=True),
            },
        )
        recorder = TruApp(
            app, feedbacks=[metric], app_name="tidal-rag", app_version="1", main_method=app.query
        )
        for turn in TURNS:
            ask(app, recorder, turn)
        session.force_flush()
        recorder.compute_feedbacks()
        session.force_flush()
        frame, _ = session.get_records_and_feedback()
        events = session.get_events(app_name="tidal-rag", app_version="1")
    events.to_json(
        FOLDER / "trulens_events.jsonl", orient="records", lines=True, force_ascii=False, date_format="iso"
    )
    frame.to_json(
        FOLDER / "trulens_records.jsonl", orient="records", lines=True, force_ascii=False, date_format="iso"
    )
    frame.to_csv(FOLDER / "trulens_records.csv", index=False)


def write(frame: Any, name: str) -> None:
    frame.to_json(FOLDER / name, orient="records", lines=True, force_ascii=False, date_format="iso")


if __name__ == "__main__":
    main()
