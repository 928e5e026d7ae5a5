"""Split a trace into turns: each is one question of a user with everything that led to its answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from sgi.io.chat_messages import last_text
from sgi.io.documents import used_documents
from sgi.kernel.errors import DataError
from sgi_traces.content import Kind
from sgi_traces.conventions import content_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sgi.io.documents import Document
    from sgi_traces.content import Content
    from sgi_traces.span import Span

SEARCHES = {Kind.RETRIEVER, Kind.RERANKER}
CHECKS = {Kind.EVALUATOR, Kind.GUARDRAIL}
_HEADS = {Kind.CHAIN, Kind.AGENT}
_STEPS = {*_HEADS, Kind.OTHER, Kind.LLM}


@dataclass(eq=False, slots=True)
class Node:
    """A span with its content and its children.

    ``span`` is None for a missing span. ``search`` is the closest retrieval or reranking around the span;
    ``is_covered`` says that a span around it has documents.
    """

    span: Span | None
    content: Content | None = None
    children: list[Node] = field(default_factory=list)
    start: int = 0
    search: Node | None = None
    is_covered: bool = False
    kind: Kind = field(default=Kind.OTHER, init=False)

    def __post_init__(self) -> None:
        if self.content is not None:
            self.kind = self.content.kind

    def has_documents(self) -> bool:
        """Return whether the span has a list of documents, which may be empty."""
        return self.content is not None and self.content.documents is not None

    def has_texts(self) -> bool:
        """Return whether the span is a step with its own input or output."""
        content = self.content
        has_any = content is not None and (content.input is not None or content.output is not None)
        return has_any and self.kind in _STEPS


@dataclass(eq=False, slots=True)
class Turn:
    """One question and its answer.

    Attributes:
        first: the span whose input is the question, or None.
        last: the span whose output is the answer, or None.
        nodes: all spans of the turn, in order of time.
        session: the id of the session, from any span of the trace.
    """

    first: Node | None
    last: Node | None
    nodes: list[Node]
    session: str | None = None

    def spans(self) -> Iterator[tuple[Span, Content]]:
        """Yield the spans with their contents, in order of time."""
        for node in self.nodes:
            if node.span is not None and node.content is not None:
                yield node.span, node.content


def turns_of(spans: Sequence[Span]) -> list[Turn]:
    """Split the spans of one trace into turns, in order of time.

    A turn is a root span with its descendants. A root without input and output, such as an HTTP request, may
    contain several turns. Raises DataError, with the span's id, for wrong types.
    """
    roots = _trees(spans)
    turns = [turn for root in roots for turn in _turns(root)]
    sessions = [node.content.session for root in roots for node in _subtree(root) if node.content]
    session = next(filter(None, sessions), None)
    for turn in turns:
        own = (content.session for _, content in turn.spans() if content.session)
        turn.session = next(own, session)
    answering = [turn for turn in turns if turn.last or _models(turn.nodes)]
    if len(answering) == 1 and len(turns) > 1:  # the retrieval has a root of its own
        answering[0].nodes = _in_order(node for turn in turns for node in turn.nodes)
    return answering or turns


def _trees(spans: Sequence[Span]) -> list[Node]:
    """Link the spans; spans with the same missing parent get a common one."""
    nodes: dict[str, Node] = {}
    for span in spans:
        known = nodes.get(span.span_id)
        # An exporter may send a span again, or before its end.
        if known is None or (known.span is not None and known.span.end is None and span.end is not None):
            nodes[span.span_id] = Node(span, _content(span))
    parents = {
        name: node.span.parent_id
        for name, node in nodes.items()
        if node.span is not None and node.span.parent_id
    }
    _cut_cycles(parents)
    missing: dict[str, Node] = {}
    roots: list[Node] = []
    for name, node in nodes.items():
        parent_id = parents.get(name)
        if parent_id is None:
            roots.append(node)
        elif parent_id in nodes:
            nodes[parent_id].children.append(node)
        else:
            if parent_id not in missing:
                missing[parent_id] = Node(None)
                roots.append(missing[parent_id])
            missing[parent_id].children.append(node)
    for root in roots:
        _fill_down(root)
    return _in_order(roots)


def _cut_cycles(parents: dict[str, str]) -> None:
    """Remove the parent of the first span of each cycle."""
    done: set[str] = set()
    places = {name: place for place, name in enumerate(parents)}
    for start in places:
        path: dict[str, None] = {}
        name: str | None = start
        while name is not None and name not in done and name not in path:
            path[name] = None
            name = parents.get(name)
        if name is not None and name in path:
            members = list(path)
            del parents[min(members[members.index(name) :], key=places.__getitem__)]
        done.update(path)


def _fill_down(root: Node) -> None:
    """Give each node a start time, and the retrieval around it."""
    if root.span is None:
        root.start = min(child.span.start or 0 for child in root.children if child.span is not None)
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.span is not None and node.span.start is not None:
            node.start = node.span.start
        is_search = node.kind in SEARCHES
        for child in node.children:
            child.start = node.start
            child.search = node if is_search else node.search
            child.is_covered = node.is_covered or (is_search and node.has_documents())
        waiting += node.children


def _content(span: Span) -> Content:
    try:
        return content_of(span)
    except DataError as error:
        raise DataError(error.message, sample_id=span.span_id, field=error.field, hint=error.hint) from None


def _turns(root: Node) -> list[Turn]:
    if root.kind in CHECKS:
        return [Turn(None, None, [root])]
    nodes = _in_order(_subtree(root))
    if root.has_texts():
        return [Turn(root, root, nodes)]
    heads = _in_order(_heads(root))
    if not heads:
        return _by_conversation(nodes)
    same = [head for head in heads if _name(head) == _name(heads[-1])]
    if len(same) > 1:  # an entry function was called for each turn
        return [Turn(head, head, _in_order(_subtree(head))) for head in same]
    return [Turn(heads[0], heads[-1], nodes)]


def _by_conversation(nodes: list[Node]) -> list[Turn]:
    """Split where a call of a model repeats the last answer and has another user message.

    Events between an answer and the next call belong to that call.
    """
    models = _models(nodes)
    ends = {id(first) for first, second in pairwise(models) if _continues(first.content, second.content)}
    turns: list[Turn] = []
    part: list[Node] = []
    for node in nodes:
        part.append(node)
        if id(node) in ends:
            turns.append(Turn(None, None, part))
            part = []
    turns.append(Turn(None, None, part))
    return turns


def _continues(before: Content | None, after: Content | None) -> bool:
    if before is None or after is None:
        return False
    answer = last_text(before.output_messages, "assistant")
    if answer is None or last_text(before.input_messages, "user") == last_text(after.input_messages, "user"):
        return False
    return any(message.role == "assistant" and message.text == answer for message in after.input_messages)


def _heads(root: Node) -> Iterator[Node]:
    """Yield the topmost chains and agents that have texts."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.kind in _HEADS and node.has_texts():
            yield node
        elif node.kind not in CHECKS:
            waiting += reversed(node.children)


def _subtree(root: Node) -> Iterator[Node]:
    """Yield a node and its descendants, without the models that evaluators and guardrails call."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        if node.kind not in CHECKS:
            waiting += reversed(node.children)


def _models(nodes: Iterable[Node]) -> list[Node]:
    return [node for node in nodes if node.kind is Kind.LLM]


def _in_order(nodes: Iterable[Node]) -> list[Node]:
    """Sort by start time; a span without one takes its parent's."""
    return sorted(nodes, key=attrgetter("start"))


def _name(node: Node) -> tuple[str, Kind]:
    return ("" if node.span is None else node.span.name, node.kind)


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
    """Return the documents without repeats of a text, or of an id without a text."""
    first: dict[tuple[str | None, str | None], Document] = {}
    for document in documents:
        first.setdefault(_identity(document), document)
    return list(first.values())


def _identity(document: Document) -> tuple[str | None, str | None]:
    return (document.text, None) if document.text is not None else (None, document.id)
