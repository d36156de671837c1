"""Signed webhooks: one POST with the three headers of Standard Webhooks and a total timeout."""

from __future__ import annotations

import ssl
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from types import TracebackType
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
import httpx
from anyio.from_thread import start_blocking_portal
from standardwebhooks.webhooks import Webhook

from infra.observability import tracing
from infra.outward import AddressRefused, resolved, usable
from schemas.shops.webhook import Till

PREFIX = "whsec_"
CONNECT_S = 3.0
TOTAL_S = 15.0
# The part of a response body that is read, to record a failure.
MAX_ANSWER_BYTES = 4096
_BODY_S = 1.0
_SHOWN_CHARS = 160


def signed(secret: str, message_id: str, body: str, at: datetime) -> dict[str, str]:
    """Return the headers of one attempt; receivers refuse replays by its time `at`."""
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(int(at.timestamp())),
        # In UTC: the library ignores the time zone.
        "webhook-signature": Webhook(secret).sign(message_id, at.astimezone(UTC), body),
    }


@dataclass(frozen=True, slots=True)
class PostResult:
    """The result of one POST. `status` is None without a response; `error` is empty for any 2xx."""

    status: int | None
    error: str
    retry_after_s: float | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """The URL that a message goes to, and its signing secret; `private` allows private networks. Completed
    orders are sent in the form of `till`, for its `location`."""

    url: str
    secret: str
    private: bool = False
    till: Till | None = None
    location: str | None = None


class Poster:
    """Posts messages. A context manager; thread-safe.

    The client is asynchronous, on an event loop in its own thread, since only that allows a total timeout: a
    blocking client's timeout restarts with every byte.
    """

    def __init__(self, *, connect_s: float = CONNECT_S, total_s: float = TOTAL_S):
        self._timeout = httpx.Timeout(total_s, connect=connect_s)
        self._total_s = total_s
        self._loop = start_blocking_portal()

    def __enter__(self) -> Poster:
        self._portal = self._loop.__enter__()
        self._client = httpx.AsyncClient(
            timeout=self._timeout,
            # Connections go to addresses: a kept one could be reused for another host at the same address.
            limits=httpx.Limits(max_keepalive_connections=0),
            follow_redirects=False,
            trust_env=False,
            verify=ssl.create_default_context(),
            headers={"user-agent": "saycart", "content-type": "application/json"},
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._portal.call(self._client.aclose)
        self._loop.__exit__(kind, error, trace)

    def post(self, target: Target, message_id: str, body: str) -> PostResult:
        """Send one message once. Never raises for errors of the network or the receiver."""
        about = {"http.request.method": "POST", "server.address": urlsplit(target.url).hostname or ""}
        with tracing.span("POST", about, kind="client"):
            # `headers()` is called here: the loop's thread has no current span.
            answer = self._portal.call(self._post, target, message_id, body, tracing.headers())
            tracing.note({"http.response.status_code": answer.status} if answer.status else {})
            tracing.note({"error.type": str(answer.status or "no_answer")} if answer.error else {})
            return answer

    async def _post(self, target: Target, message_id: str, body: str, more: dict[str, str]) -> PostResult:
        headers = more | signed(target.secret, message_id, body, datetime.now(UTC))
        try:
            with anyio.fail_after(self._total_s):
                answer = await self._sent(target, body.encode(), headers)
        except TimeoutError:
            return PostResult(None, f"no answer in {self._total_s:g} s")
        except AddressRefused as error:
            return PostResult(None, f"not sent: {error}")
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            return PostResult(None, f"{type(error).__name__}: {error}")
        try:
            return _result(answer, await _beginning(answer))
        finally:
            await answer.aclose()

    async def _sent(self, target: Target, body: bytes, headers: dict[str, str]) -> httpx.Response:
        """Send to the first of the host's checked addresses that accepts a connection."""
        url = usable(target.url, private=target.private)
        lookup = partial(resolved, url, private=target.private)
        host = {"host": url.netloc.decode("ascii")}
        refused: Exception = OSError("the host has no address")
        for address in await anyio.to_thread.run_sync(lookup, abandon_on_cancel=True):
            request = self._client.build_request(
                "POST",
                url.copy_with(host=address),
                content=body,
                headers=headers | host,
                # The certificate must be the host's, whatever the address.
                extensions={"sni_hostname": url.raw_host.decode("ascii")},
            )
            try:
                return await self._client.send(request, stream=True)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                refused = error
        raise refused


async def _beginning(answer: httpx.Response) -> str:
    """Return the part of a response body that arrives within `_BODY_S`; not decompressed."""
    body = b""
    with suppress(httpx.HTTPError), anyio.move_on_after(_BODY_S):
        async for piece in answer.aiter_raw():
            body += piece
            if len(body) >= MAX_ANSWER_BYTES:
                break
    return body[:MAX_ANSWER_BYTES].decode("utf-8", "replace")


def _result(answer: httpx.Response, body: str) -> PostResult:
    if answer.is_success:
        return PostResult(answer.status_code, "")
    shown = " ".join(body.split())[:_SHOWN_CHARS]
    error = f"answered {answer.status_code}"
    if answer.has_redirect_location:
        error += ", and redirects are not followed"
    wait_s = _retry_after(answer.headers.get("retry-after")) if answer.status_code in (429, 503) else None
    return PostResult(answer.status_code, f"{error}: {shown}" if shown else error, wait_s)


def _retry_after(value: str | None) -> float | None:
    """Parse a Retry-After header, seconds or a date, into seconds from now."""
    if value is None:
        return None
    if value.isascii() and value.isdigit():
        return float(value[:9])
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None
