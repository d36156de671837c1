"""Facts: is a cart true of the menu? The mask guarantees form, never truth.

The item exists and is available, the option is offered, required groups are filled, quantities are within
limits. Applied to what a machine drafted, a customer answered or a reviewer corrected alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from schemas.cart import CartDraft, Finding, ItemLine, NotOnMenuLine, OptionDraft, Portion
from schemas.menu import Item, Menu
from schemas.sentences.sentences import Sentences, sentences
from services.validation.naming import listed, option_name, size_called
from services.validation.price import chosen_of
from services.validation.questions import which_option, which_size


def check_facts(draft: CartDraft, menu: Menu) -> list[Finding]:
    """Everything in `draft` that the menu does not allow. Also applied to a reviewer's cart."""
    findings: list[Finding] = []
    say = sentences(menu.language)
    for index, line in enumerate(draft.lines):
        if isinstance(line, NotOnMenuLine):
            findings.append(Finding.blocking("not_on_menu", say("not_on_menu", words=line.heard), index))
            continue
        item = menu.item(line.sku)
        if item is None:
            findings.append(Finding.blocking("unknown_item", say("unknown_item", item=line.sku), index))
            continue
        about = _line_facts(index, line, item, menu)
        findings += [finding.model_copy(update={"line": index}) for finding in about]
    if not draft.lines:
        findings.append(Finding.blocking("empty_cart", say("empty_cart")))
    return findings


def _line_facts(index: int, line: ItemLine, item: Item, menu: Menu) -> Iterator[Finding]:
    say = sentences(menu.language)
    if not item.available:
        yield Finding.blocking("item_unavailable", say("sold_out", name=item.name))
    if line.quantity > item.max_quantity:
        message = say("quantity_over_limit", most=item.max_quantity, item=item.name, count=line.quantity)
        yield Finding.blocking("quantity_over_limit", message)
    yield from _size_facts(index, line, item, menu, say)
    for option in line.options:
        yield from _option_facts(option, item, menu, say)
    halves = [Counter((o.group, o.id) for o in half) for half in _by_half(line.options)]
    repeated = next((o for half in halves for o, n in half.items() if n > 1), None)
    if repeated is not None:
        message = say("option_repeated", option=option_name(*repeated, menu), item=item.name)
        yield Finding.blocking("option_repeated", message)
    yield from _group_facts(index, line, item, menu, say)


def _by_half(options: Iterable[OptionDraft]) -> tuple[list[OptionDraft], list[OptionDraft]]:
    """The options that are on the half named first, and those on the other; on both, those of the whole."""
    chosen = list(options)
    return (
        [option for option in chosen if option.portion is not Portion.RIGHT],
        [option for option in chosen if option.portion is not Portion.LEFT],
    )


def _option_facts(option: OptionDraft, item: Item, menu: Menu, say: Sentences) -> Iterator[Finding]:
    group = menu.group(option.group)
    if group is None or option.group not in item.option_groups:
        kind = group.name if group is not None else option.group
        message = say("option_not_offered", item=item.name, group=kind)
        yield Finding.blocking("option_not_offered", message)
        return
    known = next((o for o in group.options if o.id == option.id), None)
    if known is None:
        message = say("unknown_option", group=group.name, option=option.id)
        yield Finding.blocking("unknown_option", message)
    elif not known.available:
        yield Finding.blocking("option_unavailable", say("sold_out", name=known.name))
    if known is not None and option.portion is not Portion.WHOLE and not group.halves:
        yield Finding.blocking("half_not_offered", say("half_not_offered", option=known.name, item=item.name))


def _group_facts(index: int, line: ItemLine, item: Item, menu: Menu, say: Sentences) -> Iterator[Finding]:
    """Groups of which too much was chosen, or nothing though one has to be."""
    for group in filter(None, map(menu.group, item.option_groups)):
        chosen = chosen_of(line, group)
        rivals = max(_by_half(chosen), key=len)
        if group.choose == "one" and len(rivals) > 1:
            choices = listed((option_name(o.group, o.id, menu) for o in rivals), "or", menu.language)
            message = say("too_many_choices", group=group.name, item=item.name, choices=choices)
            yield Finding.blocking("too_many_choices", message)
        if group.required and not chosen:
            message = say("missing_required_option", group=group.name, item=item.name)
            question = which_option(index, line, item, group, menu)
            yield Finding.blocking("missing_required_option", message, question=question)


def _size_facts(index: int, line: ItemLine, item: Item, menu: Menu, say: Sentences) -> Iterator[Finding]:
    if line.size is not None:
        if line.size not in item.size_ids:
            message = say("size_not_offered", item=item.name, size=size_called(line.size, menu))
            yield Finding.blocking("size_not_offered", message)
    elif item.size_ids and len(set((item.prices or {}).values())) > 1:
        default = menu.size(item.default_size) if item.default_size else None
        if default is None:
            message = say("missing_size", item=item.name)
            yield Finding.blocking("missing_size", message, question=which_size(index, line, item, menu))
        else:
            message = say("size_defaulted", item=item.name, size=default.name)
            yield Finding.info("size_defaulted", message)
    elif len(item.size_ids) > 1:
        yield Finding.info("size_unsaid", say("size_unsaid", item=item.name))


def check_total(total: int, limit: float, menu: Menu) -> list[Finding]:
    """An absurd total, in minor units, is more likely a mistake than an order."""
    if total > limit:
        message = sentences(menu.language)("total_over_limit", limit=f"{limit / 100:.2f}")
        return [Finding.blocking("total_over_limit", message)]
    return []
