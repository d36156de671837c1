"""`/livez`, `/readyz`, `/metrics`, `/metrics/database`: for orchestrators and Prometheus."""

from __future__ import annotations

from fastapi import APIRouter, Request
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.responses import JSONResponse, Response

from services.api.counts import DatabaseCounts
from services.api.deps import container
from services.api.gate.access import ReadsMetrics
from services.api.metrics import Metrics

router = APIRouter(tags=["health"])

# What a replica can't take an order without. All else is shared: taking one out for it doesn't help, and
# all would be out at once.
_OWN = {"database", "server"}


@router.get("/livez")
async def get_liveness() -> dict[str, str]:
    """Is the process alive? Says nothing about its dependencies: a restart would not fix them."""
    return {"status": "ok"}


@router.get("/readyz", responses={503: {"description": "this replica can't take orders"}})
def get_readiness(request: Request) -> Response:
    """Can this replica take orders? It can while it is not shutting down and the database answers.

    `status` is `ok`, `degraded` (orders are taken, and wait: queue or decoder is away) or `unready`. Each of
    `checks` is `ok` or its problem; queue and decoder are shown as they were a moment ago.
    """
    checks = container(request).ready()
    if request.app.state.draining:  # which a balancer should know
        checks = {**checks, "server": "shutting down"}
    wrong = {name for name, problem in checks.items() if problem != "ok"}
    takes_orders = not wrong & _OWN
    status = "unready" if not takes_orders else "degraded" if wrong else "ok"
    return JSONResponse(
        {"status": status, "checks": checks},
        status_code=200 if takes_orders else 503,
        headers={"Cache-Control": "no-store"},
    )


@router.get("/metrics", response_class=Response)
def get_metrics(request: Request, _box: ReadsMetrics) -> Response:
    """Get the process's metrics. Prometheus text: what it counts over all shops, for a key with the
    scope `metrics`."""
    kept: Metrics = request.app.state.metrics
    return Response(generate_latest(kept.registry), media_type=CONTENT_TYPE_LATEST)


@router.get("/metrics/database", response_class=Response)
def get_database_metrics(request: Request, _box: ReadsMetrics) -> Response:
    """Get the database's metrics. Prometheus text: counts that are the same from every process; one of
    them is to be scraped."""
    kept: DatabaseCounts = request.app.state.counts
    return Response(generate_latest(kept.registry), media_type=CONTENT_TYPE_LATEST)
