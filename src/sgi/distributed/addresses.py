"""Addresses of Arrow file systems, such as ``s3://bucket/rows`` or ``file:///…``; anything else is a path.

An address may end in a query, as in ``s3://bucket/rows?endpoint_override=localhost:9000``. Secrets are
rejected, because the address is stored with the run and printed.
"""

from __future__ import annotations

import re

from sgi.kernel.errors import UsageError

_SCHEMES = ("s3", "gs", "gcs", "abfs", "abfss", "hdfs", "viewfs", "file")
_ADDRESS = re.compile(rf"({'|'.join(_SCHEMES)}):/+")
_QUERY = re.compile(r"\?[A-Za-z]\w*=[^&?*]*(?:&[A-Za-z]\w*=[^&?*]*)*$")
"""A query at the end; any other question mark is part of a pattern."""
_ONE_SLASH = re.compile(r"(?<==)(https?):/+")
_PASSWORD = re.compile(r":[^@]*@|:(?!\d*$)")
"""Before the first slash, a colon is only allowed for a port."""
_SECRET = re.compile(r"[?&](?:\w*(?:secret|passw|token|key)\w*|sig|sas)=", re.IGNORECASE)


def as_address(text: str) -> str | None:
    """Parse an address, also one that `Path` normalised; None for a path.

    Raises UsageError if the address contains a password or a key; the message does not.

    >>> as_address("s3:/bucket/rows.jsonl"), as_address("rows.jsonl")
    ('s3://bucket/rows.jsonl', None)
    """
    match = _ADDRESS.match(text)
    if match is None:
        return None
    place, query = split_query(text[match.end() :])
    if match[1] != "file" and _PASSWORD.search(re.sub(r"\[[^]]*\]", "", place.partition("/")[0])):
        raise _secret(match[1])
    if _SECRET.search(query):
        raise _secret(match[1])
    slashes = "///" if match[1] == "file" else "//"
    whole = _ONE_SLASH.sub(r"\1://", query)  # Path removes one slash
    return f"{match[1]}:{slashes}{place}{whole}"


def split_query(address: str) -> tuple[str, str]:
    """Split an address into the part before its query, and the query with its question mark.

    >>> split_query("s3://bucket/rows?region=eu"), split_query("s3://bucket/rows-?.jsonl")
    (('s3://bucket/rows', '?region=eu'), ('s3://bucket/rows-?.jsonl', ''))
    """
    match = _QUERY.search(address)
    return (address, "") if match is None else (address[: match.start()], match[0])


def join_path(folder: str, name: str) -> str:
    """Return the path or address of a file in a folder; a query stays at the end."""
    place, query = split_query(folder) if as_address(folder) is not None else (folder, "")
    return f"{place.rstrip('/')}/{name}{query}"


def _secret(scheme: str) -> UsageError:
    hint = "Put them into the environment variables or the credentials file of the provider."
    return UsageError(f"An address ({scheme}://…) must not hold a password or a key.", hint=hint)
