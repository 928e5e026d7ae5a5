"""What each role may do: every route that changes something, and every button."""

from __future__ import annotations

import re

from sgi.store.audit_log import list_entries
from sgi.store.run_queries import list_runs
from sgi.store.users import Role
from support.answers import rows, write_jsonl
from support.web_server import form_key, submit_form, visible_text, web_client

FOR_ALL = {("POST", "/login"), ("POST", "/logout"), ("POST", "/api/v1/score")}
"""The only routes with a method other than GET that a viewer may use; they store nothing."""
SAFE = {"GET", "HEAD", "OPTIONS"}


def routes(router):
    """All routes with their methods, also those of included routers."""
    for route in router.routes:
        if hasattr(route, "original_router"):
            yield from routes(route.original_router)
        else:
            yield from ((method, route.path) for method in route.methods)


def changing_routes(client):
    found = {(method, path) for method, path in routes(client.app) if method not in SAFE}
    assert found >= FOR_ALL | {("POST", "/upload"), ("DELETE", "/api/v1/runs/{run}"), ("POST", "/v1/traces")}
    return sorted(found - FOR_ALL)


def concrete(path):
    """The path of a route with a value for each parameter: an existing run."""
    return re.sub(r"\{[^}]*\}", "before", path)


def test_a_viewer_can_use_no_route_that_changes_anything(site, signed_in):
    viewer = signed_in(Role.VIEWER)
    key = form_key(viewer, "/")
    before = list_runs(site.database)
    for method, path in changing_routes(viewer):
        response = viewer.request(method, concrete(path), data={"form_key": key, "name": "x", "tags": "x"})
        text = visible_text(response.text)
        assert response.status_code == 403, f"{method} {path} needs require_role"
        assert re.search("needs the role (labeller|editor). Your role is viewer", text), path
    assert list_runs(site.database) == before
    assert list_entries(site.database, limit=1) == []


def test_a_labeller_can_only_label(site, signed_in):
    labeller = signed_in(Role.LABELLER)
    key = form_key(labeller, "/")
    for method, path in changing_routes(labeller):
        if "/label" not in path:
            response = labeller.request(method, concrete(path), data={"form_key": key})
            assert response.status_code == 403, f"{method} {path}"


def test_without_a_login_every_route_but_the_public_ones_is_refused(site, signed_in):
    signed_in(Role.VIEWER)
    with web_client(site) as anonymous:
        for method, path in [*changing_routes(anonymous), *sorted(FOR_ALL - {("POST", "/login")})]:
            response = anonymous.request(method, concrete(path))
            assert (response.status_code, response.headers.get("location")) in {(401, None), (303, "/login")}


def test_a_viewer_reads_pages_without_buttons_that_change(signed_in):
    viewer, editor = signed_in(Role.VIEWER), signed_in(Role.EDITOR)
    for path, words in {
        "/": ["Upload", "Audit log"],
        "/runs/before": ["Edit name and tags", "Delete"],
    }.items():
        seen, all_seen = (visible_text(client.get(path).text) for client in (viewer, editor))
        assert all(word in all_seen and word not in seen for word in words)
    for path in ("/runs/before/report.html", "/compare?base=before&new=after", "/api/v1/runs/before"):
        assert viewer.get(path).status_code == 200
    for path in ("/upload", "/runs/before/edit", "/runs/before/delete", "/audit"):
        assert (viewer.get(path).status_code, editor.get(path).status_code) == (403, 200)
    assert "viewer user viewer" in visible_text(viewer.get("/upload").text)


def test_each_change_is_one_entry_of_its_user(site, signed_in, tmp_path):
    editor = signed_in(Role.EDITOR)
    submit_form(editor, "/runs/before/edit", name="<b>new</b>", tags="x, y")
    submit_form(editor, "/runs/after/edit", name="after", tags="")  # changes nothing
    assert submit_form(editor, "/runs/after/edit", name="<b>new</b>", tags="z").status_code == 400
    key = {"Content-Type": "application/json"}
    assert editor.patch("/api/v1/runs/after", content='{"tags": ["z"]}', headers=key).status_code == 200
    write_jsonl(tmp_path / "a.jsonl", rows(3))
    with (tmp_path / "a.jsonl").open("rb") as file:
        preview = submit_form(editor, "/upload", files={"file": ("a.jsonl", file)}).headers["location"]
    submit_form(editor, preview, action="score", metrics=["squad_em"])
    submit_form(editor, "/runs/after/delete")
    entries = list_entries(site.database, limit=10)
    assert {entry.user for entry in entries} == {"editor user"}
    assert [(entry.action, entry.detail.partition(":")[0]) for entry in reversed(entries)] == [
        ("rename", "before → <b>new</b>"),
        ("tags", "no tags → x, y"),
        ("tags", "no tags → z"),
        ("upload", entries[1].detail),
        ("delete", "after"),
    ]
    page = editor.get("/audit").text
    assert "<b>new" not in page
    assert "before → &lt;b&gt;new" in page


def test_the_log_has_pages_and_a_filter(client, site):
    from sgi.store.audit_log import add_entry

    for number in range(60):
        add_entry(site.database, "a&b" if number % 2 else "local", "rename", f"run {number}")
    first = visible_text(client.get("/audit").text)
    assert ("60 changes" in first, "run 59" in first, "run 9 " in first) == (True, True, False)
    assert "run 0 " in visible_text(client.get("/audit?page=9").text)
    mine = visible_text(client.get("/audit", params={"user": "a&b"}).text)
    assert ("30 changes" in mine, "run 59" in mine, "run 58" in mine) == (True, True, False)
    assert "This user has changed nothing" in client.get("/audit?user=nobody").text
    assert client.get("/audit?page=0").status_code == 400


def test_a_viewer_cannot_score_traces_but_rows(site, signed_in):
    viewer = signed_in(Role.VIEWER)
    response = viewer.post("/api/v1/score", json={"rows": []})
    assert response.status_code not in {401, 403}
