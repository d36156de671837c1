"""`/livez`, `/readyz`, `/metrics`, `/metrics/database`: for orchestrators and Prometheus."""

from __future__ import annotations

from fastapi import APIRouter, Request
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import JSONResponse, Response

from services.api.access import ReadsMetrics
from services.api.counts import Counts
from services.api.deps import container, leaving
from services.api.metrics import Metrics

router = APIRouter(tags=["health"])


@router.get("/livez")
async def live() -> dict[str, str]:
    """The process answers. Says nothing of what it leans on: a restart would not mend that."""
    return {"status": "ok"}


@router.get("/readyz", responses={503: {"description": "something that orders need does not answer"}})
def ready(request: Request) -> Response:
    """Whether orders can be taken and worked on; each part is `ok` or its problem.

    An order is accepted while queue and decoder are down (it waits), but a balancer should prefer others.
    """
    checks = container(request).ready()
    if leaving(request):
        checks = {**checks, "server": "shutting down"}
    healthy = all(problem == "ok" for problem in checks.values())
    return JSONResponse(
        {"status": "ok" if healthy else "unready", "checks": checks},
        status_code=200 if healthy else 503,
        headers={"Cache-Control": "no-store"},
    )


@router.get("/metrics", response_class=Response)
def metrics(request: Request, _box: ReadsMetrics) -> Response:
    """Prometheus text: what this process counts over all shops, for a key with the scope `metrics`."""
    kept: Metrics = request.app.state.metrics
    return Response(kept.text(), media_type=CONTENT_TYPE_LATEST)


@router.get("/metrics/database", response_class=Response)
def database_metrics(request: Request, _box: ReadsMetrics) -> Response:
    """Prometheus text: counts of the database, the same from every process; one of them is to be scraped."""
    kept: Counts = request.app.state.counts
    return Response(kept.text(), media_type=CONTENT_TYPE_LATEST)
