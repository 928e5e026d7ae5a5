"""Score the answers of a Haystack pipeline, and evaluate a data set."""

from haystack import Document, Pipeline, component
from haystack.components.builders import AnswerBuilder
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.evaluation import EvaluationRunResult

from sgi.integrations.haystack import SgiAnswerScorer, SgiEvaluator, with_coverage

PASSAGES = [
    "The Eiffel Tower is 330 m tall. The company of Gustave Eiffel built it from 1887 to 1889.",
    "Mars is called the red planet, since its dust is full of rust. Its moons are Phobos and Deimos.",
    "William Herschel discovered Uranus in 1781 with a telescope he had built himself.",
]
ANSWERS = {
    "How tall is the Eiffel Tower?": "The Eiffel Tower is 312 m tall.",
    "What are the moons of Mars?": "The moons of Mars are Phobos and Deimos.",
    "Who discovered Uranus?": "",  # the model returned nothing
}


@component
class RecordedGenerator:
    """Your generator: here it returns recorded answers, so that the example runs offline."""

    @component.output_types(replies=list[str])
    def run(self, query: str, documents: list[Document]):
        return {"replies": [ANSWERS[query]]}


store = InMemoryDocumentStore()
store.write_documents([Document(content=text) for text in PASSAGES])
rag = Pipeline()
rag.add_component("retriever", InMemoryBM25Retriever(store, top_k=1))
rag.add_component("generator", RecordedGenerator())
rag.add_component("builder", AnswerBuilder())
rag.add_component("scorer", SgiAnswerScorer(["grounding", "sgi"]))
rag.connect("retriever.documents", "generator.documents")
rag.connect("retriever.documents", "builder.documents")
rag.connect("generator.replies", "builder.replies")
rag.connect("builder.answers", "scorer.answers")

answers = [
    rag.run({name: {"query": question} for name in ("retriever", "generator", "builder")})["scorer"][
        "answers"
    ][0]
    for question in ANSWERS
]
for answer in answers:
    grounding = answer.meta["sgi"]["grounding"]
    value = "" if grounding["value"] is None else f"{grounding['value']:.2f}  "
    print(f"{answer.query:30}  {value}{grounding['explanation']}".rstrip())

evaluation = Pipeline()
evaluation.add_component("grounding", SgiEvaluator("grounding"))
inputs = {
    "questions": [answer.query for answer in answers],
    "contexts": [[document.content for document in answer.documents] for answer in answers],
    "predicted_answers": [answer.data for answer in answers],
}
results = evaluation.run({"grounding": inputs})
report = EvaluationRunResult("rag", inputs, with_coverage(results))
for name, score in zip(*report.aggregated_report().values(), strict=True):
    print(f"{name}: {score:.2f}")
print([round(score, 2) for score in report.detailed_report()["grounding"]])
