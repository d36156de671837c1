"""`saycart menu check` decodes generated orders, with a scripted server in place of the engine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from infra.settings import settings
from schemas.cart import CartDraft
from schemas.menu import Menu
from services.cli.main import app
from services.learning.evaluation.sample_orders import sample_orders
from tests.servers.staged_server import Answer, completion, model, spelled, staged_server

SIZES = [{"id": "S", "name": "small"}, {"id": "L", "name": "large"}]
ITEMS = [
    {"sku": "tea", "name": "tea", "prices": {"S": 300, "L": 400}},
    {"sku": "pie", "name": "pie", "price": 300},
]
MENU = Menu.parse({"id": "tea-bar", "name": "Tea Bar", "currency": "USD", "sizes": SIZES, "items": ITEMS})
ORDERS = {row["utterance"]: row["cart"]["lines"][0] for row in sample_orders(MENU, 20)}


def too_much_pie(body: dict[str, Any]) -> Answer:
    """Write the cart of the generated order in the request, with one pie more where there is pie."""
    for text, line in ORDERS.items():
        if text in json.dumps(body):
            written = {"kind": "item", "heard": text, **line, "quantity": line["quantity"] + ("pie" in text)}
            return completion(spelled(CartDraft.model_validate({"lines": [written]}), MENU))
    return model("")(body)


def check(home: Path, url: str, *words: str) -> Result:
    (home / "menu.json").write_text(MENU.model_dump_json())
    settings.cache_clear()
    try:
        environment = {"SAYCART_HOME": str(home), "SAYCART_LLM_URL": url}
        return CliRunner().invoke(app, ["menu", "check", str(home / "menu.json"), *words], env=environment)
    finally:
        settings.cache_clear()


def test_twenty_orders_are_tried_on_a_running_server(tmp_path: Path) -> None:
    with staged_server(too_much_pie) as server:
        first, *lines, last = check(tmp_path, server.url).output.splitlines()
    assert first == "tea-bar: 2 items, 0 option groups, no problems"
    tried = [line.partition("  ") for line in lines if line.startswith(("right", "wrong"))]
    assert [mark == "wrong" for mark, _, _ in tried] == ["pie" in text for _, _, text in tried]
    assert {"one large tea please", "two small teas please"} <= {text.strip() for _, _, text in tried}
    assert sum(line.startswith("       read as ") for line in lines) == 10
    assert "       read as 3 × pie" in lines
    assert last == "10 of 20 generated orders came out right"


def test_a_menu_is_checked_without_a_server(tmp_path: Path) -> None:
    assert "No orders tried: `--try 20` decodes" in check(tmp_path, "").output
    with staged_server(lambda body: (401, b"who are you")) as server:
        assert "orders" not in check(tmp_path, server.url, "--try", "0").output
        assert server.bodies == []
        refused = check(tmp_path, server.url)
        assert (refused.exit_code, "No orders tried: " in refused.output) == (0, True)
        assert check(tmp_path, server.url, "--try", "1").exit_code == 1
