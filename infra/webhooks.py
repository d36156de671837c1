"""Signed webhooks: Standard Webhooks' three headers, and one POST with an end to its patience."""

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

PREFIX = "whsec_"
CONNECT_S = 3.0
TOTAL_S = 15.0
# What is read of an answer's body, for the record of a failure and to use the connection again.
MAX_ANSWER_BYTES = 4096
_WORDS_S = 1.0
_SHOWN_CHARS = 160


def signed(secret: str, message_id: str, body: str, at: datetime) -> dict[str, str]:
    """The headers of one attempt; `at` is the attempt's time, by which a receiver refuses replays."""
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(int(at.timestamp())),
        # In UTC: the library reads the fields of the time and leaves out its zone.
        "webhook-signature": Webhook(secret).sign(message_id, at.astimezone(UTC), body),
    }


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of one POST. `status` is None when no answer came; `error` is empty for any 2xx."""

    status: int | None
    error: str
    retry_after_s: float | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """Where a message goes and what it is signed with; `private`: also into private networks."""

    url: str
    secret: str
    private: bool = False


class Poster:
    """Posts messages; used as a context, from any thread.

    The client is asynchronous, on an event loop in a thread of its own, because only so can a whole exchange
    be given a time: a timeout of a blocking client begins again with every byte that drips in.
    """

    def __init__(self, *, connect_s: float = CONNECT_S, total_s: float = TOTAL_S):
        self._timeout = httpx.Timeout(total_s, connect=connect_s)
        self._total_s = total_s
        self._loop = start_blocking_portal()

    def __enter__(self) -> Poster:
        self._portal = self._loop.__enter__()
        self._client = httpx.AsyncClient(
            timeout=self._timeout,
            # Connections are made to addresses: one that is kept could be taken for another host's there.
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

    def post(self, target: Target, message_id: str, body: str) -> Answer:
        """Send one message once. Never raises for what the network or the receiver does."""
        about = {"http.request.method": "POST", "server.address": urlsplit(target.url).hostname or ""}
        with tracing.span("POST", about, kind="client"):
            # Read here: the loop's thread has no current span.
            answer = self._portal.call(self._post, target, message_id, body, tracing.headers())
            tracing.note({"http.response.status_code": answer.status} if answer.status else {})
            tracing.note({"error.type": str(answer.status or "no_answer")} if answer.error else {})
            return answer

    async def _post(self, target: Target, message_id: str, body: str, more: dict[str, str]) -> Answer:
        headers = more | signed(target.secret, message_id, body, datetime.now(UTC))
        try:
            with anyio.fail_after(self._total_s):
                answer = await self._sent(target, body.encode(), headers)
        except TimeoutError:
            return Answer(None, f"no answer in {self._total_s:g} s")
        except AddressRefused as error:
            return Answer(None, f"not sent: {error}")
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            return Answer(None, f"{type(error).__name__}: {error}")
        try:
            return _read(answer, await _words(answer))
        finally:
            await answer.aclose()

    async def _sent(self, target: Target, body: bytes, headers: dict[str, str]) -> httpx.Response:
        """To the first address of the host that takes a connection; each was looked at before."""
        url = usable(target.url, private=target.private)
        look_up = partial(resolved, url, private=target.private)
        named = {"host": url.netloc.decode("ascii")}
        refused: Exception = OSError("the host has no address")
        for address in await anyio.to_thread.run_sync(look_up, abandon_on_cancel=True):
            request = self._client.build_request(
                "POST",
                url.copy_with(host=address),
                content=body,
                headers=headers | named,
                # The certificate must be the host's, whatever the address.
                extensions={"sni_hostname": url.raw_host.decode("ascii")},
            )
            try:
                return await self._client.send(request, stream=True)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                refused = error
        raise refused


async def _words(answer: httpx.Response) -> str:
    """The beginning of an answer's body, as far as it comes at once; a compressed one is not unpacked."""
    found = b""
    with suppress(httpx.HTTPError), anyio.move_on_after(_WORDS_S):
        async for piece in answer.aiter_raw():
            found += piece
            if len(found) >= MAX_ANSWER_BYTES:
                break
    return found[:MAX_ANSWER_BYTES].decode("utf-8", "replace")


def _read(answer: httpx.Response, words: str) -> Answer:
    if answer.is_success:
        return Answer(answer.status_code, "")
    shown = " ".join(words.split())[:_SHOWN_CHARS]
    error = f"answered {answer.status_code}"
    if answer.has_redirect_location:
        error += ", and redirects are not followed"
    wait_s = _retry_after(answer.headers.get("retry-after")) if answer.status_code in (429, 503) else None
    return Answer(answer.status_code, f"{error}: {shown}" if shown else error, wait_s)


def _retry_after(value: str | None) -> float | None:
    """Seconds from now: the header holds a number of them or a date; anything else is ignored."""
    if value is None:
        return None
    if value.isascii() and value.isdigit():
        return float(value[:9])
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None
