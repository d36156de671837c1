"""Order the samples over the HTTP API, one after the other, and show their carts."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import httpx
from rich.console import Console

from schemas.errors import EngineUnavailable
from schemas.order import Order
from services.cli.client import answer, bearer
from services.cli.commands.order import followed, send
from services.cli.receipt import show
from services.cli.samples import RECORDINGS, Document, Sample, load_menus, load_samples


def run_demo(base_url: str, key: str, console: Console, check: Callable[[], None] = lambda: None) -> bool:
    """Order every sample and print the carts; return False if one ended in `error`.

    `key` must allow ordering and importing menus. `check` is called about once a second and must raise if the
    stack has failed.

    Raises:
        EngineUnavailable: the API stopped responding.
        SaycartError: the API refused a menu or a sample.
    """
    samples = load_samples()
    used = {sample.row["menu"] for sample in samples}
    menus = {key: menu for key, menu in (load_menus() | load_menus("shops")).items() if key in used}
    console.print(f"Ordering {len(samples)} samples at {base_url}.")
    try:
        with httpx.Client(base_url=base_url, headers=bearer(key), timeout=40.0, trust_env=False) as client:
            for menu_id, menu in menus.items():
                version = answer(client.put(f"/v1/menus/{menu_id}", json=menu))["version"]
                console.print(f"menu [bold]{menu['name']}[/]: {len(menu['items'])} items, version {version}")
            for sample in samples:
                sample.order = _ordered(client, sample, console, check)
                label = f"{sample.row['id']} · {menus[sample.row['menu']]['name']} · {sample.seconds:.1f} s"
                console.print()
                show(console, sample.order, label)
    except httpx.TransportError as error:
        raise EngineUnavailable(
            f"The API is not responding: {error!r}", hint="See logs/api.log in SAYCART_HOME."
        ) from error
    _print_tally(samples, console)
    return all(sample.order is not None and sample.order.status != "error" for sample in samples)


def _ordered(client: httpx.Client, sample: Sample, console: Console, check: Callable[[], None]) -> Order:
    """Send a sample, and return its order once it has finished."""
    started = time.monotonic()
    with console.status(f"{sample.row['id']}: sending") as status:
        order = Order.model_validate(_sent(client, sample.row))
        for document in followed(client, order.id, wait_s=1):
            order = Order.model_validate(document)
            status.update(f"{sample.row['id']}: {order.stage} ({time.monotonic() - started:.0f} s)")
            check()
    sample.seconds = time.monotonic() - started
    return order


def _sent(client: httpx.Client, row: Document) -> Document:
    if "audio" in row:
        return send(client, RECORDINGS / row["audio"], row["menu"])
    typed = {"transcript": row["utterance"], "menu": row["menu"]}
    document: Document = answer(client.post("/v1/orders", json=typed))
    return document


def _print_tally(samples: list[Sample], console: Console) -> None:
    plain = [sample for sample in samples if not sample.is_doubtful]
    doubtful = [sample for sample in samples if sample.is_doubtful]
    console.print(
        f"\n[bold]{sum(s.right for s in plain)} of {len(plain)}[/] plain samples completed with the gold "
        f"cart; [bold]{sum(s.right for s in doubtful)} of {len(doubtful)}[/] doubtful ones went to a person."
        f"\nMedian time from upload to result: {statistics.median(s.seconds for s in plain):.1f} s."
    )
    if wrong := [sample.row["id"] for sample in samples if not sample.right]:
        console.print(f"Not as expected: {', '.join(wrong)}")
    console.print(
        "[dim]Synthetic voices: this shows that the installation works, not how well it understands your "
        "customers.[/]"
    )
