"""Retrieved documents, in the forms of OpenInference, OpenTelemetry and common frameworks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sgi.io.json_values import id_of, number_of, parse_json, text_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

_OPENINFERENCE_KEYS = ("document.content", "document.id", "document.score")
_TEXT_KEYS = ("content", "text", "page_content", "document", "chunk", "passage", "body")
_ID_KEYS = ("id", "id_", "doc_id", "document_id", "chunk_id", "node_id")
_SCORE_KEYS = ("score", "relevance_score", "similarity", "similarity_score")
_LIST_KEYS = ("documents", "docs", "results", "nodes", "source_documents", "chunks", "passages", "matches",
              "contexts", "output", "result")  # fmt: skip
_NESTED = ("document", "node", "payload", "metadata")
_USED_KEYS = ("context", "contexts", "documents", "docs", "source_documents", "input_documents",
              "source_nodes", "retrieved_documents", "retrieved_docs", "retrieved_contexts",
              "retrieval_context")  # fmt: skip
_ANSWER_KEYS = ("answer", "response", "result", "final_answer", "output_text")


class Document(NamedTuple):
    """A retrieved document; ``text`` is None if the trace does not have it."""

    text: str | None
    id: str | None = None
    score: float | None = None


def ranked_fields(documents: Sequence[Document]) -> dict[str, list[Any]]:
    """Return context_ids and context_scores of documents; each only if all documents have one.

    Ids must differ: two parts of one document may have its id.

    >>> ranked_fields([Document("A.", "a", 0.5), Document("B.", "b")])
    {'context_ids': ['a', 'b']}
    """
    ids = [document.id for document in documents]
    fields: dict[str, list[Any]] = {}
    if documents and None not in ids and len({*ids}) == len(ids):
        fields["context_ids"] = ids
    scores = [document.score for document in documents]
    if documents and None not in scores:
        fields["context_scores"] = scores
    return fields


def unranked_facts(documents: Sequence[Document], fields: Container[str]) -> dict[str, list[object]]:
    """Return the ids and scores that go to the metadata, because some documents lack them.

    >>> unranked_facts([Document("A.", "a", 0.5), Document("B.", "b")], {"context_ids"})
    {'document_scores': [0.5, None]}
    """
    facts: dict[str, list[object]] = {}
    if "context_ids" not in fields:
        facts["document_ids"] = [document.id for document in documents]
    if "context_scores" not in fields:
        facts["document_scores"] = [document.score for document in documents]
    return {name: values for name, values in facts.items() if any(value is not None for value in values)}


def flat_documents(items: Iterable[Mapping[str, object]], name: str) -> list[Document]:
    """Read documents with dotted keys (``document.content``). ``name`` is the attribute, for errors."""
    documents = []
    for index, item in enumerate(items):
        text, identifier, score = _OPENINFERENCE_KEYS
        if text not in item and identifier not in item and score not in item:
            text, identifier, score = _key(item, _TEXT_KEYS), _key(item, _ID_KEYS), _key(item, _SCORE_KEYS)
        documents.append(
            Document(
                text_of(item.get(text), name, index, text),
                id_of(item.get(identifier), name, index, identifier),
                number_of(item.get(score)),
            )
        )
    return documents


def documents_in(value: object) -> list[Document] | None:
    """Find documents in an output that is JSON; None if it is not a list of documents.

    >>> documents_in('{"documents": [{"page_content": "A.", "id": "a"}]}')
    [Document(text='A.', id='a', score=None)]
    >>> documents_in("[]"), documents_in("some text")
    ([], None)
    """
    parsed = parse_json(value)
    for _ in range(4):
        if not isinstance(parsed, dict):
            break
        inner = next((parsed[key] for key in _LIST_KEYS if isinstance(parsed.get(key), (list, dict))), None)
        if inner is None and len(parsed) == 1:
            (inner,) = parsed.values()
        parsed = inner
    if not isinstance(parsed, list):
        return None
    documents = [_document(item) for item in parsed]
    return None if any(document is None for document in documents) else [d for d in documents if d]


def used_documents(value: object) -> list[Document] | None:
    """Find the documents that a step records beside its question or answer; None if it has none.

    >>> used_documents({"answer": "She.", "context": [{"page_content": "It was she."}]})
    [Document(text='It was she.', id=None, score=None)]
    >>> used_documents({"answer": "She."}) is used_documents([{"page_content": "It was she."}]) is None
    True
    """
    parsed = parse_json(value)
    if not isinstance(parsed, dict):
        return None
    for key in _USED_KEYS:
        inner = parsed.get(key)
        if isinstance(inner, str) and inner.strip():
            inner = parse_json(inner)
        if isinstance(inner, str) and inner.strip():
            return [Document(inner)]
        if isinstance(inner, list) and (found := documents_in(inner)) is not None:
            return found
    return None


def has_answer(value: object) -> bool:
    """Return whether an output has an answer beside its documents: it is not the output of a retrieval."""
    return isinstance(value, dict) and any(isinstance(value.get(key), str) for key in _ANSWER_KEYS)


def _document(item: object, depth: int = 0) -> Document | None:
    if isinstance(item, str):
        return Document(item)
    if not isinstance(item, dict) or depth > len(_NESTED):
        return None
    inner = item.get("kwargs")  # of a serialised object of LangChain
    if isinstance(inner, dict):
        item = inner
    text = item.get(_key(item, _TEXT_KEYS))
    identifier, score = item.get(_key(item, _ID_KEYS)), number_of(item.get(_key(item, _SCORE_KEYS)))
    name = identifier if isinstance(identifier, str) else None
    if isinstance(text, str):
        return Document(text, name, score)
    for key in _NESTED:
        if isinstance(item.get(key), dict) and (found := _document(item[key], depth + 1)) is not None:
            return Document(found.text, found.id or name, found.score if score is None else score)
    return Document(None, name, score) if identifier is not None else None


def _key(item: Mapping[str, object], keys: tuple[str, ...]) -> str:
    return next((key for key in keys if item.get(key) is not None), keys[0])
