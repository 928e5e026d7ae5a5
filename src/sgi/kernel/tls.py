"""The TLS settings of the clients of remote services."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from ssl import SSLContext


def tls_context(create: Callable[[], SSLContext]) -> SSLContext:
    """Return the settings that ``create`` makes; all clients of this process share them.

    Reading the trusted certificates takes 40 ms. They are read again if SSL_CERT_FILE or SSL_CERT_DIR
    changes.

    >>> from ssl import create_default_context
    >>> tls_context(create_default_context) is tls_context(create_default_context)
    True
    """
    return _context(create, os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@cache
def _context(create: Callable[[], SSLContext], _file: str | None, _folder: str | None) -> SSLContext:
    return create()
