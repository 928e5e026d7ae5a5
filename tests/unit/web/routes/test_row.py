"""The page of a row."""

from __future__ import annotations

from support.kept_runs import rows, store_run
from support.web_server import open_site, web_client


def test_a_row_shows_the_answers_of_other_runs(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    for folder in (old, new):
        folder.mkdir()
    first = store_run(tmp_path / "sgi.db", old, rows(4), metrics=("content_f1",))
    changed = rows(4, answer="<b>Item {k}</b> has {k} old {topic}.")
    second = store_run(tmp_path / "sgi.db", new, changed, metrics=("content_f1",))
    with open_site(tmp_path) as site, web_client(site) as client:
        page = client.get(f"/runs/{first}/samples/item-1").text
        assert "1 of 1 have another answer" in page
        assert "&lt;b&gt;Item 1&lt;/b&gt; has 1 old rivers." in page
        assert f'href="/runs/{second}/samples/item-1"' in page
        assert "0 of 1 have another answer" in client.get(f"/runs/{first}/samples/item-0").text
