"""`saycart doctor --engine`: check that the decode server applies masks correctly."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial

from infra.processes.supervisor import SupervisorError
from infra.settings import Settings
from infra.sql.database import Database
from infra.weights.lock import ModelError
from schemas.errors import DecodeTruncated, EngineMisconfigured, SaycartError
from schemas.menu import Menu
from schemas.shops.access import EVERY_SHOP
from services.cli.client import Check, checked
from services.cli.samples import load_menus
from services.clients.masked.saycart_masked.engine import ROOM
from services.decoding.decoder import OpenAIDecoder
from services.decoding.hosts.embedded import decode_server
from services.decoding.ports import CartRequest
from services.decoding.wire_mask import check_menu
from services.storage.shops.menus import MenuStore

MENUS = 1000
# A careless tokenizer or mask loses a byte of these.
AWKWARD = (
    "café", "crème brûlée", "🍵", "👨‍👩‍👧", "🇫🇷", "½ ﬁ ß",
    "中文", "שלום", "مرحبا", '"quoted"', "back\\slash",
    "2", " two", "don't", "10,000", "a/b", "x" * 60,
)  # fmt: skip


def engine_checks(config: Settings) -> Iterator[Check]:
    """Check each menu's grammar, and the decode server, by default the embedded one."""
    for menu in known_menus(config):
        yield checked(f"menu {menu.id}", partial(_compiles, menu), "")
    try:
        with decode_server(config) as served:
            decoder = decoder_of(served)
            for what, check in SERVER_CHECKS.items():
                yield checked(what, partial(check, decoder), f"See `saycart doctor` for {decoder.url}.")
    except (SaycartError, ModelError, SupervisorError) as error:
        yield "server", error.detail, error.hint


def decoder_of(config: Settings) -> OpenAIDecoder:
    """Return a client of the configured server, without the trained adapter."""
    return OpenAIDecoder(
        config.llm_base, dialect=config.llm_dialect, model=config.llm_model, api_key=config.llm_api_key
    )


def known_menus(config: Settings) -> list[Menu]:
    """Return the newest version of each imported menu, up to a thousand; else the sample menus."""
    stored: list[Menu] = []
    if config.database_url or (config.home / "saycart.db").exists():
        database = Database(config.database)
        try:
            stored = [version.menu for version in MenuStore(database, EVERY_SHOP).recently_used(MENUS)]
        except SaycartError:
            pass  # `saycart doctor` reports it
        finally:
            database.close()
    return stored or [Menu.parse(document) for document in load_menus().values()]


def _compiles(menu: Menu) -> str:
    check_menu(menu)
    return "its grammar compiles"


def _probe(decoder: OpenAIDecoder) -> str:
    decoder.probe()
    return f"{decoder.url} applies it"


def _awkward(decoder: OpenAIDecoder) -> str:
    for text in AWKWARD:
        spelled = json.dumps(text, ensure_ascii=False)
        answer = decoder.complete_unchecked(f"%llguidance {{}}\nstart: {spelled}\n", len(text.encode()))
        if answer != text:
            raise EngineMisconfigured(
                f"The mask only allows {text!r}, and the answer was {answer!r}",
                hint="Use llguidance 1.7 or newer, as the backend `guidance`, and a byte-level tokenizer.",
            )
    return f"all {len(AWKWARD)} come back unchanged"


def _cart(decoder: OpenAIDecoder) -> str:
    menu = Menu.parse(next(iter(load_menus().values())))
    decoder.decode(CartRequest(f"a {menu.items[0].name} please", menu))
    return "follows the mask"


def _cut_short(decoder: OpenAIDecoder) -> str:
    """Check that an answer cut off by the token limit is an error, not half a cart."""
    try:
        answer = decoder.complete_unchecked("%llguidance {}\nstart: /[a-z]{40}/\n", 1 - ROOM)
    except DecodeTruncated:
        return "is reported as an error"
    raise EngineMisconfigured(
        f"It was reported as complete: {answer!r}",
        hint="The server must report `finish_reason: length`; check for a proxy that hides it.",
    )


SERVER_CHECKS = {"mask": _probe, "awkward texts": _awkward, "cart": _cart, "truncated answer": _cut_short}
