"""An order that is cancelled while it is decoded: the server is told to stop, nothing is stored."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

from infra.blobs.folder import BlobFolder
from infra.sql.database import Database
from schemas.lifecycle import State
from tests.servers.staged_server import Answer, completion, spelled, staged_server
from tests.stand_ins import CAFE, RIGHT, Works

LEASE_S = 0.6  # a heartbeat each third of it


def test_a_cancelled_orders_decode_is_stopped(database: Database, tmp_path: Path) -> None:
    world = Works(database, BlobFolder(tmp_path / "blobs"))
    order_id, begun = world.to_decode(), threading.Event()

    with staged_server(lambda body: completion("")) as server:

        def slow(body: dict[str, Any]) -> Answer:
            begun.set()
            server.gone.wait(20)
            return completion(spelled(RIGHT, CAFE))

        server.answer = slow
        runner = world.runner()
        tools = replace(runner.tools, decoder=lambda: server.decoder())
        runner = replace(runner, tools=tools, lease_s=LEASE_S, attempts=1)
        work = threading.Thread(target=runner.run, args=(order_id, "decode"))
        work.start()
        assert begun.wait(20)
        world.orders.cancel(order_id)
        work.join(20)
        assert not work.is_alive()
        assert server.gone.wait(5), "the server was left to decode for nobody"
    after = world.orders.get(order_id)
    assert (after.state, after.draft) == (State.CANCELLED, None)
    assert world.types(order_id) == ["received", "transcribed", "cancelled"]
