"""Score the answers of a LlamaIndex query engine."""

from llama_index.core.evaluation import BatchEvalRunner
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, TextNode

from sgi.integrations.llama_index import SgiEvaluator

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


class WordRetriever(BaseRetriever):
    """Your retriever: here it returns the passage that shares the most words with the question."""

    def _retrieve(self, query_bundle):
        words = set(query_bundle.query_str.rstrip("?").split())
        best = max(PASSAGES, key=lambda passage: len(words & set(passage.split())))
        return [NodeWithScore(node=TextNode(text=best))]


class RecordedModel(CustomLLM):
    """Your model: here it returns recorded answers, so that the example runs offline."""

    @property
    def metadata(self):
        return LLMMetadata()

    def complete(self, prompt, **options):
        return CompletionResponse(text=next(text for question, text in ANSWERS.items() if question in prompt))

    def stream_complete(self, prompt, **options):
        yield self.complete(prompt)


engine = RetrieverQueryEngine.from_args(WordRetriever(), llm=RecordedModel())
runner = BatchEvalRunner({"grounding": SgiEvaluator("grounding", passing_score=0.5)}, workers=4)
results = runner.evaluate_queries(engine, list(ANSWERS))["grounding"]

for result in results:
    value = result.invalid_reason or f"{result.score:.2f}  {result.feedback or ''}"
    print(f"{result.query:30}  {value}".rstrip())
scores = [result.score for result in results if not result.invalid_result]
print(f"mean {sum(scores) / len(scores):.2f}, {len(scores)} of {len(results)} answers have a value")
