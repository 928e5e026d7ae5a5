from __future__ import annotations

from functools import partial

import pytest

from support.trace_receiver import serving


@pytest.fixture
def serve(tmp_path):
    """Return a function that starts a site that receives traces; it yields a client and the site."""
    return partial(serving, tmp_path)
