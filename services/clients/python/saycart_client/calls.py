"""The calls of the API as values, and when to send one again."""

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
# Seconds of one long poll; the API allows 30.
POLL_S = 25
MOVING = ("queued", "processing")
ENDED = ("completed", "rejected", "error", "cancelled")
TRIES = 4
# Seconds until a stream of events that ended early is opened again.
AGAIN_S = 1
LONGEST_PAUSE_S = 30.0

Recording = bytes | Path


@dataclass(frozen=True)
class Call:
    """One request. `repeatable`: to send it twice is to send it once."""

    method: str
    path: str
    sent: dict[str, Any] = field(default_factory=dict)
    repeatable: bool = True


def said(path: str, what: str | Recording, key: str | None, **fields: Any) -> Call:
    """Send text as JSON, a recording as a file; with a key, so that it is stored once."""
    sent: dict[str, Any] = {"headers": {"Idempotency-Key": key or uuid.uuid4().hex}}
    if isinstance(what, str):
        return Call("POST", path, sent | {"json": given(transcript=what, **fields)})
    form = {name: one if isinstance(one, str) else json.dumps(one) for name, one in given(**fields).items()}
    # The API looks at the first bytes, not at the name, which only says that this is a file.
    file = {"audio": ("order", what.read_bytes() if isinstance(what, Path) else what)}
    return Call("POST", path, sent | {"data": form, "files": file})


def given(**body: Any) -> dict[str, Any]:
    """Return the fields that have a value."""
    return {name: value for name, value in body.items() if value is not None}


def pause_s(call: Call, error: Exception, tries: int) -> float:
    """Return how long to wait before `call` is sent again; raises where it should not be, or not so soon."""
    if isinstance(error, ProblemError):
        again, asked = error.retryable, error.retry_after_s
    else:  # it may have happened, unless there was no connection
        again, asked = call.repeatable or isinstance(error, httpx.ConnectError), None
        error = Unreachable(str(error) or type(error).__name__)
    pause = 2 ** (tries - 1) * random.uniform(0.5, 1) if asked is None else asked  # noqa: S311 (no secret)
    if not again or tries >= TRIES or pause > LONGEST_PAUSE_S:
        raise error
    return pause
