"""Structured logs on stderr: one line per event, with its name and ids.

No line contains a customer's words. Our own lines have ids and codes. Tracebacks have the types and locations
of errors but no messages, in which parsers, validators and databases quote their input.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, MutableMapping
from traceback import format_tb
from types import TracebackType
from typing import Any

import structlog

from infra.observability import tracing

# Errors whose messages have files, addresses and server states, but no content of rows or bodies.
_SAFE_MESSAGES = {"OSError", "ImportError", "OperationalError", "TransportError"}


def configure_logging(level: str, *, as_json: bool) -> None:
    """Set up structlog and the standard library's loggers; call once in a process."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        _in_trace,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.ExceptionRenderer(trace),
    ]
    render: Any = (
        structlog.processors.JSONRenderer()
        if as_json
        else structlog.processors.KeyValueRenderer(key_order=["timestamp", "level", "event"])
    )
    number = logging.getLevelNamesMapping().get(level.upper(), logging.INFO)
    structlog.configure(
        processors=[*shared, render],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    formatter = structlog.stdlib.ProcessorFormatter
    handler.setFormatter(
        formatter(foreign_pre_chain=shared, processors=[formatter.remove_processors_meta, render])
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(number)
    # The stage's own line covers its requests to the decoder.
    logging.getLogger("httpx").setLevel(logging.WARNING)


def trace(exc_info: tuple[type[BaseException], BaseException, TracebackType | None]) -> str:
    """Render a traceback without error messages, except those about machines: files, connections, locks."""
    return "\n".join(_chain(exc_info[1]))


def _chain(error: BaseException | None) -> Iterator[str]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield "".join(
            ["Traceback (most recent call last):\n", *format_tb(error.__traceback__), _named(error)]
        )
        for inner in getattr(error, "exceptions", ()):  # of a group
            yield from _chain(inner)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _named(error: BaseException) -> str:
    kind, code = type(error), getattr(error, "code", None)
    if isinstance(code, str):  # one of ours
        return f"{kind.__name__} [{code}]"
    names = {one.__name__ for one in kind.__mro__}
    return f"{kind.__name__}: {error}" if names & _SAFE_MESSAGES else kind.__name__


def _in_trace(_logger: Any, _name: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    if (trace_id := tracing.current_trace_id()) is not None:
        event["trace_id"] = trace_id
    return event
