"""Traces: an order from its upload to the shop's webhook, as one trace of OpenTelemetry (ADR 52).

Off unless `SAYCART_TRACES_URL` is set, and then each of these functions is one comparison. `otlp.py` alone
knows OpenTelemetry, and is imported then. `start` is for the process that works, after any fork.

    with continued(order.traceparent), span("stage decode", {...}, kind="consumer"):
        ...
        note({"saycart.outcome": "decoded"})

Spans hold ids, codes, counts and names of our own parts. Nothing that a customer said or sent goes in, nor
what an error quotes: a collector is another machine, often another company's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from typing import TYPE_CHECKING, Literal, ParamSpec, TypeVar
from urllib.parse import urlsplit

from infra.addresses import parameters
from schemas.errors import InputError

if TYPE_CHECKING:
    from infra.observability.otlp import Serving, Spans
    from infra.settings import Settings

Attributes = Mapping[str, str | int | float | bool]
Kind = Literal["internal", "server", "client", "producer", "consumer"]
P = ParamSpec("P")
R = TypeVar("R")

_PATH = "/v1/traces"
_NOTHING: AbstractContextManager[None] = nullcontext()
_spans: Spans | None = None


def check(settings: Settings) -> None:
    """Raises InputError where traces are asked for and can't be sent, before anything is started."""
    if not settings.traces_url:
        return
    address, _ = _wanted(settings.traces_url)
    url = urlsplit(address)
    if url.scheme not in ("http", "https") or not url.hostname:
        raise InputError(
            "SAYCART_TRACES_URL is no http address",
            hint="It is a collector's for OTLP over HTTP, as http://127.0.0.1:4318/v1/traces.",
        )
    try:
        import infra.observability.otlp  # noqa: F401 - starts nothing; by its parts it could look whole and not be
    except ImportError as error:
        raise InputError(
            f"SAYCART_TRACES_URL is set and what sends traces is not installed ({error.name or error})",
            hint='Install it with: pip install "saycart[traces]" (in a checkout: make setup).',
        ) from None


def start(settings: Settings, part: str) -> None:
    """Export spans from this process on, as `saycart-PART`; nothing where no URL is set.

    Raises:
        InputError: as `check`.
    """
    global _spans
    if not settings.traces_url or _spans is not None:
        return
    check(settings)
    from infra.observability.otlp import Spans

    url, share = _wanted(settings.traces_url)
    url = url if urlsplit(url).path.strip("/") else url.rstrip("/") + _PATH
    _spans = Spans(url, part, share)


def _wanted(url: str) -> tuple[str, float]:
    """Return the collector's address and the share of traces that it is sent; raises InputError."""
    try:
        address, given = parameters(url, "sample")
        share = float(given.get("sample", 1))
    except ValueError:
        share = math.nan
    if not 0 <= share <= 1:
        raise InputError("The sample of SAYCART_TRACES_URL is not a share", hint="Such as ?sample=0.1.")
    return address, share


def stop() -> None:
    """Send what is left, for a moment at most, and end; harmless when nothing was started."""
    global _spans
    spans, _spans = _spans, None
    if spans is not None:
        spans.close()


def on() -> bool:
    """Whether this process exports."""
    return _spans is not None


def span(
    name: str, attributes: Attributes | None = None, *, kind: Kind = "internal", link: str | None = None
) -> AbstractContextManager[None]:
    """A span for as long as the block runs, below the one that is current; `link` is the traceparent of
    another that it has to do with. An error that leaves the block is noted by its kind, without its words.

    Only a `server` or `consumer` begins a trace of its own: elsewhere, as when a model is warmed, no span is
    made.
    """
    return _NOTHING if _spans is None else _spans.span(name, attributes or {}, kind, link)


def traced(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Makes each call of a function a span."""

    def around(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> R:
            with span(name):
                return function(*args, **kwargs)

        return called

    return around


def continued(traceparent: str | None) -> AbstractContextManager[None]:
    """Spans of the block belong to the trace of `traceparent`, as we wrote it down; None: to none."""
    return _NOTHING if _spans is None else _spans.continued(traceparent)


def note(attributes: Attributes) -> None:
    """Put these on the current span. `error.type` among them marks it as failed."""
    if _spans is not None:
        _spans.note(attributes)


def current_traceparent() -> str | None:
    """The current span as W3C Trace Context has it; None outside of one."""
    return None if _spans is None else _spans.traceparent()


def current_trace_id() -> str | None:
    """32 hexadecimal digits, as logs have it; None outside of a span."""
    traceparent = current_traceparent()
    return traceparent.split("-")[1] if traceparent else None


def headers() -> dict[str, str]:
    """What a request of ours carries, so that its server's spans come below the current one."""
    traceparent = current_traceparent()
    return {"traceparent": traceparent} if traceparent else {}


def serving(method: str) -> Serving | None:
    """The span of a request that has begun, to be ended by its handle."""
    return None if _spans is None else _spans.serving(method)
