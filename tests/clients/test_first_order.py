"""Python and curl of docs/first-order.md, as they stand: asked, added to, confirmed, sent to the till."""

from __future__ import annotations

import os
import subprocess
import sys

from infra.processes.ports import any_free
from schemas.cart import CartDraft
from tests.clients.generated import PYTHON
from tests.clients.service import ASKED, CART, at_work, key_of, script
from tests.endpoints import SECRET
from tests.integration import api_world
from tests.integration.api_world import World

lone_world = api_world.lone_world
CROISSANT = {"kind": "item", "heard": "a butter croissant", "sku": "butter-croissant", "quantity": 1}
MORE = CartDraft.model_validate({"lines": [*CART.model_dump()["lines"], CROISSANT]})


def test_the_first_order_of_the_documents_comes_to_its_till(lone_world: World) -> None:
    port = any_free()
    there = {"SAYCART": lone_world.url, "KEY": key_of(lone_world), "SECRET": SECRET, "PORT": str(port)}
    with at_work(lone_world, port, (CART, MORE)):
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
    messages = "order.asks order.needs_confirmation order.changed order.completed"
    lines = "('small', 'latte'), (None, 'blueberry muffin'), (None, 'butter croissant')"
    assert sent == f"{messages} [{lines}] 1195"
    [order], _ = lone_world.parts.orders.page(status="completed", cursor=None, limit=2)
    assert order.taken_at is not None


def test_the_same_with_curl(lone_world: World) -> None:
    there = {"SAYCART": lone_world.url, "KEY": key_of(lone_world), "NO_PROXY": "*"}
    with at_work(lone_world):
        bash = ["bash", "-euo", "pipefail", "-c", script("sh", "With curl")]
        subprocess.run(bash, env=os.environ | there, check=True, timeout=60)
    [order], _ = lone_world.parts.orders.page(status="completed", cursor=None, limit=2)
    assert order.taken_at is not None
