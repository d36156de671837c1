"""`saycart doctor --engine`: each menu and the model's own tokenizer against the mask."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import httpx
from rich.console import Console
from rich.markup import escape

from infra.settings import Settings, addresses
from infra.sql.database import Database
from infra.weights.models import ModelError, resolve
from schemas.errors import DecodeTruncated, EngineMisconfigured, SaycartError
from schemas.menu import Item, Menu
from schemas.shops.access import EVERY_SHOP
from schemas.writable import writable
from services.cli.samples import load_menus
from services.decoding.conformance import (
    AWKWARD,
    FEATURES,
    Result,
    marks,
    strings,
    whole,
)
from services.decoding.decoder import OpenAIDecoder
from services.decoding.hosts.embedded import decode_server
from services.decoding.ports import CartRequest
from services.decoding.server.vocabulary import read_vocabulary
from services.storage.shops.menus import MenuStore

MENUS = 1000
LONG_S = 5.0


def report(console: Console, config: Settings, *, tokenizer: Path | None, ask: bool, as_json: bool) -> int:
    """Print all checks, on a terminal as they are done; 1 when something failed, else 0."""
    results = []
    for result in checks(config, tokenizer, ask=ask):
        results.append(result)
        if not as_json:
            console.print(
                f"{'[red]✗[/]' if result.hint else '[green]✓[/]'} {escape(f'{result.what}: {result.said}')}",
                soft_wrap=True,
            )
            if result.hint:
                console.print(f"    [dim]{escape(result.hint)}[/]", soft_wrap=True)
    failed = sum(bool(result.hint) for result in results)
    if as_json:
        console.print_json(data={"failed": failed, "checks": [asdict(result) for result in results]})
    else:
        console.print(f"\n{failed} to fix." if failed else "\nThis engine passes.")
    return min(failed, 1)


def checks(config: Settings, tokenizer: Path | None, *, ask: bool) -> Iterator[Result]:
    """Every check, in the order in which it is shown; `ask` also asks the decode server."""
    try:
        vocabulary = read_vocabulary(tokenizer or Path(resolve(config.llm_model, config.models_dir)))
        started = time.perf_counter()
        tokens = vocabulary.tokenizer()
    except (EngineMisconfigured, ModelError) as error:
        hint = f"{error.hint} Or pass the model's tokenizer.json with --tokenizer."
        yield Result("tokenizer", error.detail, {}, hint)
        return
    seconds = round(time.perf_counter() - started, 2)
    figures = {"tokens": vocabulary.size, "seconds": seconds}
    yield Result("tokenizer", f"{vocabulary.name}, {vocabulary.size:,} tokens, in {seconds} s", figures)
    menus = list(known_menus(config))
    yield strings(tokens, menus[0])
    for menu in menus:
        yield marks(vocabulary, menu)
    if ask:
        yield from _asked(config, tokens)


def known_menus(config: Settings) -> Iterator[Menu]:
    """The newest version of each imported menu, up to a thousand; the shipped ones where none is imported."""
    stored = []
    if config.database_url or (config.home / "saycart.db").exists():
        database = Database.of(config)
        try:
            stored = [found.menu for found in MenuStore(database, EVERY_SHOP).lately_used(MENUS)]
        except SaycartError:
            stored = []  # `saycart doctor` reports it
        finally:
            database.close()
    yield from stored or [Menu.parse(document) for document in load_menus().values()]


def sample_order(menu: Menu) -> str:
    """An order of this menu as a customer may say it: two items, a number, a size, an option."""
    rng = random.Random(menu.id)  # noqa: S311  # a sample, no secret
    first, second = rng.choices(menu.items, k=2)
    return f"two {_dressed(menu, first, rng)} and a {second.name} please"


def _dressed(menu: Menu, item: Item, rng: random.Random) -> str:
    size = menu.size(rng.choice(item.size_ids)) if item.size_ids else None
    groups = [group for group in menu.option_groups if group.id in item.option_groups]
    option = f" with {rng.choice(rng.choice(groups).options).name}" if groups else ""
    return f"{size.name} {item.name}{option}" if size else f"{item.name}{option}"


def _asked(config: Settings, tokens: Any) -> Iterator[Result]:
    """What only the server can show. It is started for this, where none is set."""
    try:
        with decode_server(config) as here:
            for url in addresses(here.llm_url):
                decoder = OpenAIDecoder(
                    url, dialect=here.llm_dialect, model=here.llm_model, api_key=here.llm_api_key
                )
                yield _tried("server's mask", decoder.probe, "applies the mask")
                yield _cart(decoder)
                yield _server_features(decoder)
                yield _cut_short(decoder)
                yield _same_tokenizer(here, url, tokens)
    except (SaycartError, ModelError) as error:
        yield Result("server", getattr(error, "whole", error.detail), {}, error.hint)
    except Exception as error:  # a supervisor's words, a port that is taken
        yield Result("server", f"{error!s:.200}", {}, "See `saycart doctor`.")


def _tried(what: str, act: Callable[[], Any], good: str) -> Result:
    try:
        act()
    except SaycartError as error:
        return Result(what, error.whole, {}, error.hint)
    return Result(what, good)


def _cart(decoder: OpenAIDecoder) -> Result:
    """One order of a shipped menu, whose answer is checked against the mask."""
    menu = Menu.parse(next(iter(load_menus().values())))
    order = CartRequest(sample_order(menu), menu)
    return _tried("server's cart", lambda: decoder.decode(order), "is one that the mask allows")


def _server_features(decoder: OpenAIDecoder) -> Result:
    """The grammars of `FEATURES`, by the llguidance that the server has."""
    failed = {}
    for name, (lark, texts) in FEATURES.items():
        try:
            said = decoder.answer(whole(lark), 40)
        except SaycartError as error:
            said = error.whole
        if said not in texts:
            failed[name] = said
    figures = {"supported": sorted(FEATURES.keys() - failed.keys()), "failed": failed}
    if failed:
        hint = "Use llguidance 1.7 or newer, as the backend `guidance`."
        return Result("server's grammar", f"fails: {', '.join(failed)}", figures, hint)
    return Result("server's grammar", f"{len(FEATURES)} llguidance features work", figures)


def _cut_short(decoder: OpenAIDecoder) -> Result:
    """An answer that the token limit cuts must come as an error, not as half a cart."""
    what = "truncated answer"
    try:
        said = decoder.answer(whole('start: "quixotry" "quixotry" "quixotry"'), 1)
    except DecodeTruncated:
        return Result(what, "is reported as an error")
    except SaycartError as error:
        return Result(what, error.whole, {}, error.hint)
    hint = "The server must report `finish_reason: length`; check for a proxy that hides it."
    return Result(what, f"was reported as complete: {said!r}", {}, hint)


def _same_tokenizer(here: Settings, url: str, tokens: Any) -> Result:
    """Whether the server cuts text as the tokenizer that was checked; else these checks were of another."""
    what, other = "server's tokenizer", []
    key = {"Authorization": f"Bearer {here.llm_api_key}"} if here.llm_api_key else {}
    for text in map(writable, AWKWARD):
        body: dict[str, Any] = {"content": text, "add_special": False}
        if here.llm_dialect == "vllm":
            body = {"model": here.llm_model, "prompt": text, "add_special_tokens": False}
        try:
            at = f"{url.rstrip('/')}/tokenize"
            answer = httpx.post(at, json=body, headers=key, timeout=LONG_S, trust_env=False)
            if answer.raise_for_status().json()["tokens"] != tokens.tokenize_str(text):
                other.append(text)
        except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
            return Result(
                what, f"request failed: {error!r:.100}", {}, "Make the decode server's /tokenize reachable."
            )
    figures = {"tried": len(AWKWARD), "other": other}
    if other:
        hint = "Pass the served model's tokenizer.json with --tokenizer."
        return Result(
            what, f"splits {len(other)} of {len(AWKWARD)} strings differently: {other[0]!r}", figures, hint
        )
    return Result(what, f"splits all {len(AWKWARD)} strings the same way", figures)
