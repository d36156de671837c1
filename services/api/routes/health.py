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

# A replica can't take orders without these. Other dependencies are shared, so that taking one replica out of
# service for them wouldn't help.
_REQUIRED = {"database", "server"}


@router.get("/livez")
async def get_liveness() -> dict[str, str]:
    """Is the process alive? Dependencies are not checked: a restart would not fix them."""
    return {"status": "ok"}


@router.get("/readyz", responses={503: {"description": "this replica can't take orders"}})
def get_readiness(request: Request) -> Response:
    """Can this replica take orders? It can unless it is shutting down or the database is not responding.

    `status` is `ok`, `degraded` (orders are accepted but wait, since queue or decoder is down) or `unready`.
    Each of `checks` is `ok` or a problem; those of queue and decoder may be a moment old.
    """
    checks = container(request).ready()
    if request.app.state.draining:
        checks = {**checks, "server": "shutting down"}
    wrong = {name for name, problem in checks.items() if problem != "ok"}
    takes_orders = not wrong & _REQUIRED
    status = "unready" if not takes_orders else "degraded" if wrong else "ok"
    return JSONResponse(
        {"status": status, "checks": checks},
        status_code=200 if takes_orders else 503,
        headers={"Cache-Control": "no-store"},
    )


@router.get("/metrics", response_class=Response)
def get_metrics(request: Request, _box: ReadsMetrics) -> Response:
    """Get the process's metrics. Prometheus text, over all shops, for a key with the scope `metrics`."""
    metrics: Metrics = request.app.state.metrics
    return Response(generate_latest(metrics.registry), media_type=CONTENT_TYPE_LATEST)


@router.get("/metrics/database", response_class=Response)
def get_database_metrics(request: Request, _box: ReadsMetrics) -> Response:
    """Get the database's metrics. Prometheus text: counts that are the same from every process, so scrape
    only one."""
    counts: DatabaseCounts = request.app.state.counts
    return Response(generate_latest(counts.registry), media_type=CONTENT_TYPE_LATEST)
