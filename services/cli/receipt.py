"""A cart on a terminal: lines, options, prices, and the words that each line came from."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from schemas import wording
from schemas.cart import CartLine
from schemas.order import Order
from schemas.wording import heard, money, option
from schemas.writable import one_line

_STATUS_STYLE = {"completed": "green", "needs_review": "yellow"}


def show(console: Console, order: Order, label: str = "", sizes: Mapping[str, str] | None = None) -> None:
    """Print state, words, cart and doubts. `sizes` gives the menu's names for size ids."""
    console.print(headline(order, label))
    if (table := cart_table(order, sizes)) is not None:
        console.print(Padding(table, (0, 0, 0, 2)))
    for doubt in doubts(order):
        console.print(f"  [yellow]{escape(doubt)}[/]")


def headline(order: Order, label: str = "") -> str:
    """Name, state and what was understood of the recording, as rich markup."""
    style = _STATUS_STYLE.get(order.status, "red")
    said = one_line(order.transcript.text) if order.transcript else ""
    text = f"“{escape(said)}”" if said.strip() else "[dim]no speech heard[/]"
    return f"[bold]{escape(label or order.id)}[/] [{style}]{order.status.replace('_', ' ')}[/]  {text}"


def doubts(order: Order) -> list[str]:
    """Why a human must look, or why it failed, but for what `cart_table` says at its line."""
    told = wording.doubts(order.review.reasons if order.review else (), order.findings)
    shown = {found.message for line in (order.cart.lines if order.cart else ()) for found in line.findings}
    told = [sentence for sentence in told if sentence not in shown]
    return [*told, f"{order.error.message} {order.error.hint}"] if order.error else told


def cart_table(order: Order, sizes: Mapping[str, str] | None = None) -> Table | None:
    """The priced cart; None when there is none. `sizes` gives the menu's names for size ids."""
    cart = order.cart
    if cart is None or not cart.lines:
        return None
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
    table.add_column(justify="right")
    table.add_column()
    table.add_column(justify="right", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(style="dim")
    for line in cart.lines:
        unit, total = (
            (
                at_least(line.unit_price, line.price_is_minimum, cart.currency),
                at_least(line.line_total, line.price_is_minimum, cart.currency),
            )
            if line.kind == "item"
            else ("", "?")
        )
        table.add_row(
            str(line.quantity), _what(line, cart.currency, sizes or {}), unit, total, heard(line.heard)
        )
    total = at_least(cart.total, cart.total_is_minimum, cart.currency)
    for note in cart.notes:
        table.add_row("", Text(wording.note(note, cart), style="yellow"), "", "", "")
    table.add_row("", Text("total", style="bold"), "", Text(total, style="bold"), "")
    return table


def at_least(amount: int, is_minimum: bool, currency: str) -> str:
    """An amount in minor units, marked where it is a lower bound."""
    return f"from {money(amount, currency)}" if is_minimum else money(amount, currency)


def _what(line: CartLine, currency: str, sizes: Mapping[str, str]) -> Text:
    size = f"{sizes.get(line.size, line.size)} " if line.size else ""
    text = Text(f"{size}{line.name}")
    if line.kind == "not_on_menu" and not line.findings:
        text.append(" (not on the menu)", style="yellow")
    for chosen in line.options:
        text.append(f"\n  {option(chosen, currency)}", style="cyan")
    for finding in line.findings:
        style = "yellow" if finding.blocks else "dim"
        text.append(f"\n  {finding.message}", style=style)
    return text
