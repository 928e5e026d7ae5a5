"""Score the rows of a pandas frame."""

import pandas as pd

import sgi.integrations.pandas

passages = ["The tower was built in 1889.", "The tower is 330 m tall."]
frame = pd.DataFrame(
    {
        "question": ["When was the tower built?", "How tall is the tower?", "Who built the tower?"],
        "contexts": [passages, passages, None],  # the application lost the passages of the third row
        "response": ["It was built in 1889.", "It is 312 m tall.", "Gustave Eiffel."],
    },
    index=["q7", "q8", "q9"],
)
print(frame.sgi.score("grounding").round(2))

scores = frame.sgi.evaluate(["grounding", "sgi"])
scored = pd.concat([frame, scores], axis=1)  # the scores have the index of the frame
print(scored[["question", "grounding", "sgi_status"]].round(2))
print(scores.sgi.summary()[["mean", "ok", "rows", "coverage"]].round(2))
