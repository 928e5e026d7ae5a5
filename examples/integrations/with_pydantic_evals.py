"""Score the answers of a small RAG application with pydantic-evals."""

from pydantic_evals import Case, Dataset

from sgi.integrations.pydantic_evals import SgiEvaluator

PASSAGES = ["The tower was built in 1889.", "The tower is 330 m tall."]
ANSWERS = {
    "When was the tower built?": {"answer": "It was built in 1889.", "contexts": PASSAGES},
    "How tall is the tower?": {"answer": "It is 312 m tall.", "contexts": PASSAGES},
    "Who built the tower?": {"answer": "Gustave Eiffel."},  # the application lost its passages
}


def rag(question: str) -> dict[str, object]:
    """Replace this with your application: it returns the answer and the passages that it used."""
    return ANSWERS[question]


data = Dataset(
    name="tower",
    cases=[Case(name=question, inputs=question) for question in ANSWERS],
    evaluators=[SgiEvaluator(["grounding"])],
)
report = data.evaluate_sync(rag, progress=False)
for case in report.cases:
    score, status = case.scores.get("grounding"), case.labels["grounding.status"]
    print(f"{case.name:26}", f"{score.value:.2f}" if score else f"{status.value}: {status.reason}")
averages = report.averages()
print(f"mean {averages.scores['grounding']:.2f}, coverage {averages.labels['grounding.status']['ok']:.0%}")
