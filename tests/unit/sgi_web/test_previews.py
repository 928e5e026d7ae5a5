from __future__ import annotations

from sgi_web.previews import Previews


def test_a_preview_is_kept_for_an_hour_after_its_last_request(tmp_path):
    now = 0.0
    previews = Previews(lambda: now)

    def add(name):
        (tmp_path / name).write_text("x")
        return previews.add(tmp_path / name, name, "session")

    used, forgotten = add("used"), add("forgotten")
    now = 3000.0
    assert previews.find(used.id, "session") is used
    assert previews.find(used.id, "another session") is None
    now = 4000.0
    add("new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "used"]
    assert previews.find(forgotten.id, "session") is None
    previews.forget(used)
    previews.close()
    assert [path.name for path in tmp_path.iterdir()] == ["used"]
