"""A till that sends orders, retries while the API is down, and waits for the results."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx

from schemas import lifecycle
from schemas.order import Order
from services.cli.samples import RECORDINGS, Sample, load_menus, load_samples

SETTLED = {lifecycle.STATUS[state] for state in lifecycle.SETTLED}
GIVE_UP_S = 180.0
TOO_MANY = 429


@dataclass
class Till:
    """One client's orders; `samples` are the accepted ones."""

    url: str
    key: str
    name: str = "till"
    samples: list[Sample] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._client = httpx.Client(
            base_url=self.url, headers={"Authorization": f"Bearer {self.key}"}, timeout=60.0, trust_env=False
        )
        self._numbers = itertools.count(1)

    def bring_menus(self) -> None:
        for menu_id, menu in load_menus().items():
            self._client.put(f"/v1/menus/{menu_id}", json=menu).raise_for_status()

    def say(self, sample_id: str) -> Sample:
        """Order one of the shipped recordings."""
        sample = _sample(sample_id)
        sound = (RECORDINGS / sample.row["audio"]).read_bytes()
        return self._order(sample, files={"audio": sound}, data={"menu": sample.row["menu"]})

    def type(self, sample_id: str) -> Sample:
        """Order the text of one of the shipped recordings."""
        sample = _sample(sample_id)
        return self._order(sample, json={"menu": sample.row["menu"], "transcript": sample.row["utterance"]})

    def settled(self, timeout_s: float) -> None:
        """Wait until every order has settled, or for `timeout_s` seconds."""
        until = time.monotonic() + timeout_s
        for sample in self.samples:
            while (
                sample.order is not None and sample.order.status not in SETTLED and time.monotonic() < until
            ):
                answer = self._tried(
                    lambda o=sample.order: self._client.get(f"/v1/orders/{o.id}", params={"wait": 5})
                )
                sample.order = Order.model_validate(answer.json())

    def wrong(self) -> list[Sample]:
        """Return the orders that differ from their gold carts."""
        return [sample for sample in self.samples if not sample.right]

    def ids_at_api(self) -> list[str]:
        """Return the ids of all the shop's orders."""
        found, cursor = list[str](), None
        while True:
            params = {"limit": "100", **({"cursor": cursor} if cursor else {})}
            page = self._client.get("/v1/orders", params=params).raise_for_status().json()
            found += [order["id"] for order in page["orders"]]
            if not (cursor := page.get("next_cursor")):
                return found

    def _order(self, sample: Sample, **body: Any) -> Sample:
        headers = {"Idempotency-Key": f"{self.name}-{next(self._numbers)}"}
        answer = self._tried(lambda: self._client.post("/v1/orders", headers=headers, **body))
        sample.order = Order.model_validate(answer.json())
        self.samples.append(sample)
        return sample

    def _tried(self, call: Callable[[], httpx.Response]) -> httpx.Response:
        """Retry during outages and after 429; return the response."""
        began = time.monotonic()
        while True:
            again_s, over = 0.1, time.monotonic() - began > GIVE_UP_S
            try:
                answer = call()
                if answer.status_code == TOO_MANY:
                    again_s = float(answer.headers["Retry-After"])
                elif answer.status_code < 500:
                    return answer.raise_for_status()
                if over:
                    answer.raise_for_status()
            except httpx.TransportError:
                if over:
                    raise
            time.sleep(again_s)


class Lunch:
    """Sends orders one after the other while the block runs."""

    def __init__(self, till: Till, samples: list[str], every_s: float) -> None:
        self._till, self._samples, self._every_s = till, itertools.cycle(samples), every_s
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.failed: list[str] = []

    def __enter__(self) -> Lunch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(self._every_s):
            try:
                self._till.type(next(self._samples))
            except Exception as error:
                self.failed.append(repr(error))


def _sample(sample_id: str) -> Sample:
    return next(sample for sample in load_samples() if sample.row["id"] == sample_id)
