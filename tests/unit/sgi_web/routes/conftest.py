from __future__ import annotations

from contextlib import closing, contextmanager

import pytest

from sgi_traces.live.open_receiver import TraceOptions, open_receiver
from support.trace_receiver import FAST
from support.web_server import open_site, web_client


@pytest.fixture
def serve(tmp_path):
    """Return a function that starts a site that receives traces; it yields a client and the site."""

    @contextmanager
    def start(**options):
        settings = {"metrics": ["grounding"], "receiver": FAST} | options
        with (
            open_site(tmp_path) as site,
            closing(open_receiver(site.database, TraceOptions(**settings))) as receiver,
        ):
            site.receiver = receiver
            with web_client(site) as client:
                yield client, site

    return start
