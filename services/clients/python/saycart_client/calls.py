"""API calls as values, and their retries."""

from __future__ import annotations

import json
import random
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from saycart_client.errors import ProblemError, Unreachable

URL = "http://127.0.0.1:8420"
TIMEOUT = httpx.Timeout(40.0, connect=5.0)
# Of one long poll; the API allows 30.
POLL_S = 25
MOVING = ("queued", "processing")
ENDED = ("completed", "rejected", "error", "cancelled")
TRIES = 4
# Delay before a stream of events that ended early is reopened.
REOPEN_S = 1
MAX_PAUSE_S = 30.0

Recording = bytes | Path


@dataclass(frozen=True)
class Call:
    """One request. `repeatable`: sending it twice has the same effect as once."""

    method: str
    path: str
    sent: dict[str, Any] = field(default_factory=dict)
    repeatable: bool = True


def utterance(path: str, content: str | Recording, key: str | None, **fields: Any) -> Call:
    """Send text as JSON or a recording as a file, with an idempotency key so that it is stored once."""
    sent: dict[str, Any] = {"headers": {"Idempotency-Key": key or uuid.uuid4().hex}}
    if isinstance(content, str):
        return Call("POST", path, sent | {"json": without_none(transcript=content, **fields)})
    values = without_none(**fields)
    form = {name: one if isinstance(one, str) else json.dumps(one) for name, one in values.items()}
    # The name only marks it as a file: the API detects the format by the content.
    file = {"audio": ("order", content.read_bytes() if isinstance(content, Path) else content)}
    return Call("POST", path, sent | {"data": form, "files": file})


def without_none(**body: Any) -> dict[str, Any]:
    """Return the fields that are not None."""
    return {name: value for name, value in body.items() if value is not None}


def pause_s(call: Call, error: Exception, tries: int) -> float:
    """Return the seconds to wait before a retry of `call`; raise the error if it shouldn't be retried."""
    if isinstance(error, ProblemError):
        retry, after_s = error.retryable, error.retry_after_s
    else:  # the server may have processed it, unless there was no connection
        retry, after_s = call.repeatable or isinstance(error, httpx.ConnectError), None
        error = Unreachable(str(error) or type(error).__name__)
    pause = 2 ** (tries - 1) * random.uniform(0.5, 1) if after_s is None else after_s  # noqa: S311 (no secret)
    if not retry or tries >= TRIES or pause > MAX_PAUSE_S:
        raise error
    return pause
