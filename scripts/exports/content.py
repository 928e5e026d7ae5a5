"""Turns of a small question answering system about a tidal power station; every export records them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "tests" / "data" / "exports"
MODEL = "kerrow-chat-1"
SYSTEM = "Answer from the passages. Say so if they do not answer the question."
AUTHOR = "Kerrow Sound"

PASSAGES = {
    "history": "The Kerrow Sound tidal power station opened in May 1987. It was built in six years.",
    "turbines": "The barrage holds 12 bulb turbines of 5 MW each, so its rated power is 60 MW.",
    "output": "In an average year the station generates 118 GWh, enough for about 31,000 homes.",
    "tides": "The mean tidal range at Kerrow Sound is 7.4 metres; spring tides reach 10.1 metres.",
    "fish": "A fish ladder with 40 steps lets salmon and sea trout pass the barrage since 1994.",
    "visitors": "The visitor centre is open from April to October. Entry is free for children under 12.",
    "lock": "Boats pass through a lock of 35 metres. It operates from three hours before high water.",
    "unicode": "Die Fischtreppe heißt „Lachsstiege“ – 潮汐発電所の魚道は40段です。🐟",
}


@dataclass(frozen=True)
class Turn:
    """One question with what the system did: retrievals, reranking, a tool call, and the answer."""

    name: str
    question: str
    answer: str | None
    retrievals: tuple[tuple[str, ...], ...] = ()
    reranked: tuple[str, ...] = ()
    tool: tuple[str, dict[str, str], str] | None = None
    has_texts: bool = True
    error: str | None = None
    session: str | None = None
    reference: str | None = None
    scores: dict[str, float] = field(default_factory=dict)

    @property
    def passages(self) -> tuple[str, ...]:
        """The keys of the passages that the model reads: the reranked ones, or all that were retrieved."""
        keys = self.reranked or tuple(key for keys in self.retrievals for key in keys)
        return tuple(dict.fromkeys(keys))

    @property
    def prompt(self) -> str:
        """The message to the model."""
        texts = "\n".join(f"[{number}] {PASSAGES[key]}" for number, key in enumerate(self.passages, 1))
        return f"Passages:\n{texts}\n\nQuestion: {self.question}"


TURNS = (
    Turn(
        "opening",
        "When did the tidal power station open?",
        "It opened in May 1987, after six years of construction.",
        retrievals=(("history", "turbines", "output"),),
        reference="May 1987",
        scores={"helpfulness": 0.9},
    ),
    Turn(
        "homes",
        "How many homes does the station supply, and with how many turbines?",
        "About 31,000 homes, with 12 turbines of 5 MW each.",
        retrievals=(("output", "visitors"), ("turbines", "history", "output")),
        reranked=("output", "turbines"),
    ),
    Turn(
        "high_water",
        "When can a boat pass the lock today?",
        "High water is at 14:20, so the lock operates from 11:20.",
        retrievals=(("lock",),),
        tool=("tide_table", {"place": "Kerrow Sound"}, "High water at 14:20"),
    ),
    Turn(
        "tour-1",
        "When is the visitor centre open?",
        "From April to October.",
        retrievals=(("visitors",),),
        session="tour",
    ),
    Turn(
        "tour-2",
        "Is it free for my son? He is 9.",
        "Yes, entry is free for children under 12.",
        retrievals=(("visitors", "history"),),
        session="tour",
    ),
    Turn(
        "tour-3",
        "How high are the tides there?",
        "The tidal range is 7.4 metres on average, and 12 metres at spring tides.",
        retrievals=(("tides",),),
        session="tour",
        scores={"helpfulness": 0.2},
    ),
    Turn(
        "ids_only",
        "Since when can fish pass the barrage?",
        "Since 1994, through a fish ladder.",
        retrievals=(("fish", "lock"),),
        has_texts=False,
    ),
    Turn("empty_answer", "Who designed the barrage?", "", retrievals=(("history",),)),
    Turn(
        "timeout",
        "What does the station cost a year?",
        None,
        retrievals=(("output",),),
        error="TimeoutError: the model did not answer within 30 s",
    ),
    Turn(
        "unicode",
        "Wie heißt die Fischtreppe? 魚道は何段ですか？",
        "Sie heißt „Lachsstiege“ und hat 40 Stufen – 40段です。🐟",
        retrievals=(("unicode", "fish"),),
    ),
)


def documents(turn: Turn, keys: tuple[str, ...]) -> list[dict[str, object]]:
    """Return what a retriever gives for these passages: ids, scores, and texts if the turn has them."""
    return [
        {
            "id": f"doc-{key}",
            "score": round(0.9 - 0.1 * rank, 2),
            **({"content": PASSAGES[key]} if turn.has_texts else {}),
            "metadata": {"source": f"{key}.md"},
        }
        for rank, key in enumerate(keys)
    ]
