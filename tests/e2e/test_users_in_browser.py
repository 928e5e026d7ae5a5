"""Two users in a real browser, without scripts: what each sees, and the end of a login."""

from __future__ import annotations

import pytest

from sgi.store.users import Role, add_user, remove_user
from support.browser import chromium
from support.kept_runs import rows, store_run
from support.web_server import open_site, serve_site


@pytest.fixture
def site(tmp_path):
    store_run(tmp_path / "sgi.db", tmp_path, rows(5), name="answers")
    with open_site(tmp_path) as made:
        yield made


def sign_in(browser, address, token):
    page = browser.new_context(base_url=address, java_script_enabled=False).new_page()
    page.goto("/runs/answers")
    page.get_by_label("Token").fill(token)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="answers", exact=True).wait_for()
    return page


def test_a_viewer_reads_and_an_editor_changes_until_the_user_is_removed(site):
    tokens = {role: add_user(site.database, f"{role}@example.org", role) for role in Role}
    with serve_site(site) as address, chromium() as browser:
        viewer = sign_in(browser, address, tokens[Role.VIEWER])
        assert viewer.get_by_role("link", name="Edit name and tags").count() == 0
        assert viewer.get_by_text("viewer@example.org").count() == 1
        assert viewer.goto("/audit").status == 403
        assert "needs the role editor. Your role is viewer" in viewer.get_by_role("alert").inner_text()

        editor = sign_in(browser, address, tokens[Role.EDITOR])
        editor.get_by_role("link", name="Edit name and tags").click()
        editor.get_by_label("Tags").fill("nightly")
        editor.get_by_role("button", name="Save").click()
        editor.get_by_role("link", name="Audit log").click()
        assert "editor@example.org\ttags" in editor.get_by_role("row").nth(1).inner_text()

        remove_user(site.database, "editor@example.org")
        editor.get_by_role("link", name="Runs").click()
        assert editor.get_by_role("heading", name="Sign in").is_visible()
