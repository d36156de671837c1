"""A cart on a terminal: lines, options, prices, and the customer's words for each line."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from schemas import wording
from schemas.order import Order
from schemas.priced_cart import CartLine
from schemas.sentences.sentences import ENGLISH, sentences
from schemas.wording import heard, least, money, option
from schemas.writable import one_line

_STATUS_STYLE = {"completed": "green", "needs_review": "yellow"}


def show(console: Console, order: Order, label: str = "") -> None:
    """Print status, transcript, cart and doubts."""
    console.print(headline(order, label))
    if (table := cart_table(order)) is not None:
        console.print(Padding(table, (0, 0, 0, 2)))
    for doubt in doubts(order):
        console.print(f"  [yellow]{escape(doubt)}[/]")


def headline(order: Order, label: str = "") -> str:
    """Return label, status and transcript as rich markup."""
    style = _STATUS_STYLE.get(order.status, "red")
    transcript = one_line(order.transcript.text) if order.transcript else ""
    text = f"“{escape(transcript)}”" if transcript.strip() else "[dim]no speech heard[/]"
    return f"[bold]{escape(label or order.id)}[/] [{style}]{order.status.replace('_', ' ')}[/]  {text}"


def doubts(order: Order) -> list[str]:
    """Return the reasons for a review or failure, except those that `cart_table` shows with a line."""
    lines = order.cart.lines if order.cart else ()
    shown = {finding.message for line in lines for finding in line.findings}
    reasons = wording.doubts(order.review.reasons if order.review else (), order.findings)
    reasons = [reason for reason in reasons if reason not in shown]
    return [*reasons, f"{order.error.message} {order.error.hint}"] if order.error else reasons


def cart_table(order: Order) -> Table | None:
    """Return the priced cart, or None if it has no lines."""
    cart = order.cart
    if cart is None or not cart.lines:
        return None
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
    table.add_column(justify="right")
    table.add_column()
    table.add_column(justify="right", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(style="dim")
    say = sentences(ENGLISH)
    for line in cart.lines:
        unit, total = "", "?"
        if line.kind == "item":
            unit = least(line.unit_price, line.price_is_minimum, cart.currency, say)
            total = least(line.line_total, line.price_is_minimum, cart.currency, say)
        table.add_row(str(line.quantity), _what(line, cart.currency), unit, total, heard(line.heard))
    total = least(cart.total, cart.total_is_minimum, cart.currency, say)
    for note in cart.notes:
        table.add_row("", Text(wording.note(note, cart), style="yellow"), "", "", "")
    for tax in cart.taxes:
        table.add_row("", wording.tax(tax), "", money(tax.amount, cart.currency), "")
    table.add_row("", Text("total", style="bold"), "", Text(total, style="bold"), "")
    return table


def _what(line: CartLine, currency: str) -> Text:
    text = Text(" ".join(filter(None, (line.size_name, line.name))))
    if line.kind == "not_on_menu" and not line.findings:
        text.append(" (not on the menu)", style="yellow")
    for chosen in line.options:
        text.append(f"\n  {option(chosen, currency)}", style="cyan")
    for finding in line.findings:
        style = "yellow" if finding.blocks else "dim"
        text.append(f"\n  {finding.message}", style=style)
    return text
