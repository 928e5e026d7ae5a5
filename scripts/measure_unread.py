"""Measure what an embedding is worth if the model does not know a part of the words.

The script hides random words of both texts of each pair of STS-B (test split) from the embedded model, and
correlates the cosines with the human scores. A last row has all words spelled in Greek letters, which the
vocabulary has only one by one. `docs/internals/decisions/0071` has the output.

    python scripts/measure_unread.py DATA_FOLDER
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

import numpy as np

from sgi import load_embedder

SEED = 7
SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
UNRELATED, SAME = 1.0, 4.0
"""Human scores from 0 to 5: up to the first, texts are unrelated; from the second on, they say the same."""
UNKNOWN = "\N{CYRILLIC LETTER MULTIOCULAR O}"
GREEK = str.maketrans("abcdefghijklmnopqrstuvwxyz", "αβκδεφγηιζκλμνοπκρστυβωξψζ")


def hide(text: str, share: float, chance: random.Random) -> str:
    """Replace random words by words of an unknown letter, until they have this share of the letters."""
    words = text.split()
    remaining = share * sum(map(str.isalpha, text))
    for place in chance.sample(range(len(words)), len(words)):
        letters = sum(map(str.isalpha, words[place]))
        if 0 < letters <= remaining + letters / 2:
            remaining -= letters
            words[place] = UNKNOWN * letters
    return " ".join(words)


def main() -> None:
    """Print the table."""
    with (Path(sys.argv[1]) / "stsb.jsonl").open(encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if row["meta"]["split"] == "test"]
    human = np.array([row["meta"]["score"] for row in rows])
    columns = [[row[name] for row in rows] for name in ("response", "reference")]
    chance = random.Random(SEED)
    cases = {
        f"{share:.0%} unknown": [[hide(text, share, chance) for text in column] for column in columns]
        for share in SHARES
    }
    cases["Greek letters"] = [[text.lower().translate(GREEK) for text in column] for column in columns]
    embedder = load_embedder("minilm")
    print(
        f"| {len(rows)} pairs | correlation | cosine, unrelated | cosine, same meaning |\n|---|---|---|---|"
    )
    for name, texts in cases.items():
        left, right = (embedder.embed(column).astype(np.float64) for column in texts)
        cosines = np.maximum((left * right).sum(axis=1), 0.0)
        correlation = np.corrcoef(cosines, human)[0, 1]
        means = (cosines[human <= UNRELATED].mean(), cosines[human >= SAME].mean())
        print(f"| {name} | {correlation:.2f} | {means[0]:.2f} | {means[1]:.2f} |")


if __name__ == "__main__":
    main()
