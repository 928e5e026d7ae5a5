import json

import pytest

from sgi_quiz.build import build_quiz
from sgi_quiz.document_files import Documents

FERRIES = """# Ferries of the Tolvik line

The ferry Anke was launched in 1950 by the shipyard of Tolvik. The Anke carries 240 passengers.
Greta Holm designed the Anke because the old boat was too slow for the winter route.

The ferry Berta was launched in 1964. The ferry Berta is based on the plans of an older tanker.

## Captains

Greta Holm studied naval engineering in Bergen. Greta Holm published a famous handbook in 1938.
Oskar Lind commanded the Berta for eleven years. Oskar Lind was a captain with a special licence.

## How do I book a cabin on the night ferry?

Book a cabin on the night ferry with `tolvik book`. If the night ferry is full, `tolvik book`
puts you on a list. To cancel a cabin of the night ferry, use `tolvik cancel`.

## Vessels

| Vessel | Length | Speed |
|---|---|---|
| Anke | 42 m | 14 kn |
| Berta | 58 m | 17 kn |

## Board the night ferry

1. Print the boarding card of the night ferry.
2. Show the boarding card to a steward.
3. Park the car on the lower deck.
"""

RUNDVIK = """<html><head><title>Rundvik</title>
<script>document.write("Rundvik was founded in 1200 by a script.")</script></head>
<body><nav>The menu was made in 1999 by Menu Corporation.</nav><h1>Rundvik</h1>
<p>The fishing village of Rundvik was founded in 1712 by Danish settlers.</p>
<h2>Why is the lighthouse of Rundvik closed?</h2>
<p>The lighthouse of Rundvik is closed because its lamp broke in a storm.</p></body></html>
"""

NILS_BERG = [
    (
        "Nils Berg invented the Tolvik winch in 1921. The Tolvik winch was sold in nine countries. "
        "Nils Berg lived in Norway for forty years."
    ),
    (
        "Nils Berg received the Halvorsen Medal in 1933. "
        "The Halvorsen Medal is a prize for engineers of small ships."
    ),
]


@pytest.fixture(scope="session")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "ferries.md").write_text(FERRIES, "utf-8")
    (folder / "towns").mkdir()
    (folder / "towns" / "rundvik.html").write_text(RUNDVIK, "utf-8")
    (folder / "people.jsonl").write_text(
        "".join(
            json.dumps({"id": f"p{number}", "title": "Nils_Berg", "text": text}) + "\n"
            for number, text in enumerate(NILS_BERG, 1)
        )
    )
    return folder


@pytest.fixture(scope="session")
def made(corpus):
    pytest.importorskip("spacy")
    return build_quiz(Documents.find([corpus]), 60, seed=1).questions
