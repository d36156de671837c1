"""Facts: is a cart true of the menu? The mask guarantees form, never truth.

The item exists and is available, the option is offered, required groups are filled, quantities are within
limits. Applied to what a machine drafted, a customer answered or a reviewer corrected alike.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from schemas.cart import Amount, CartDraft, Finding, ItemLine, NotOnMenuLine
from schemas.menu import Item, Menu
from services.checks.naming import listed, option_name, size_called
from services.checks.questions import which_option, which_size


def check_facts(draft: CartDraft, menu: Menu) -> list[Finding]:
    """Everything in `draft` that the menu does not allow. Also applied to a reviewer's cart."""
    findings: list[Finding] = []
    for index, line in enumerate(draft.lines):
        if isinstance(line, NotOnMenuLine):
            findings.append(Finding.blocking("not_on_menu", f"“{line.heard}” is not on the menu.", index))
            continue
        item = menu.item(line.sku)
        if item is None:
            findings.append(Finding.blocking("unknown_item", f"The menu has no item “{line.sku}”.", index))
            continue
        about = _line_facts(index, line, item, menu)
        findings += [finding.model_copy(update={"line": index}) for finding in about]
    if not draft.lines:
        findings.append(Finding.blocking("empty_cart", "We could not make out an order."))
    return findings


def _line_facts(index: int, line: ItemLine, item: Item, menu: Menu) -> Iterator[Finding]:
    if not item.available:
        yield Finding.blocking("item_unavailable", f"“{item.name}” is sold out at the moment.")
    if line.quantity > item.max_quantity:
        yield Finding.blocking(
            "quantity_over_limit",
            f"At most {item.max_quantity} × “{item.name}” fit into one order, and this is {line.quantity}.",
        )
    yield from _size_facts(index, line, item, menu)
    chosen: defaultdict[str, list[str]] = defaultdict(list)
    for option in line.options:
        group = menu.group(option.group)
        if group is None or option.group not in item.option_groups:
            kind = group.name if group is not None else option.group
            message = f"“{item.name}” does not come with a choice of {kind}."
            yield Finding.blocking("option_not_offered", message)
            continue
        known = next((o for o in group.options if o.id == option.id), None)
        if known is None:
            yield Finding.blocking("unknown_option", f"There is no {group.name} “{option.id}”.")
        elif not known.available:
            yield Finding.blocking("option_unavailable", f"“{known.name}” is sold out at the moment.")
        if option.amount is not Amount.NONE:
            chosen[option.group].append(option_name(option.group, option.id, menu))
    repeated = [o for o, n in Counter((o.group, o.id) for o in line.options).items() if n > 1]
    if repeated:
        name = option_name(*repeated[0], menu)
        yield Finding.blocking("option_repeated", f"“{name}” is there twice, with “{item.name}”.")
    for group_id in item.option_groups:
        group = menu.group(group_id)
        if group is None:
            continue
        if group.choose == "one" and len(chosen[group_id]) > 1:
            message = f"Only one {group.name} can go with “{item.name}”: {listed(chosen[group_id], 'or')}?"
            yield Finding.blocking("too_many_choices", message)
        if group.required and not chosen[group_id]:
            yield Finding.blocking(
                "missing_required_option",
                f"Which {group.name} would you like with “{item.name}”?",
                question=which_option(index, group),
            )


def _size_facts(index: int, line: ItemLine, item: Item, menu: Menu) -> Iterator[Finding]:
    if line.size is not None:
        if line.size not in item.size_ids:
            message = f"“{item.name}” does not come in {size_called(line.size, menu)}."
            yield Finding.blocking("size_not_offered", message)
    elif item.size_ids and len(set((item.prices or {}).values())) > 1:
        default = menu.size(item.default_size) if item.default_size else None
        if default is None:
            message = f"Which size of “{item.name}” would you like?"
            yield Finding.blocking("missing_size", message, question=which_size(index, item, menu))
        else:
            yield Finding.info("size_defaulted", f"No size was said, so “{item.name}” is {default.name}.")
    elif len(item.size_ids) > 1:
        yield Finding.info("size_unsaid", f"No size was said; every size of “{item.name}” costs the same.")


def check_total(total: int, limit: int) -> list[Finding]:
    """An absurd total, in minor units, is more likely a mistake than an order."""
    if total > limit:
        return [
            Finding.blocking(
                "total_over_limit", f"The total is over {limit / 100:.2f}, so somebody looks at it first."
            )
        ]
    return []
