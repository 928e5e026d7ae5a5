"""Addresses that Arrow knows, as ``s3://bucket/rows``, ``gs://…``, ``file:///…``; all else is a path.

An address may end in a query, as in ``s3://bucket/rows?endpoint_override=localhost:9000``. Secrets have no
place in one: what names data is kept with a run, and shown.
"""

from __future__ import annotations

import re

from sgi.kernel.errors import UsageError

_SCHEMES = ("s3", "gs", "gcs", "abfs", "abfss", "hdfs", "viewfs", "file")
_ADDRESS = re.compile(rf"({'|'.join(_SCHEMES)}):/+")
_QUERY = re.compile(r"\?[A-Za-z]\w*=[^&?*]*(?:&[A-Za-z]\w*=[^&?*]*)*$")
"""Names and values up to the end; any other question mark belongs to a pattern."""
_ONE_SLASH = re.compile(r"(?<==)(https?):/+")
_PASSWORD = re.compile(r":[^@]*@|:(?!\d*$)")
"""In what stands before the first slash: a colon is for a port alone."""
_SECRET = re.compile(r"[?&](?:\w*(?:secret|passw|token|key)\w*|sig|sas)=", re.IGNORECASE)


def as_address(text: str) -> str | None:
    """The address that a text is, also where a path was made of it in between; None for a path.

    >>> as_address("s3:/bucket/rows.jsonl"), as_address("rows.jsonl")
    ('s3://bucket/rows.jsonl', None)

    Raises:
        UsageError: it holds a password or a key; the message does not.
    """
    found = _ADDRESS.match(text)
    if found is None:
        return None
    place, query = parted(text[found.end() :])
    if found[1] != "file" and _PASSWORD.search(re.sub(r"\[[^]]*\]", "", place.partition("/")[0])):
        raise _secret(found[1])
    if _SECRET.search(query):
        raise _secret(found[1])
    slashes = "///" if found[1] == "file" else "//"
    whole = _ONE_SLASH.sub(r"\1://", query)  # the slash that a path of it lost
    return f"{found[1]}:{slashes}{place}{whole}"


def parted(address: str) -> tuple[str, str]:
    """An address without its query, and the query with its question mark.

    >>> parted("s3://bucket/rows?region=eu"), parted("s3://bucket/rows-?.jsonl")
    (('s3://bucket/rows', '?region=eu'), ('s3://bucket/rows-?.jsonl', ''))
    """
    found = _QUERY.search(address)
    return (address, "") if found is None else (address[: found.start()], found[0])


def below(folder: str, name: str) -> str:
    """The place of a file in a folder, which is a path or an address.

    >>> below("s3://bucket/rows?region=eu", "a.jsonl")
    's3://bucket/rows/a.jsonl?region=eu'
    """
    place, query = parted(folder) if as_address(folder) is not None else (folder, "")
    return f"{place.rstrip('/')}/{name}{query}"


def _secret(scheme: str) -> UsageError:
    hint = "Have the provider's own environment variables or credentials file hold them."
    return UsageError(f"An address ({scheme}://…) must not hold a password or a key.", hint=hint)
