"""``sgi users``: manages the users of the dashboard, and prints the audit log."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from sgi.cli import options
from sgi.cli.console import one_line, print_json, print_lines, print_message, print_tables
from sgi.reporting.formatting import moment
from sgi.reporting.table import Table

if TYPE_CHECKING:
    from sgi.store.users import Role

users = typer.Typer(
    name="users",
    help="Manage the users of the dashboard, and print the audit log. "
    "Example: sgi users add ann --role editor",
    no_args_is_help=True,
)

NewName = Annotated[str, typer.Argument(metavar="NAME", help="Name of the new user, unique in the database.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the user.")]
RoleArgument = Annotated[options.RoleName, typer.Argument(metavar="ROLE", help="viewer, labeller or editor.")]
RoleOption = Annotated[
    options.RoleName,
    typer.Option(help="viewer reads; labeller also labels rows; editor also uploads, renames and deletes."),
]
OfUser = Annotated[str | None, typer.Option("--user", help="Only changes by this user.")]
Limit = Annotated[int, typer.Option(min=1, help="Number of changes to print.")]


@users.command()
def add(
    name: NewName, role: RoleOption = "viewer", db: options.Database = None, as_json: options.Json = False
) -> None:
    """Add a user and print the token, which is not stored and cannot be printed again.

    Examples:
      sgi users add ann --role editor
      sgi users add bob@example.org --db postgresql://me@server/evaluations
    """
    from sgi.store.database import open_database
    from sgi.store.users import add_user

    with open_database(db) as database:
        token = add_user(database, name, _role(role))
    _print_token(name, role, token, f"Added {name} as {role}.", as_json=as_json)


@users.command("list")
def list_(db: options.Database = None, as_json: options.Json = False) -> None:
    """List the users and their roles.

    Example:
      sgi users list --json
    """
    from sgi.store.database import open_database
    from sgi.store.users import list_users

    with open_database(db, create=False) as database:
        found = list_users(database)
    if as_json:
        print_json(
            [{"name": user.name, "role": str(user.role), "created_at": user.created_at} for user in found]
        )
    elif found:
        rows = [(one_line(user.name), str(user.role), moment(user.created_at)) for user in found]
        print_tables([Table(("name", "role", "created"), rows, title="Users", left=("role", "created"))])
    else:
        print_message("There are no users. Add one: sgi users add NAME --role editor")


@users.command("role")
def role_(name: Name, role: RoleArgument, db: options.Database = None, as_json: options.Json = False) -> None:
    """Change the role of a user. The user must sign in again.

    Example:
      sgi users role ann viewer
    """
    from sgi.store.database import open_database
    from sgi.store.users import set_role

    with open_database(db, create=False) as database:
        set_role(database, name, _role(role))
    if as_json:
        print_json({"name": name, "role": role})
    else:
        print_message(f"{name} has the role {role}.")


@users.command("token")
def token_(name: Name, db: options.Database = None, as_json: options.Json = False) -> None:
    """Replace the token of a user, and print the new one. The old token and its logins stop working.

    Example:
      sgi users token ann
    """
    from sgi.store.database import open_database
    from sgi.store.users import find_user, renew_token

    with open_database(db, create=False) as database:
        token = renew_token(database, name)
        user = find_user(database, name)
    role = "" if user is None else str(user.role)
    _print_token(name, role, token, f"The old token of {name} stops working.", as_json=as_json)


@users.command()
def remove(name: Name, db: options.Database = None, as_json: options.Json = False) -> None:
    """Remove a user. The token and the logins stop working; the audit log stays.

    Example:
      sgi users remove ann
    """
    from sgi.store.database import open_database
    from sgi.store.users import has_users, remove_user

    with open_database(db, create=False) as database:
        remove_user(database, name)
        others = has_users(database)
    if as_json:
        print_json({"name": name})
        return
    print_message(f"Removed {name}.")
    if not others:
        print_message(
            "There are no users now. A server on 127.0.0.1 without SGI_SERVE_TOKEN asks for no token."
        )


@users.command()
def log(
    user: OfUser = None,
    limit: Limit = 50,
    db: options.Database = None,
    as_json: options.Json = False,
) -> None:
    """Print the changes through the server, newest first.

    Examples:
      sgi users log
      sgi users log --user ann --limit 10 --json
    """
    from sgi.store.audit_log import count_entries, list_entries
    from sgi.store.database import open_database

    with open_database(db, create=False) as database:
        entries = list_entries(database, user=user, limit=limit)
        total = count_entries(database, user=user)
    if as_json:
        print_json(list(map(asdict, entries)))
        return
    if entries:
        columns = ("time", "user", "action", "run or file", "detail")
        rows = [
            (moment(each.at), *map(one_line, (each.user, each.action, each.target, each.detail)))
            for each in entries
        ]
        print_tables([Table(columns, rows, title="Audit log", left=columns)])
    if not total:
        print_message("The audit log has no changes.")
    elif len(entries) < total:
        print_message(f"Printed {len(entries):,} of {total:,} changes; --limit {total} prints all.")


def _role(name: str) -> Role:
    from sgi.store.users import Role

    return Role[name.upper()]


def _print_token(name: str, role: str, token: str, done: str, *, as_json: bool) -> None:
    """Print a new token on stdout, so that a script can read it, and the rest on stderr."""
    if as_json:
        print_json({"name": name, "role": role, "token": token})
        return
    print_message(
        f"{done} The token is printed only now; the login page and `Authorization: Bearer` take it:"
    )
    print_lines([token])
