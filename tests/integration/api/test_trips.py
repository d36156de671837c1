"""The number of database messages per order. `make bench-overhead` measures time."""

from __future__ import annotations

import time
from pathlib import Path

from fastapi.testclient import TestClient

from infra.settings import Settings
from schemas.lifecycle import State
from services.api.app import create_app
from services.bootstrap import Container
from tests.counted_messages import counted
from tests.credentials import header_for
from tests.stand_ins import CAFE, SAID, Bell, Pipeline

# Fair scheduling needs 14 of them.
SQL_MESSAGES = 40
ORDER = {"transcript": SAID, "menu": CAFE.id}


class Quiet(Container):
    """The real container with a stand-in doorbell."""

    bell = Bell()

    @property
    def doorbell(self) -> Bell:  # type: ignore[override]
        return self.bell


def test_a_text_order_needs_few_messages(pipeline: Pipeline, database_url: str, tmp_path: Path) -> None:
    parts = Quiet(Settings(home=tmp_path, database_url=database_url))
    headers = {"Idempotency-Key": "till-7"}
    try:
        heads = header_for(pipeline.database)
        with TestClient(create_app(parts), base_url="http://localhost", headers=heads) as client:
            client.post("/v1/orders", json=ORDER).raise_for_status()  # connects, and caches the menu
            pipeline.until_settled(pipeline.typed())
            time.sleep(0.6)  # until the cached backlog expires
            with counted(parts.database) as accepting:
                order_id = client.post("/v1/orders", json=ORDER, headers=headers).json()["id"]
        with counted(pipeline.database) as working:
            assert pipeline.runner().run(order_id, "decode") is State.COMPLETED
    finally:
        parts.close()
    messages = accepting + working
    assert messages["COMMIT"] == 4, "stored, claimed, decoded, accepted"
    assert messages.total() <= SQL_MESSAGES, (accepting, working)
