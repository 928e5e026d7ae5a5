"""The passages that the answer of a turn could use."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sgi.io.documents import used_documents
from sgi_traces.content import Kind
from sgi_traces.turns import SEARCHES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi.io.documents import Document
    from sgi_traces.content import Content
    from sgi_traces.turns import Node, Turn


class Passages(NamedTuple):
    """The documents of a turn in order, without duplicates.

    ``reason`` says why the passages are unknown; empty if they are known. ``is_complete`` says whether every
    retrieval recorded its documents, perhaps without their texts. ``sources`` has the span kinds and
    attributes of the documents; ``searches`` is the number of retrievals.
    """

    documents: list[Document]
    reason: str
    is_complete: bool
    sources: tuple[str, ...]
    searches: int


def passages_of(turn: Turn) -> Passages:
    """Collect the documents of all retrievals; a reranker replaces the documents that it received.

    A retrieval inside another one is a part of it. A tool counts only without retrievals, and if its span has
    documents or says that it is a store of documents. Without documents of a retrieval, those count that the
    step of the answer records beside it, as chains do.
    """
    searches = [node for node in turn.nodes if node.kind in SEARCHES and not node.is_covered]
    around = {id(node.search) for node in searches}
    searches = [node for node in searches if node.has_documents() or id(node) not in around]
    if not searches:
        searches = [node for node in turn.nodes if _is_store(node)]
    documents: list[Document] = []
    sources: dict[str, None] = {}
    silent = 0
    for node in searches:
        content = node.content
        if content is None or content.documents is None:
            silent += 1
            continue
        if content.kind is Kind.RERANKER:
            documents, sources = _without_received(documents, content), {}
        documents += content.documents
        sources[f"{content.kind} {content.from_attribute['documents']}"] = None
    retrievals = sum(node.kind is not Kind.RERANKER for node in searches)
    if silent or not searches:
        used, source = _beside_answer(turn)
        if used is not None:
            known = distinct_documents(used)
            reason = unknown_passages(known, searches=1, silent=0)
            return Passages(known, reason, is_complete=True, sources=(source,), searches=retrievals)
    distinct = distinct_documents(documents)
    reason = unknown_passages(distinct, len(searches), silent)
    return Passages(distinct, reason, bool(searches) and not silent, tuple(sources), retrievals)


def unknown_passages(documents: Sequence[Document], searches: int, silent: int) -> str:
    """Return why the passages of a turn are unknown; an empty text if they are known.

    ``silent`` of its ``searches`` recorded no documents.
    """
    if not searches:
        return "the trace has no retrieval"
    if silent:
        return f"{silent} of {searches} retrievals recorded no documents"
    blank = sum(document.text is None for document in documents)
    if not blank:
        return ""
    if blank == len(documents):
        return f"{blank} retrieved {'document has' if blank == 1 else 'documents have'} no text"
    return f"{blank} of {len(documents)} retrieved documents {'has' if blank == 1 else 'have'} no text"


def _beside_answer(turn: Turn) -> tuple[list[Document] | None, str]:
    """Return the documents in the output or input of the step that gave the answer, and their source."""
    content = None if turn.last is None else turn.last.content
    if content is None:
        return None, ""
    for part in (content.output, content.input):
        if part is not None and (found := used_documents(part.value)) is not None:
            return found, f"{content.kind} {part.name}"
    return None, ""


def _is_store(node: Node) -> bool:
    content = node.content
    if content is None or content.kind is not Kind.TOOL:
        return False
    return content.documents is not None or content.is_store


def _without_received(documents: list[Document], reranker: Content) -> list[Document]:
    """Remove the documents that a reranker received; all of them if that is unknown."""
    received = {_identity(document) for document in reranker.input_documents or ()}
    rest = [document for document in documents if _identity(document) not in received]
    return rest if len(rest) < len(documents) else []


def distinct_documents(documents: Sequence[Document]) -> list[Document]:
    """Return the documents without those whose text, or id without a text, came before."""
    first: dict[tuple[str | None, str | None], Document] = {}
    for document in documents:
        first.setdefault(_identity(document), document)
    return list(first.values())


def _identity(document: Document) -> tuple[str | None, str | None]:
    return (document.text, None) if document.text is not None else (None, document.id)
