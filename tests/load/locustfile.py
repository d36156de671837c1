"""Customers for Locust, who come when they like and wait for their own order alone.

One user stands for all of them: it draws when they come (a Poisson process) and starts each in a greenlet,
done or not the ones before. Users of Locust's own kind wait for their answer before they ask again, so a slow
server would be asked less. `LOAD_PLAN` names a JSON file with what to do, and where to put what was seen.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
import uuid
from pathlib import Path
from typing import Any

import gevent
from locust import FastHttpUser, task

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tests.load.orders import spoken, written

PLAN: dict[str, Any] = json.loads(Path(os.environ["LOAD_PLAN"]).read_text())
SETTLED = {"completed", "needs_review", "needs_confirmation", "rejected", "error", "cancelled"}
PATIENCE_S = 120.0


class Customers(FastHttpUser):
    """All customers. `seen` has for each order when it came, what accepting took, and its end."""

    concurrency = 2000
    network_timeout = connection_timeout = 60.0

    def on_start(self) -> None:
        self.random = random.Random(PLAN["seed"])
        self.texts, self.recordings = written(), spoken()
        self.sounds = {one["file"]: Path(one["file"]).read_bytes() for one in self.recordings}
        self.seen: list[dict[str, Any]] = []

    @task
    def come(self) -> None:
        """Send for as long as the plan says, wait for all that was sent, and end the run."""
        started, at, orders = time.perf_counter(), 0.0, []
        while (at := at + self.random.expovariate(PLAN["rate"])) < PLAN["seconds"]:
            gevent.sleep(max(0.0, started + at - time.perf_counter()))
            orders.append(gevent.spawn(self.order, at))
        gevent.joinall(orders, timeout=PATIENCE_S + 30)
        Path(PLAN["out"]).write_text(json.dumps(self.seen))
        self.environment.runner.quit()

    def order(self, at: float) -> None:
        seen: dict[str, Any] = {"at": at, "late": None}
        self.seen.append(seen)
        key = self.random.choice(PLAN["keys"])
        is_spoken = self.random.random() < PLAN["spoken"]
        headers = {"Authorization": f"Bearer {key}", "Idempotency-Key": uuid.uuid4().hex}
        body: str | bytes
        if is_spoken:
            chosen = self.random.choice(self.recordings)
            body, kind = _form(chosen["menu"], self.sounds[chosen["file"]])
            headers["Content-Type"] = kind
        else:
            body = json.dumps(self.random.choice(self.texts))
            headers["Content-Type"] = "application/json"
        began = time.perf_counter()
        with self.client.post(
            "/v1/orders", data=body, headers=headers, name="accept", catch_response=True
        ) as answer:
            seen["accepted_s"] = time.perf_counter() - began
            seen["status"], seen["spoken"] = answer.status_code, is_spoken
            if answer.status_code != 202:
                # 0: no answer at all, for the reason beside it, such as a connection that was reset.
                seen["why"] = str(getattr(answer, "error", None) or answer.text)[:200]
                answer.failure(f"{answer.status_code} {answer.text[:100]}")
                return
            seen["id"] = answer.json()["id"]
        while time.perf_counter() - began < PATIENCE_S:
            with self.client.get(
                f"/v1/orders/{seen['id']}?wait=20",
                headers={"Authorization": f"Bearer {key}"},
                name="wait",
                catch_response=True,
            ) as answer:
                if answer.status_code != 200:
                    answer.failure(f"{answer.status_code}")
                    gevent.sleep(0.5)
                    continue
                seen["end"] = answer.json()["status"]
            if seen["end"] in SETTLED:
                seen["settled_s"] = time.perf_counter() - began
                return


def _form(menu: str, sound: bytes) -> tuple[bytes, str]:
    mark = uuid.uuid4().hex
    head = (
        f'--{mark}\r\nContent-Disposition: form-data; name="menu"\r\n\r\n{menu}\r\n'
        f'--{mark}\r\nContent-Disposition: form-data; name="audio"; filename="order.flac"\r\n'
        "Content-Type: audio/flac\r\n\r\n"
    )
    return head.encode() + sound + f"\r\n--{mark}--\r\n".encode(), f"multipart/form-data; boundary={mark}"
