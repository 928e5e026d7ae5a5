from __future__ import annotations

import pytest

from sgi.kernel.errors import UsageError
from sgi.store.database import open_database
from sgi.store.run_names import checked_tags, require_free_name
from support.runs import add_run


@pytest.fixture
def connection(database_url):
    with open_database(database_url) as database:
        add_run(database, "r1", name="nightly")
        with database.reading() as opened:
            yield opened


@pytest.mark.parametrize(
    "name",
    ["  ", "a\0b", "\ud800", "é\u202e", "x" * 201, "last~3", "20260101-120000-abcdef"],
)
def test_names_that_no_run_can_have(connection, name):
    with pytest.raises(UsageError):
        require_free_name(connection, name)


@pytest.mark.parametrize("name", ["Nightly", "lasting", "r1", "2026", "a, b", "é", "x" * 200])
def test_names_that_are_free(connection, name):
    require_free_name(connection, name)


def test_a_name_that_is_taken_says_by_whom_and_what_else_can_be_done(connection):
    with pytest.raises(UsageError, match=r"'nightly'.*r1") as caught:
        require_free_name(connection, "nightly", otherwise="wait")
    assert "wait" in caught.value.hint


def test_tags_are_stripped_sorted_and_there_once():
    assert checked_tags([" b ", "a", "b", "B", "ünï code"]) == ("B", "a", "b", "ünï code")
    assert checked_tags([]) == ()
    assert checked_tags(["x" * 40, "it's; DROP--%_"]) == ("it's; DROP--%_", "x" * 40)


@pytest.mark.parametrize("tag", ["", " \t", "a,b", "x" * 41, "a\nb", "a\0", "\u202eevil", "\ud800", "\ufdd0"])
def test_what_is_no_tag_is_named(tag):
    with pytest.raises(UsageError) as caught:
        checked_tags(["good", tag])
    assert repr(tag) in str(caught.value)
    str(caught.value).encode()  # can be printed


def test_a_run_has_at_most_twenty():
    assert len(checked_tags(map(str, range(20)))) == 20
    with pytest.raises(UsageError, match=r"20.*21"):
        checked_tags(map(str, range(21)))
