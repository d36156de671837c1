"""`saycart explain TEXT`: why an order is read as it is, and where it would go, without model or stack."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from infra.settings import settings
from schemas import wording
from schemas.cart import Amount
from schemas.errors import InputError
from schemas.explanation import LOSSES, OUTCOMES, ExplainedSpan, Explanation, LineOpen
from schemas.menu import Menu
from schemas.order import MAX_TRANSCRIPT_CHARS
from schemas.shops.access import MAIN_SHOP
from schemas.transcript import Transcript
from services.checks.explained import explain as explained
from services.cli.client import errors_shown, opened
from services.cli.receipt import at_least
from services.reading.order import read_order

# Rivals of one span that are shown; a long menu may have dozens.
_RIVALS = 4


def explain(
    text: Annotated[str, typer.Argument(help="the words of an order")],
    menu: Annotated[str, typer.Option("--menu", help="menu file (JSON) or the id of a stored menu")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, on one line.")] = False,
    shop: Annotated[str, typer.Option("--shop", help="with a menu's id: its shop")] = MAIN_SHOP,
) -> None:
    """Show what is found in TEXT, what is chosen over what, what the mask opens, and where the order goes."""
    with errors_shown() as console:
        if not text.strip() or len(text) > MAX_TRANSCRIPT_CHARS:
            raise InputError(
                f"The text has {len(text.strip())} characters; it may have 1 to {MAX_TRANSCRIPT_CHARS}",
                hint='For example: saycart explain "two lattes, make one large" --menu menu.json',
            )
        document, version = _menu(menu, shop)
        config = settings()
        found = explained(
            Transcript(text=text, confidence=1.0, language=document.language),
            read_order(text, document, version),
            asr_threshold=config.asr_threshold,
            field_threshold=config.field_threshold,
            max_total=config.max_order_total,
        )
        if as_json:
            typer.echo(found.model_dump_json())
        else:
            _show(console, found)


def _menu(named: str, shop: str) -> tuple[Menu, int]:
    """A menu and its version: of a file, 0, or the newest one that is stored."""
    file = Path(named)
    if file.is_file():
        try:
            return Menu.parse(json.loads(file.read_text(encoding="utf-8"))), 0
        except ValueError as error:
            raise InputError(f"{named} is not JSON: {error}") from None
    if "/" in named or file.suffix:
        raise InputError(f"No file {named}", hint="Pass a menu file (JSON) or a menu's id.")
    with opened() as box:
        stored = box.menus.of(shop).get(named)
        return stored.menu, stored.version


def _show(console: Console, found: Explanation) -> None:
    parts = [
        ("How the words were read", _words(found)),
        ("What the mask allows", _mask(found)),
        ("Where the order goes", _destination(found)),
    ]
    for title, body in parts:
        console.print(f"[bold]{title}[/]")
        console.print(body)
        console.print()


def _table(*columns: str) -> Table:
    table = Table(box=None, padding=(0, 3, 0, 2), pad_edge=True)
    for name in columns:
        table.add_column(name, header_style="dim", overflow="fold")
    return table


def _words(found: Explanation) -> Table:
    """Each span with what it was chosen over, and the words that nothing accounts for."""
    reading = found.reading
    table = _table("words", "as", "rule", "and not")
    rows = [(span.tokens[0], [*_told(span), _rivals(reading.rivals(span))]) for span in reading.chosen]
    rows += [(span.tokens[0], [Text(span.text), Text(), Text(), _rivals([span])]) for span in reading.forgone]
    rows += [
        (i, [Text(words, style="yellow"), Text("not understood", style="yellow")])
        for i, words in reading.lost
    ]
    for _, cells in sorted(rows, key=lambda row: row[0]):
        table.add_row(*cells)
    return table


def _told(span: ExplainedSpan) -> list[Text]:
    kind = "" if span.kind == "number" else f" ({span.kind})"
    return [Text(span.text), Text(_named(span) + kind, style="green"), Text(span.because, style="dim")]


def _rivals(spans: list[ExplainedSpan]) -> Text:
    said = []
    for span in spans[:_RIVALS]:
        to = f": {span.lost_to.name}" if span.lost_to else ""
        said.append(f"{_named(span)} ({LOSSES[span.why]}{to})" if span.why else _named(span))
    more = [f"and {len(spans) - _RIVALS} more"] if len(spans) > _RIVALS else []
    return Text("\n".join([*said, *more]), style="dim")


def _named(span: ExplainedSpan) -> str:
    return " or ".join(dict.fromkeys(ref.name for ref in span.refs))


def _mask(found: Explanation) -> Group:
    table = _table("line", "opens", "left to choose")
    for line in found.lines:
        left = "\n".join(line.open) or "nothing"
        table.add_row(
            Text(line.words), Text("\n".join(_opened(line))), Text(left, style="" if line.open else "green")
        )
    for words in found.off_menu:
        table.add_row(Text(words), Text("not on the menu", style="yellow"), Text())
    return Group(table)


def _opened(line: LineOpen) -> Iterable[str]:
    must = " (required)" if line.required else ""
    yield " or ".join(item.name for item in line.items) + must
    yield "quantity " + " or ".join(map(str, line.quantities))
    if line.sizes:
        must = " (required)" if line.size_required else ""
        yield "size " + " or ".join(size.name for size in line.sizes) + must
    for option in line.options:
        amounts = [] if option.amounts == (Amount.NORMAL,) else [" or ".join(a.value for a in option.amounts)]
        counts = [] if option.counts == (1,) else [" or ".join(map(str, option.counts)) + " ×"]
        must = " (required)" if option.required else ""
        yield " ".join([*counts, option.ref.name, *(f"[{a}]" for a in amounts)]) + must


def _destination(found: Explanation) -> Group:
    to = found.destination
    style = "green" if to.to == "completed" else "yellow"
    lines = [Text(f"  {to.to}", style=f"bold {style}"), Text(f"  {OUTCOMES[found.outcome]}")]
    asked = "  No model is used." if to.settled else "  The model decodes within the mask."
    lines.append(Text(asked))
    lines += [Text(f"    {line}") for line in to.cart]
    if to.cart:
        total = at_least(to.total, to.total_is_minimum, found.currency)
        lines.append(Text(f"    total {total}", style="bold"))
    for finding in to.findings:
        mark = "!" if finding.blocks else "i"
        lines.append(Text(f"  {mark} {finding.message}", style="yellow" if mark == "!" else "dim"))
    lines += [
        Text(f"  ! {wording.reason(reason)}", style="yellow")
        for reason in wording.unsaid(to.reasons, to.findings)
    ]
    if to.question:
        lines.append(Text(f"  The customer is asked: {to.question}"))
    return Group(*lines)
