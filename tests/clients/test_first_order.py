"""Python and curl of docs/first-order.md and the README, as they stand."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from textwrap import dedent

from infra.processes.ports import any_free
from infra.settings import REPOSITORY
from schemas.cart import CartDraft
from tests.clients.generated import PYTHON
from tests.clients.packages import ran
from tests.clients.service import ASKED, CART, at_work, key_of, script
from tests.endpoints import SECRET
from tests.integration import api_world
from tests.integration.api_world import World
from tests.processes.parts import python

lone_world = api_world.lone_world
CROISSANT = {"kind": "item", "heard": "a butter croissant", "sku": "butter-croissant", "quantity": 1}
MORE = CartDraft.model_validate({"lines": [*CART.model_dump()["lines"], CROISSANT]})


def test_the_first_order_of_the_documents_comes_to_its_till(lone_world: World) -> None:
    port = any_free()
    there = {"SAYCART": lone_world.url, "KEY": key_of(lone_world), "SECRET": SECRET, "PORT": str(port)}
    with at_work(lone_world, port, (CART, MORE)):
        more = {"NO_PROXY": "*", "PYTHONPATH": str(PYTHON.parents[1])}
        done = python("-c", script("python"), env=os.environ | there | more)
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


def test_the_first_calls_of_the_readme(lone_world: World, tmp_path: Path) -> None:
    (tmp_path / ".saycart").mkdir()
    (tmp_path / ".saycart/key").write_text(key_of(lone_world))
    [shown] = re.findall(r"\n\n(    key=.+?)\n\n", (REPOSITORY / "README.md").read_text(), re.DOTALL)
    here = dedent(shown).replace("localhost:8420", lone_world.url.removeprefix("http://"))
    key, post, get = re.split(r"\n(?=curl)", here)
    with at_work(lone_world):
        made = json.loads(ran("bash", "-c", f"{key}\n{post}", cwd=tmp_path, NO_PROXY="*"))
        get = get.replace("ord_…", made["id"])
        order = json.loads(ran("bash", "-c", f"{key}\n{get}", cwd=tmp_path, NO_PROXY="*"))
    assert (order["id"], order["question"]["text"]) == (made["id"], "Small, medium or large latte?")
