"""Score the rows of a dataframe with Phoenix evals."""

import pandas as pd
from phoenix.evals import evaluate_dataframe
from phoenix.evals.utils import to_annotation_dataframe

from sgi.integrations.phoenix import SgiEvaluator

TOWER = ["The Eiffel Tower is 330 m tall. The company of Gustave Eiffel built it from 1887 to 1889."]
MARS = ["Mars is called the red planet, since its dust is full of rust. Its moons are Phobos and Deimos."]
spans = pd.DataFrame(
    {
        "input": ["How tall is the Eiffel Tower?", "What are the moons of Mars?", "Who discovered Uranus?"],
        "retrieved_documents": [TOWER, MARS, None],
        "output": [
            "The Eiffel Tower is 312 m tall.",
            "The moons of Mars are Phobos and Deimos.",
            "Herschel.",
        ],
    },
    index=pd.Index(["a1", "b2", "c3"], name="context.span_id"),
)

scored = evaluate_dataframe(
    dataframe=spans, evaluators=[SgiEvaluator(["grounding", "sgi"])], hide_tqdm_bar=True
)
for question, grounding in zip(scored["input"], scored["grounding_score"], strict=True):
    value = f"{grounding['score']:.2f}  " if "score" in grounding else ""
    print(f"{question:30}  {value}{grounding.get('explanation', '')}".rstrip())

annotations = to_annotation_dataframe(dataframe=scored)  # for a Phoenix server: see the end of the page
grounding = annotations[annotations["annotation_name"] == "grounding"]
print(f"mean {grounding['score'].mean():.2f}, coverage {(grounding['label'] == 'ok').mean():.2f}")
