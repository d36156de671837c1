"""Sends the shipped sample recordings through the real HTTP API, follows them, and shows the carts."""

from __future__ import annotations

import asyncio
import json
import statistics
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from schemas.errors import EngineUnavailable, InputError
from schemas.lifecycle import SETTLED, STATUS, StageName
from schemas.order import Order
from services.cli.client import bearer
from services.cli.receipt import cart_table, doubts, headline
from services.cli.samples import RECORDINGS, Sample, load_menus, load_samples
from services.cli.waiting import EVERY_S, for_orders, said_every

_SETTLED = {STATUS[state] for state in SETTLED}
_AWAY_S = 60.0  # how long the API may be away (a restart) before a call is given up
_STALL_S = 900.0  # without a single change of any order, something is broken


def run_demo(base_url: str, key: str, console: Console, check: Callable[[], None] = lambda: None) -> bool:
    """Order every sample and print the carts; whether each was sent and none ended in `error`.

    `key`: one that may order, and import menus. `check` is called about once a second, to raise when the
    stack behind `base_url` broke down.

    Raises:
        EngineUnavailable: the API went away, or no order moved for a long time.
        InputError: the API refused a sample.
    """
    menus, samples = load_menus(), load_samples()
    console.print(
        f"Ordering {len(samples)} recordings at {base_url}; each is transcribed, decoded and checked."
    )
    asyncio.run(_order_all(base_url, key, console, menus, samples, check))
    for sample in samples:
        _print(sample, menus, console)
    _print_tally(samples, console)
    return all(sample.order is not None and sample.order.status != "error" for sample in samples)


async def _order_all(
    base_url: str,
    key: str,
    console: Console,
    menus: dict[str, dict[str, Any]],
    samples: list[Sample],
    check: Callable[[], None],
) -> None:
    # Keys belong to this run: the same samples sent again are new orders, a repeated call is not.
    run = uuid.uuid4().hex[:8]
    async with httpx.AsyncClient(
        base_url=base_url, headers=bearer(key), timeout=40.0, trust_env=False
    ) as client:
        for menu_id, menu in menus.items():
            answer = await _call(lambda m=menu, i=menu_id: client.put(f"/v1/menus/{i}", json=m))  # type: ignore[misc]
            _refused(answer, f"menu {menu_id}")
            console.print(
                f"menu [bold]{menu['name']}[/]: {len(menu['items'])} items, version "
                f"{answer.json()['version']}"
            )
        with (
            Live(console=console, refresh_per_second=4, transient=True) as live,
            _said(samples, console),
        ):
            work = [asyncio.create_task(_send_and_follow(client, run, samples, console))]
            while not all(task.done() for task in work):
                check()
                if console.is_terminal:
                    live.update(_progress(samples))
                await asyncio.wait(work, timeout=0.5)
                moved = max((max(s.sent_at, s.stage_since) for s in samples), default=0.0)
                if moved and time.monotonic() - moved > _STALL_S:
                    raise EngineUnavailable(f"No order made progress for {_STALL_S:.0f} s; see the logs.")
            for task in work:
                task.result()


async def _send_and_follow(
    client: httpx.AsyncClient, run: str, samples: list[Sample], console: Console
) -> None:
    # One after the other, as people come to a counter: so each time is that of an order, and not of a queue.
    for sample in samples:
        etag = await _send(client, run, sample)
        await _follow(client, sample, etag, console)


async def _send(client: httpx.AsyncClient, run: str, sample: Sample) -> str:
    row = sample.row
    path = RECORDINGS / row["audio"]
    sound = await asyncio.to_thread(path.read_bytes)
    sample.sent_at = sample.stage_since = time.monotonic()
    answer = await _call(
        lambda: client.post(
            "/v1/orders",
            files={"audio": (path.name, sound)},
            data={"menu": row["menu"], "metadata": json.dumps({"sample": row["id"]})},
            headers={"Idempotency-Key": f"demo-{run}-{row['id']}"},
        )
    )
    _refused(answer, f"sample {row['id']}")
    sample.order = Order.model_validate(answer.json())
    return str(answer.headers.get("etag", ""))


