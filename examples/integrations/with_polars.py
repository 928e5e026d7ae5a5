"""Score the rows of a polars frame."""

import polars as pl

import sgi.integrations.polars

passages = ["The tower was built in 1889.", "The tower is 330 m tall."]
frame = pl.DataFrame(
    {
        "question": ["When was the tower built?", "How tall is the tower?", "Who built the tower?"],
        "contexts": [passages, passages, None],  # the application lost the passages of the third row
        "response": ["It was built in 1889.", "It is 312 m tall.", "Gustave Eiffel."],
    }
)
scores = frame.sgi.evaluate(["grounding", "sgi"])
scored = frame.hstack(scores)  # the scores have the rows of the frame, in the same order
print(scored.select("response", pl.col("grounding").round(2), "grounding_status"))
print(scores.sgi.summary().select("metric", pl.col("mean").round(2), "ok", "rows", "coverage"))
