from __future__ import annotations

import pytest

from sgi.store.audit_log import add_entry
from sgi.store.database import open_database
from sgi.store.users import Role, user_of_token
from support.answers import TERMINAL_ATTACK


def user_with(tmp_path, token):
    with open_database(tmp_path / "sgi.db") as database:
        found = user_of_token(database, token)
    return None if found is None else (found.name, found.role)


def test_users_are_managed(sgi, tmp_path):
    added = sgi("users", "add", "ann", "--role", "labeller")
    token = added.out.strip()
    assert (added.code, token in added.err) == (0, False)
    assert user_with(tmp_path, token) == ("ann", Role.LABELLER)
    assert sgi("users", "role", "ann", "editor").err == "ann has the role editor.\n"
    assert user_with(tmp_path, token) == ("ann", Role.EDITOR)
    new = sgi("users", "token", "ann", "--json").json
    assert (new["name"], new["role"]) == ("ann", "editor")
    assert (user_with(tmp_path, token), user_with(tmp_path, new["token"])) == (None, ("ann", Role.EDITOR))
    assert "viewer" in sgi("users", "add", "bob", "--json").json["role"]
    listed = sgi("users", "list", "--json").json
    assert [(user["name"], user["role"]) for user in listed] == [("ann", "editor"), ("bob", "viewer")]
    table = sgi("users", "list").out
    assert "ann" in table
    assert new["token"] not in table
    assert sgi("users", "remove", "ann").err == "Removed ann.\n"
    assert "asks for no token" in sgi("users", "remove", "bob").err
    assert "sgi users add" in sgi("users", "list").err


def test_a_name_or_role_that_cannot_be_is_an_error(sgi):
    sgi("users", "add", "ann")
    assert "'ann' is already there" in sgi("users", "add", "ann").err
    assert "Unknown user 'eve'" in sgi("users", "role", "eve", "editor").err
    for words in (
        ["add", "x", "--role", "admin"],
        ["role", "ann", "admin"],
        ["token", "eve"],
        ["remove", "eve"],
    ):
        assert sgi("users", *words).code == 2
    refused = sgi("users", "add", TERMINAL_ATTACK)
    assert (refused.code, refused.out) == (2, "")
    assert not set(refused.err) & set("\x1b\x9b\u202e")


def test_the_log_is_printed_newest_first(sgi, tmp_path):
    assert sgi("users", "list", "--db", "none.db").code == 2
    with open_database(tmp_path / "sgi.db") as database:
        for number in range(3):
            add_entry(database, ("ann", "bob")[number % 2], "rename", f"r{number}", TERMINAL_ATTACK)
    page = sgi("users", "log")
    assert page.out.index("r2") < page.out.index("r0")
    assert not set(page.out) & set("\x1b\x9b\u202e")
    assert "1 of 2 changes; --limit 2" in sgi("users", "log", "--user", "ann", "--limit", "1").err
    (entry,) = sgi("users", "log", "--user", "bob", "--json").json
    assert (entry["user"], entry["target"]) == ("bob", "r1")
    assert "has no changes" in sgi("users", "log", "--user", "eve").err


@pytest.mark.parametrize("verb", ["add", "list", "role", "token", "remove", "log"])
def test_help_has_an_example(sgi, verb):
    assert f"sgi users {verb}" in sgi("users", verb, "--help").out.partition("Example")[2]