async def _follow(client: httpx.AsyncClient, sample: Sample, etag: str, console: Console) -> None:
    assert sample.order is not None  # it was sent
    address = f"/v1/orders/{sample.order.id}"
    while sample.order.status not in _SETTLED:
        # With the version that is known, the long poll answers at each change and not only at the end.
        headers = {"If-None-Match": etag} if etag else {}
        answer = await _call(lambda h=headers: client.get(address, params={"wait": 20}, headers=h))  # type: ignore[misc]
        if answer.status_code == 304:
            continue
        _refused(answer, address)
        etag = answer.headers.get("etag", "")
        seen = Order.model_validate(answer.json())
        if (seen.status, seen.stage) != (sample.order.status, sample.order.stage):
            sample.stage_since = time.monotonic()
        sample.order = seen
    sample.settled_at = time.monotonic()
    if not console.is_terminal:
        took = sample.settled_at - sample.sent_at
        console.print(f"{sample.row['id']}: {sample.order.status} after {took:.1f} s")


async def _call(ask: Callable[[], Awaitable[httpx.Response]]) -> httpx.Response:
    """Repeats a call while the API is away; each of ours may be repeated."""
    until = time.monotonic() + _AWAY_S
    while True:
        try:
            answer = await ask()
            if answer.status_code not in (429, 502, 503, 504):
                return answer
            problem = f"{answer.status_code} {answer.text[:200]}"
        except httpx.TransportError as error:
            problem = repr(error)
        if time.monotonic() > until:
            raise EngineUnavailable(
                f"The API is not responding: {problem}", hint="See logs/api.log in SAYCART_HOME."
            )
        await asyncio.sleep(1.0)


@contextmanager
def _said(samples: list[Sample], console: Console) -> Iterator[None]:
    """Lines that say what is waited for, where there is no terminal to draw a table on."""
    if console.is_terminal:
        yield
        return
    with said_every(EVERY_S, lambda: for_orders(samples, time.monotonic()), console.print):
        yield


def _refused(answer: httpx.Response, what: str) -> None:
    if answer.status_code >= 400:
        raise InputError(f"The API refused {what} with {answer.status_code}: {answer.text[:500]}")


def _progress(samples: list[Sample]) -> Group:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("order")
    table.add_column("state", min_width=14)
    for stage in StageName:
        table.add_column(stage.value, justify="right", min_width=6)
    table.add_column("since sent", justify="right")
    now = time.monotonic()
    for sample in samples:
        order = sample.order
        if order is None:
            table.add_row(sample.row["id"], "[dim]not sent yet[/]")
            continue
        worked = order.timings.model_dump(by_alias=True)
        cells = [
            f"{worked[stage]:.1f} s"
            if worked[stage] is not None
            else f"[cyan]{now - sample.stage_since:.0f} s …[/]"
            if stage == order.stage
            else ""
            for stage in StageName
        ]
        total = (sample.settled_at or now) - sample.sent_at
        table.add_row(sample.row["id"], order.status.replace("_", " "), *cells, f"{total:.0f} s")
    return Group(table, Text(for_orders(samples, now), style="cyan"))


def _print(sample: Sample, menus: dict[str, dict[str, Any]], console: Console) -> None:
    order = sample.order
    if order is None:
        return
    menu = menus.get(order.menu.id, {})
    sizes = {size["id"]: size["name"] for size in menu.get("sizes", [])}
    label = f"{sample.row['id']} · {menu.get('name', order.menu.id)}"
    body = [Padding(table, (0, 0, 0, 2))] if (table := cart_table(order, sizes)) else []
    notes = [f"  [yellow]{escape(doubt)}[/]" for doubt in doubts(order)]
    console.print()
    console.print(Group(headline(order, label), *body, *notes))


def _print_tally(samples: list[Sample], console: Console) -> None:
    plain = [sample for sample in samples if sample.row.get("expect") != "review"]
    doubtful = [sample for sample in samples if sample.row.get("expect") == "review"]
    console.print()
    console.print(
        f"[bold]{sum(s.right for s in plain)} of {len(plain)}[/] plain samples completed with the gold cart; "
        f"[bold]{sum(s.right for s in doubtful)} of {len(doubtful)}[/] doubtful ones went to a person."
    )
    took = [sample.settled_at - sample.sent_at for sample in plain if sample.settled_at]
    if took:
        console.print(f"Median time from upload to result: {statistics.median(took):.1f} s.")
    wrong = [sample.row["id"] for sample in samples if not sample.right]
    if wrong:
        console.print(f"Not as expected: {', '.join(wrong)}")
    console.print(
        "[dim]These are the samples that ship with saycart, spoken by synthetic voices: a check that the "
        "chain works, not a measure of how it hears your customers.[/]"
    )
