from __future__ import annotations

import pytest
import sqlalchemy as sa

from sgi.kernel.errors import StoreDamagedError, UnknownNameError, UsageError
from sgi.store import schema, users
from sgi.store.audit_log import MAX_TEXT, add_entry, count_entries, list_entries, logged_users
from sgi.store.database import open_database
from sgi.store.transfer import export
from sgi.store.users import (
    Role,
    add_user,
    find_user,
    has_users,
    hash_token,
    list_users,
    remove_user,
    renew_token,
    set_role,
    user_of_token,
)
from support.runs import HOSTILE


@pytest.fixture
def database(database_url):
    with open_database(database_url) as opened:
        yield opened


def test_a_user_is_added_changed_and_removed(database):
    assert not has_users(database)
    first = add_user(database, "ann", Role.VIEWER)
    other = add_user(database, "Zoë 😀", Role.EDITOR)
    assert [(user.name, user.role) for user in list_users(database)] == [
        ("Zoë 😀", Role.EDITOR),
        ("ann", Role.VIEWER),
    ]
    assert user_of_token(database, other).name == "Zoë 😀"
    set_role(database, "ann", Role.LABELLER)
    assert user_of_token(database, first).role is Role.LABELLER
    second = renew_token(database, "ann")
    assert (user_of_token(database, first), user_of_token(database, second).name) == (None, "ann")
    remove_user(database, "ann")
    assert (find_user(database, "ann"), user_of_token(database, second)) == (None, None)
    for change in (
        lambda: remove_user(database, "ann"),
        lambda: renew_token(database, "ann"),
        lambda: set_role(database, "ann", Role.EDITOR),
    ):
        with pytest.raises(UnknownNameError, match="Unknown user 'ann'"):
            change()


def test_only_a_hash_of_a_token_is_stored_and_neither_is_exported(database, tmp_path):
    token = add_user(database, "ann", Role.VIEWER)
    add_entry(database, "ann", "delete", "r1")
    assert len(token) >= 43
    with database.reading() as connection:
        (row,) = connection.execute(sa.select(schema.users)).all()
    assert (row.token_hash, token in repr(row)) == (hash_token(token), False)
    export(database, tmp_path / "all.jsonl")
    text = (tmp_path / "all.jsonl").read_text()
    assert not any(part in text for part in ("ann", token, row.token_hash, "delete"))


def test_a_hash_is_not_a_token(database):
    add_user(database, "ann", Role.VIEWER)
    for wrong in ("", find_user(database, "ann").token_hash, "é", "\ud800", "x" * 100_000):
        assert user_of_token(database, wrong) is None


def test_every_hash_is_compared_in_constant_time(database, monkeypatch):
    tokens = [add_user(database, name, Role.VIEWER) for name in ("a", "b", "c")]
    compared = []

    def compare(left, right):
        compared.append(left)
        return left == right

    monkeypatch.setattr(users.secrets, "compare_digest", compare)
    assert user_of_token(database, tokens[0]).name == "a"
    assert len(compared) == 3


@pytest.mark.parametrize(
    "name", ["", " ", " ann", "local", "token", "a\x1bb", "a\nb", "a\u202eb", "a,b", "x" * 201, "x" * 10_000]
)
def test_a_name_that_cannot_be(database, name):
    with pytest.raises(UsageError, match="cannot be called") as caught:
        add_user(database, name, Role.VIEWER)
    assert len(str(caught.value)) < 400
    assert str(caught.value).isprintable()
    assert not has_users(database)


def test_a_name_is_taken_once(database):
    token = add_user(database, "ann", Role.VIEWER)
    with pytest.raises(UsageError, match="'ann' is already there"):
        add_user(database, "ann", Role.EDITOR)
    assert user_of_token(database, token).role is Role.VIEWER


@pytest.mark.parametrize("role", ["admin", "", "EDITOR ", "_missing_"])
def test_a_role_that_is_none_gives_no_rights(database, role):
    token = add_user(database, "ann", Role.VIEWER)
    with database.writing() as connection:
        connection.execute(sa.update(schema.users).values(role=role))
    for read in (lambda: find_user(database, "ann"), lambda: user_of_token(database, token)):
        with pytest.raises(StoreDamagedError, match="unknown role"):
            read()


def test_the_log_is_read_newest_first_by_page_and_by_user(database):
    for number in range(5):
        add_entry(database, ("ann", HOSTILE)[number % 2], "rename", f"r{number}", HOSTILE)
    assert [entry.target for entry in list_entries(database, limit=2, offset=1)] == ["r3", "r2"]
    found = list_entries(database, user=HOSTILE, limit=10)
    assert [(entry.target, entry.detail) for entry in found] == [("r3", HOSTILE), ("r1", HOSTILE)]
    assert (count_entries(database), count_entries(database, user="ann")) == (5, 3)
    assert logged_users(database) == sorted(["ann", HOSTILE])
    add_entry(database, "ann", "upload", "x" * 10_000)
    assert len(list_entries(database, limit=1)[0].target) == MAX_TEXT


def test_a_change_and_its_entry_are_stored_together_or_not_at_all(database):
    with pytest.raises(UsageError, match="is already there"), database.transaction() as both:  # noqa: PT012
        add_entry(both, "local", "x", "y")
        for _ in range(2):
            add_user(both, "ann", Role.VIEWER)
    assert (has_users(database), count_entries(database)) == (False, 0)
