"""Traces: an order from its upload to the shop's webhook, as one trace of OpenTelemetry (ADR 52).

Off unless `SAYCART_TRACES_URL` is set; then each function is a single comparison. Only `otlp.py` knows
OpenTelemetry, and is imported when tracing is on. Call `start` after any fork.

    with continued(order.traceparent), span("stage decode", {...}, kind="consumer"):
        ...
        note({"saycart.outcome": "decoded"})

Spans hold ids, codes, counts and names of our own parts. Customers' words and error messages are left out: a
collector is another machine, often another company's.
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
    """Raise InputError if traces are configured and can't be sent."""
    if not settings.traces_url:
        return
    address, _ = _wanted(settings.traces_url)
    url = urlsplit(address)
    if url.scheme not in ("http", "https") or not url.hostname:
        raise InputError(
            "SAYCART_TRACES_URL is not an http address",
            hint="Use a collector's OTLP over HTTP address, such as http://127.0.0.1:4318/v1/traces.",
        )
    try:
        import infra.observability.otlp  # noqa: F401 - the whole import is the check; it starts nothing
    except ImportError as error:
        raise InputError(
            f"SAYCART_TRACES_URL is set, but the trace exporter is not installed ({error.name or error})",
            hint='Install it with: pip install "saycart[traces]" (in a checkout: make setup).',
        ) from None


def start(settings: Settings, part: str) -> None:
    """Export this process's spans as `saycart-PART`, if a URL is set.

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
    """Return the collector's address and the sampling share; raises InputError."""
    try:
        address, query = parameters(url, "sample")
        share = float(query.get("sample", 1))
    except ValueError:
        share = math.nan
    if not 0 <= share <= 1:
        raise InputError("The sample of SAYCART_TRACES_URL must be 0 to 1", hint="For example ?sample=0.1.")
    return address, share


def stop() -> None:
    """Send the remaining spans, briefly, and stop; harmless if tracing is off."""
    global _spans
    spans, _spans = _spans, None
    if spans is not None:
        spans.close()


def on() -> bool:
    """Return whether this process exports spans."""
    return _spans is not None


def span(
    name: str, attributes: Attributes | None = None, *, kind: Kind = "internal", link: str | None = None
) -> AbstractContextManager[None]:
    """Open a span for the block, as a child of the current one; `link` is a related span's traceparent. An
    error that leaves the block is recorded by its type, without its message.

    Only a `server` or `consumer` span starts a trace; without a trace other spans are skipped.
    """
    return _NOTHING if _spans is None else _spans.span(name, attributes or {}, kind, link)


def traced(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a function so that each call is a span."""

    def around(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> R:
            with span(name):
                return function(*args, **kwargs)

        return called

    return around


def continued(traceparent: str | None) -> AbstractContextManager[None]:
    """Continue the trace of a stored `traceparent` in the block; None: no trace."""
    return _NOTHING if _spans is None else _spans.continued(traceparent)


def note(attributes: Attributes) -> None:
    """Set attributes of the current span. `error.type` marks it as failed."""
    if _spans is not None:
        _spans.note(attributes)


def current_traceparent() -> str | None:
    """Return the current span as a W3C traceparent, None outside of a span."""
    return None if _spans is None else _spans.traceparent()


def current_trace_id() -> str | None:
    """Return the current trace id in hex, for logs; None outside of a span."""
    traceparent = current_traceparent()
    return traceparent.split("-")[1] if traceparent else None


def headers() -> dict[str, str]:
    """Return the headers that make a called server's spans children of the current one."""
    traceparent = current_traceparent()
    return {"traceparent": traceparent} if traceparent else {}


def serving(method: str) -> Serving | None:
    """Start the span of a received request; the caller ends it."""
    return None if _spans is None else _spans.serving(method)
