"""Score the answers of a small RAG application with Inspect AI."""

import inspect_ai
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput
from inspect_ai.solver import Generate, Solver, TaskState, solver

from sgi.integrations.inspect_ai import sgi_scorer

PASSAGES = ["The tower was built in 1889.", "The tower is 330 m tall."]
ANSWERS = {
    "When was the tower built?": ("It was built in 1889.", PASSAGES),
    "How tall is the tower?": ("It is 312 m tall.", PASSAGES),
    "Who built the tower?": ("Gustave Eiffel.", None),  # the application lost its passages
}


@solver
def rag() -> Solver:
    """Replace this with your application: it stores the passages and sets the output."""

    async def solve(state: TaskState, _: Generate) -> TaskState:
        answer, passages = ANSWERS[state.input_text]
        state.store.set("contexts", passages)
        state.output = ModelOutput.from_content("rag", answer)
        return state

    return solve


task = inspect_ai.Task(
    dataset=[Sample(input=question) for question in ANSWERS],
    solver=rag(),
    scorer=sgi_scorer(["grounding"]),
)
(log,) = inspect_ai.eval(task, model="mockllm/model", display="none")
for sample in log.samples:
    score = sample.scores["sgi_scorer"]
    print(f"{sample.input:26} {score.value['grounding']:.2f} {score.explanation}")
for result in log.results.scores:
    print(f"{result.name:26} mean {result.metrics['mean'].value:.2f}")
