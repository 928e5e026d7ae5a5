from __future__ import annotations

from sgi.engine.progress import Advanced, Embedded, Finished, NotebookProgress, Started


class Output:
    """What a cell shows."""

    def __init__(self):
        self.shown = []

    def display(self, data, *, raw, display_id):
        assert raw
        assert display_id
        return self.update(data, raw=raw)

    def update(self, data, *, raw):
        self.shown.append(data)
        return self


def test_a_stage_is_one_output_that_is_updated_and_cleared():
    output = Output()
    listen = NotebookProgress(output.display)
    for event in (
        Started("scoring", 300),
        Embedded(30, 120, 256),
        Advanced(256),
        Advanced(44),
        Finished("scoring"),
    ):
        listen(event)
    assert [data["text/plain"] for data in output.shown] == [
        "scoring: 0 of 300 rows",
        "scoring: 64 of 300 rows, 30 of 120 texts of this batch",
        "scoring: 256 of 300 rows",
        "scoring: 300 of 300 rows",
        "",
    ]
    assert '<progress max="300" value="64">' in output.shown[1]["text/html"]


def test_text_in_the_page_is_escaped():
    output = Output()
    NotebookProgress(output.display)(Started("<b>", None))
    assert output.shown == [{"text/plain": "<b>: 0 rows", "text/html": "<div>&lt;b&gt;: 0 rows</div>"}]
