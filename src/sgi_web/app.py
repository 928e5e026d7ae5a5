"""Web application: pages, API and middleware."""

from __future__ import annotations

import gc
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

import anyio.to_thread
from fastapi import FastAPI

from sgi.kernel.signature import package_version
from sgi_web.api import operations
from sgi_web.api import router as api
from sgi_web.body_limit import BodyLimitMiddleware
from sgi_web.cached_views import SearchIndexer
from sgi_web.error_responses import add_error_handlers
from sgi_web.routes import (
    comparisons,
    downloads,
    label_pages,
    login,
    otlp,
    quiz_pages,
    run_list_pages,
    run_pages,
    trends,
    upload_pages,
)
from sgi_web.security import SecurityMiddleware
from sgi_web.uploads import Uploads, remove_leftovers
from sgi_web.work_limits import AsyncThrottle, SingleFlightCache

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from concurrent.futures import Future

    from sgi_web.site import Site


def create_app(site: Site) -> FastAPI:
    """Create the application: pages, and the JSON API under ``/api/v1``. The caller closes the database."""
    app = FastAPI(
        title="SGI",
        version=package_version(),
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/v1/openapi.json",
        lifespan=_lifespan,
    )
    app.state.site = site
    app.state.uploads = Uploads(site)
    app.state.cache = SingleFlightCache()
    app.state.guard_throttle = AsyncThrottle(at_once=4, max_waiting=256)
    app.state.indexer = SearchIndexer(site.database)
    app.state.intake = otlp.Intake()
    app.state.label_queue = label_pages.LabelQueue()
    pages = (run_list_pages, otlp, trends, downloads, run_pages, comparisons, label_pages, quiz_pages)
    for module in (operations, api, *pages, upload_pages, login):
        app.router.routes.extend(module.router.routes)  # `include_router` would build every route again
    add_error_handlers(app)
    app.add_middleware(BodyLimitMiddleware, site=site)
    app.add_middleware(SecurityMiddleware, site=site)
    app.add_middleware(operations.MetricsMiddleware, site=site)
    return app


def _freeze_objects(ready: Future[None]) -> None:
    """Exempt present objects from garbage collection: a full collection of them stops requests for 80 ms."""
    if ready.exception() is None:
        gc.collect()
        gc.freeze()


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Context manager that opens the scorer at startup; at shutdown it stops jobs so that they can resume."""
    site: Site = app.state.site
    await anyio.to_thread.run_sync(remove_leftovers, site)
    async with AsyncExitStack() as stack:
        stack.callback(app.state.uploads.close)
        stack.callback(app.state.indexer.close)
        if site.guard is not None:
            from sgi.metrics.grounding.streaming import read_answer

            await anyio.to_thread.run_sync(read_answer, "", ("It is red.",), "It is red.")  # loads the model
        if site.scoring:
            from sgi.service.scorer import Scorer

            models = dict(site.models)
            scorer = Scorer(None, models.pop("embedders", None) or None, **models)
            stack.callback(gc.unfreeze)  # after the scorer is closed, which can still freeze objects
            site.scorer = await stack.enter_async_context(scorer)
            scorer.warm().add_done_callback(_freeze_objects)
        yield
