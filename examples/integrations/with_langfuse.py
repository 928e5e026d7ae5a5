"""Score the answers of a small RAG application in a Langfuse experiment."""

from langfuse import Langfuse

from sgi.integrations.langfuse import SgiEvaluator

PASSAGES = ["The tower was built in 1889.", "The tower is 330 m tall."]
ANSWERS = {
    "When was the tower built?": {"answer": "It was built in 1889.", "contexts": PASSAGES},
    "How tall is the tower?": {"answer": "It is 312 m tall.", "contexts": PASSAGES},
    "Who built the tower?": {"answer": "Gustave Eiffel."},  # the application lost its passages
}


def rag(*, item: dict[str, str], **_: object) -> dict[str, object]:
    """Replace this with your application: it returns the answer and the passages that it used."""
    return ANSWERS[item["input"]]


# With your own keys, leave out the arguments: Langfuse() records the experiment in your project.
langfuse = Langfuse(public_key="pk", secret_key="sk", tracing_enabled=False)
evaluator = SgiEvaluator(["grounding"])
result = langfuse.run_experiment(
    name="tower",
    data=[{"input": question} for question in ANSWERS],
    task=rag,
    evaluators=[evaluator],
    run_evaluators=[evaluator.summary],
)
for item in result.item_results:
    for evaluation in item.evaluations:
        value = evaluation.value if isinstance(evaluation.value, str) else f"{evaluation.value:.2f}"
        print(item.item["input"], evaluation.name, value, evaluation.comment or "")
for evaluation in result.run_evaluations:
    print(f"{evaluation.name} {evaluation.value:.2f} ({evaluation.comment})")
