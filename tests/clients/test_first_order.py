"""The Python of docs/first-order.md, as it stands there: ordered, asked, confirmed, sent to the till."""

from __future__ import annotations

import os
import subprocess
import sys

from infra.processes.ports import any_free
from tests.clients.generated import PYTHON
from tests.clients.service import ASKED, at_work, key_of, script
from tests.endpoints import SECRET
from tests.integration import api_world
from tests.integration.api_world import World

lone_world = api_world.lone_world


def test_the_first_order_of_the_documents_comes_to_its_till(lone_world: World) -> None:
    port = any_free()
    there = {"SAYCART": lone_world.url, "KEY": key_of(lone_world), "SECRET": SECRET, "PORT": str(port)}
    with at_work(lone_world, port):
        done = subprocess.run(
            [sys.executable, "-c", script("python")],
            env=os.environ | there | {"NO_PROXY": "*", "PYTHONPATH": str(PYTHON.parents[1])},
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert done.returncode == 0, done.stderr
    asked, sent = done.stdout.splitlines()
    assert asked == ASKED
    messages = "order.asks order.needs_confirmation order.completed"
    assert sent == f"{messages} [('small', 'latte'), (None, 'blueberry muffin')] 820"
    [order], _ = lone_world.parts.orders.page(status="completed", cursor=None, limit=2)
    assert order.taken_at is not None
