"""The client's record: what was sent, what was answered, and the id of every 202.

Like a till that must not lose an order, it repeats a request that fails or gets 5xx, 429 or 409, under the
same Idempotency-Key, until it gets 202.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import httpx

from tests.stand_ins import CAFE, SAID

# A WAV without samples: the stand-in ignores it, and uploads are checked by their first bytes.
WAV = (
    b"RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x80\x3e\x00\x00\x00\x7d\x00\x00\x02\x00"
    + (b"\x10\x00data\x00\x00\x00\x00")
)
LONGEST_WAIT_S = 5.0
PATIENCE_S = 300.0

# Maps an order's number and metadata to arguments of httpx: `json`, or `files` and `data`.
Body = Callable[[int, dict[str, Any]], dict[str, Any]]


def typed(number: int, metadata: dict[str, Any]) -> dict[str, Any]:
    """An order as text."""
    return {"json": {"transcript": SAID, "menu": CAFE.id, "metadata": metadata}}


def spoken(number: int, metadata: dict[str, Any], recording: bytes = WAV) -> dict[str, Any]:
    """An order as a recording."""
    form = {"menu": CAFE.id, "metadata": json.dumps(metadata)}
    return {"files": {"audio": ("order.wav", recording)}, "data": form}


def mixed(number: int, metadata: dict[str, Any]) -> dict[str, Any]:
    """A recording for one order in twenty and for those killed in `transcribe`; text for the others."""
    as_audio = number % 20 == 0 or str(metadata.get("kill", "")).startswith("transcribe/")
    return (spoken if as_audio else typed)(number, metadata)


@dataclass
class Entry:
    """An order as its client knows it. `ids` has every id from a 202: more than one is a fault."""

    number: int
    key: str
    ids: set[str] = field(default_factory=set)


class Ledger:
    """Send orders from several threads. `kill` maps an order's number to where its worker dies."""

    def __init__(
        self,
        url: str,
        headers: dict[str, str],
        *,
        threads: int = 6,
        body: Body = mixed,
        kill: Callable[[int], str] = lambda _: "",
        pace_s: float = 0.0,
    ) -> None:
        self._url, self._headers, self._threads = url, headers, threads
        self._body, self._kill = body, kill
        self._pace_s = pace_s
        self.entries: list[Entry] = []
        self.answers: Counter[str] = Counter()
        self.refused: list[str] = []
        self._lock = threading.Lock()
        self._running: list[threading.Thread] = []
        self._stop = threading.Event()

    def start(self, numbers: Iterable[int] | None = None) -> None:
        """Send the orders with these numbers, or new ones until `finish`."""
        source = iter(count(1) if numbers is None else numbers)
        self._running = [
            threading.Thread(target=self._send_all, args=(source,), daemon=True) for _ in range(self._threads)
        ]
        for thread in self._running:
            thread.start()

    def join(self) -> None:
        """Wait until everything is sent."""
        for thread in self._running:
            thread.join()

    def finish(self) -> None:
        """Start no further orders; wait until those in flight have their 202."""
        self._stop.set()
        self.join()

    def _send_all(self, source: Iterable[int]) -> None:
        with httpx.Client(base_url=self._url, headers=self._headers, timeout=15.0, trust_env=False) as client:
            while not self._stop.is_set():
                with self._lock:
                    number = next(source, None)  # type: ignore[call-overload]
                    if number is None:
                        return
                    entry = Entry(number, f"order-{number}")
                    self.entries.append(entry)
                self.send(client, entry)
                if number % 25 == 0:
                    self.send(client, entry)  # a client that missed the answer repeats its request
                if self._pace_s:
                    self._stop.wait(self._pace_s)

    def send(self, client: httpx.Client, entry: Entry) -> None:
        """Send an order until its 202, for at most `PATIENCE_S`."""
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            wait = self.post(client, entry)
            if wait is None:
                return
            time.sleep(min(LONGEST_WAIT_S, wait) * random.uniform(0.5, 1.0))

    def post(self, client: httpx.Client, entry: Entry) -> float | None:
        """Send one request; return None after 202, else the seconds to wait before the next."""
        metadata = {"n": entry.number, "kill": self._kill(entry.number)}
        headers = {"Idempotency-Key": entry.key}
        try:
            answer = client.post("/v1/orders", headers=headers, **self._body(entry.number, metadata))
        except httpx.TransportError as error:
            self._count(type(error).__name__)
            return 0.3
        self._count(str(answer.status_code))
        if answer.status_code == 202:
            entry.ids.add(answer.json()["id"])
            return None
        if answer.status_code in (409, 429) or answer.status_code >= 500:
            return float(answer.headers.get("retry-after", "0.5"))
        self.refused.append(f"order {entry.number}: {answer.status_code} {answer.text[:300]}")
        return None

    def _count(self, answer: str) -> None:
        with self._lock:
            self.answers[answer] += 1
