"""The HTTP application: routes, error handlers, limits and the OpenAPI document around one container."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

import structlog
from fastapi import FastAPI
from pydantic import BaseModel

from schemas.masked import MaskedRequest
from schemas.menu import Menu
from schemas.order import OrderEvent, TextOrder, TextUtterance
from services.api import document, problems
from services.api.counts import DatabaseCounts
from services.api.gate import access
from services.api.gate.middleware import Gate
from services.api.gate.origin import Own
from services.api.gate.pressure import Pressure
from services.api.gate.rates import Rates
from services.api.metrics import Metrics
from services.api.routes import audio, events, health, links, masked, menus, orders, reviews
from services.api.waiting.bell import Bell
from services.api.waiting.watch import Waiting
from services.bootstrap import Container
from services.web import site

log = structlog.get_logger(__name__)

DESCRIPTION = (
    "Spoken orders in, priced carts out; a person is asked when in doubt. Money is in integer minor units, "
    "times in seconds, timestamps RFC 3339 UTC. Errors are RFC 9457 problems with a stable type and a"
    " request id."
)

# Models that FastAPI can't find: bodies that routes read themselves, and events of streams.
_MORE_MODELS: tuple[type[BaseModel], ...] = (
    TextOrder,
    TextUtterance,
    Menu,
    MaskedRequest,
    OrderEvent,
    problems.Problem,
)


def create_app(container: Container) -> FastAPI:
    """Return the application for `container`, whose database is migrated."""
    app = FastAPI(
        title="saycart",
        version=version("saycart"),
        description=DESCRIPTION,
        lifespan=_lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        # Generated clients name their methods after these functions: `create_order`, `get_order`.
        generate_unique_id_function=lambda route: route.name,
        redirect_slashes=False,
        # FastAPI's spans include full URLs, with page keys and customers' links, and it trusts any caller's
        # traceparent. The middleware creates our spans.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    _wire(app, container)
    problems.install(app)
    for part in (orders, audio, events, links, reviews, menus, masked, health):
        app.include_router(part.router)
    site.install(app)
    app.add_middleware(Gate, metrics=app.state.metrics, own=app.state.own)
    if open_routes := access.undeclared(app):
        raise RuntimeError(f"routes without a scope: {', '.join(open_routes)}")
    app.openapi = lambda: document.openapi(app, _MORE_MODELS)  # type: ignore[method-assign]
    return app


def _wire(app: FastAPI, container: Container) -> None:
    """Create the objects that routes share."""
    state = app.state
    state.container = container
    state.own = Own.of(container.settings)
    state.waiting = Waiting(container.watched)
    state.rates = Rates(container.settings)
    state.pressure = Pressure(container)
    state.metrics = Metrics(container, state.pressure, state.waiting, state.rates)
    state.masked = masked.CallLimit(container.settings, state.metrics)
    state.counts = DatabaseCounts(container)
    state.bell = Bell()
    state.scrapers = {}
    state.draining = False


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    container: Container = app.state.container
    # Fail now, not at the first order, if recordings can't be written.
    container.blobs.open().discard()
    # Its imports take a second, which the first order should not wait for.
    _ = container.doorbell
    async with app.state.waiting.running():
        log.info("api.started", version=app.version)
        yield
    await app.state.rates.close()
    log.info("api.stopped")
