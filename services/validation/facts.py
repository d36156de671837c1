"""Check a cart against the menu: items and options exist and are available, groups and quantities are within
limits. The mask guarantees form, not facts, so drafts, answers and corrections are all checked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from schemas.cart import Amount, CartDraft, ItemLine, LineDraft, OptionDraft, Portion
from schemas.menu import Item, Menu, OptionGroup
from schemas.menus.nesting import source, under
from schemas.priced_cart import Finding
from schemas.sentences.sentences import sentences
from schemas.wording import money
from services.validation.portions import by_half, chosen_of, counted, kept_defaults, open_groups
from services.validation.price import price_in
from services.validation.questions import which_option, which_size


def blocking(menu: Menu, code: str, **values: object) -> Finding:
    """Return a doubt with the customer's sentence of the same name."""
    return Finding.blocking(code, sentences(menu.language)(code, **values))


def check_facts(draft: CartDraft, menu: Menu) -> list[Finding]:
    """Return a finding for everything in `draft` that the menu doesn't allow."""
    findings: list[Finding] = []
    for index, line in enumerate(draft.lines):
        about = _line_facts(index, line, menu)
        findings += [finding.model_copy(update={"line": index}) for finding in about]
    return findings if draft.lines else [blocking(menu, "empty_cart")]


def _line_facts(index: int, line: LineDraft, menu: Menu) -> Iterator[Finding]:
    if not isinstance(line, ItemLine):
        yield blocking(menu, "not_on_menu", words=line.heard)
    elif (item := menu.item(line.sku)) is None:
        yield blocking(menu, "unknown_item", item=line.sku)
    else:
        yield from _item_facts(index, line, item, menu)


def _item_facts(index: int, line: ItemLine, item: Item, menu: Menu) -> Iterator[Finding]:
    say = sentences(menu.language)
    if item.closed:
        yield Finding.blocking("item_outside_hours", say("not_served_now", name=item.name))
    elif not item.available:
        yield Finding.blocking("item_unavailable", say("sold_out", name=item.name))
    if line.quantity > item.max_quantity:
        limits = {"most": item.max_quantity, "count": line.quantity}
        yield blocking(menu, "quantity_over_limit", item=item.name, **limits)
    yield from _size_facts(index, line, item, menu)
    groups = open_groups(line, menu.groups_of(item))
    for option in line.options:
        yield from _option_facts(option, item, groups, menu)
    halves = [Counter((o.group, o.id) for o in half) for half in by_half(line.options)]
    repeated = next((o for half in halves for o, n in half.items() if n > 1), None)
    if repeated is not None:
        yield blocking(menu, "option_repeated", option=menu.option_name(*repeated), item=item.name)
    for group in groups:
        yield from _too_much(line, item, group, menu)
        yield from _too_little(index, line, item, group, menu)


def _option_facts(
    option: OptionDraft, item: Item, groups: list[OptionGroup], menu: Menu
) -> Iterator[Finding]:
    group = next((group for group in groups if group.id == option.group), None)
    if _is_unclear(option, group):
        yield blocking(menu, "option_unclear", option=menu.option_name(option.group, option.id))
        return
    if group is None:
        other = menu.group(option.group)
        name = other.name if other else option.group
        yield blocking(menu, "option_not_offered", item=item.name, group=name)
        return
    known = next((o for o in group.options if o.id == option.id), None)
    if known is None:
        yield blocking(menu, "unknown_option", group=group.name, option=option.id)
        return
    if not known.available:
        why = "not_served_now" if known.closed else "sold_out"
        yield Finding.blocking("option_unavailable", sentences(menu.language)(why, name=known.name))
    if option.portion is not Portion.WHOLE and not group.halves:
        yield blocking(menu, "half_not_offered", option=known.name, item=item.name)


def _is_unclear(option: OptionDraft, group: OptionGroup | None) -> bool:
    """Return True if a nested option has no known place, or is a size with an amount."""
    if under(option.group) is None:
        return False
    return group is None or (not source(option.group) and option.amount is not Amount.NORMAL)


def _too_much(line: ItemLine, item: Item, group: OptionGroup, menu: Menu) -> Iterator[Finding]:
    """Yield findings if more was chosen from a group, or of one option, than allowed."""
    say, chosen = sentences(menu.language), chosen_of(line, group)
    rivals = max(by_half(chosen), key=len)
    if group.choose == "one" and len(rivals) > 1:
        choices = say.joined((f"“{menu.option_name(o.group, o.id)}”" for o in rivals), "or")
        yield blocking(menu, "too_many_choices", group=group.name, item=item.name, choices=choices)
    elif group.max is not None and (count := counted(line, group)) > group.max:
        message = say("too_many_in_group", group=group.name, item=item.name, most=group.max, count=count)
        yield Finding.blocking("too_many_choices", message)
    for option in chosen:
        if group.max_each is not None and option.count > group.max_each:
            name = menu.option_name(option.group, option.id)
            yield blocking(menu, "option_over_limit", option=name, item=item.name, most=group.max_each)


def _too_little(index: int, line: ItemLine, item: Item, group: OptionGroup, menu: Menu) -> Iterator[Finding]:
    """Yield a finding if a required group has too few options, or only defaults."""
    say, has = sentences(menu.language), counted(line, group)
    if has < group.least:
        key = "missing_more_options" if has else "missing_required_option"
        message = say(key, group=group.name, item=item.name)
        question = which_option(message, index, line, group, menu)
        yield Finding.blocking("missing_required_option", message, question=question)
    elif group.least and not chosen_of(line, group):
        names = say.joined(f"“{menu.option_name(group.id, o)}”" for o in kept_defaults(line, group))
        message = say("option_defaulted", group=group.name, item=item.name, options=names)
        yield Finding.info("option_defaulted", message)


def _size_facts(index: int, line: ItemLine, item: Item, menu: Menu) -> Iterator[Finding]:
    say = sentences(menu.language)
    if line.size is not None:
        if line.size not in item.size_ids:
            size = menu.size(line.size)
            name = f"“{size.name if size else line.size}”"
            yield blocking(menu, "size_not_offered", item=item.name, size=name)
    elif len({price_in(size, line, item, menu) for size in item.size_ids}) > 1:
        default = menu.size(item.default_size) if item.default_size else None
        if default is None:
            message = say("missing_size", item=item.name)
            question = which_size(message, index, line, item, menu)
            yield Finding.blocking("missing_size", message, question=question)
        else:
            message = say("size_defaulted", item=item.name, size=default.name)
            yield Finding.info("size_defaulted", message)
    elif len(item.size_ids) > 1:
        yield Finding.info("size_unsaid", say("size_unsaid", item=item.name))


def check_total(total: int, limit: float, menu: Menu) -> list[Finding]:
    """Return a finding if the total (minor units) is over the limit: more likely a mistake than an order."""
    if total <= limit:
        return []
    return [blocking(menu, "total_over_limit", limit=money(int(limit), menu.currency))]
