"""Validate: is every value of the draft true of the menu, and was it heard?

The mask guarantees form. Facts are checked here: the item exists and is available, the option is offered,
required groups are filled, quantities are within limits; and, both ways, what the draft holds was said
and what was said is held. Findings are typed; a blocking one sends the order to a human.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from schemas.cart import Amount, CartDraft, Finding, ItemLine, NotOnMenuLine, Severity
from schemas.evidence import Evidence, Mention, OptionEvidence
from schemas.menu import Item, Menu
from schemas.transcript import Transcript

# Score of a mention below which its words fit more than one name, or none well (see `mentions.py`).
VAGUE = 0.5
# From here on a mention names one thing only, if by a part of its name: to leave it out is a doubt.
PART = 0.6


def check_facts(draft: CartDraft, menu: Menu) -> list[Finding]:
    """Everything in `draft` that the menu does not allow. Also applied to a reviewer's cart."""
    findings: list[Finding] = []
    for index, line in enumerate(draft.lines):
        if isinstance(line, NotOnMenuLine):
            findings.append(_blocking("not_on_menu", f"“{line.heard}” is not on the menu", index))
            continue
        item = menu.item(line.sku)
        if item is None:
            findings.append(_blocking("unknown_item", f"The menu has no item {line.sku!r}", index))
            continue
        findings += [f.model_copy(update={"line": index}) for f in _line_facts(line, item, menu)]
    if not draft.lines:
        findings.append(_blocking("empty_cart", "No order was understood in these words", None))
    return findings


def _line_facts(line: ItemLine, item: Item, menu: Menu) -> Iterator[Finding]:
    if not item.available:
        yield _blocking("item_unavailable", f"{item.name} is not available now")
    if line.quantity > item.max_quantity:
        yield _blocking(
            "quantity_over_limit", f"{line.quantity} × {item.name} is over the limit of {item.max_quantity}"
        )
    yield from _size_facts(line, item, menu)
    chosen: Counter[str] = Counter()
    for option in line.options:
        group = menu.group(option.group)
        if group is None or option.group not in item.option_groups:
            yield _blocking("option_not_offered", f"{item.name} has no choice of {option.group}")
            continue
        known = next((o for o in group.options if o.id == option.id), None)
        if known is None:
            yield _blocking("unknown_option", f"{group.name} has no {option.id!r}")
        elif not known.available:
            yield _blocking("option_unavailable", f"{known.name} is not available now")
        chosen[option.group] += option.amount is not Amount.NONE
    repeated = [o for o, n in Counter((o.group, o.id) for o in line.options).items() if n > 1]
    if repeated:
        yield _blocking("option_repeated", f"{repeated[0][1]} is on the line twice")
    for group_id in item.option_groups:
        group = menu.group(group_id)
        if group is None:
            continue
        if group.choose == "one" and chosen[group_id] > 1:
            yield _blocking("too_many_choices", f"Only one {group.name} can be chosen for {item.name}")
        if group.required and chosen[group_id] == 0:
            yield _blocking("missing_required_option", f"Which {group.name} for the {item.name}?")


def _size_facts(line: ItemLine, item: Item, menu: Menu) -> Iterator[Finding]:
    if line.size is not None:
        if line.size not in item.size_ids:
            yield _blocking("size_not_offered", f"{item.name} does not come in size {line.size!r}")
    elif item.size_ids and len(set((item.prices or {}).values())) > 1:
        default = menu.size(item.default_size) if item.default_size else None
        if default is None:
            yield _blocking("missing_size", f"Which size of {item.name}?")
        else:
            yield _info("size_defaulted", f"No size was said; {item.name} is {default.name} by default")
    elif len(item.size_ids) > 1:
        yield _info("size_unsaid", f"No size was said; every size of {item.name} costs the same")


def check_evidence(draft: CartDraft, evidence: Evidence) -> list[Finding]:
    """Values that nobody said, words that name something of the menu yet are not in the cart, and places
    where it is open which line was meant.

    Where the customer took something back, what was replaced need not be there, and the last size and
    number said of an item are the ones that count.
    """
    findings = [*_unsaid(draft, evidence), *_vague(draft, evidence), *_unused(draft, evidence)]
    findings += _last_word(draft, evidence) if evidence.corrected else _numbers(draft, evidence)
    return findings + list(_unclear(draft, evidence))


def _unsaid(draft: CartDraft, evidence: Evidence) -> Iterator[Finding]:
    options: dict[tuple[str, str], list[OptionEvidence]] = {}
    for open_one in evidence.options:
        options.setdefault((open_one.group, open_one.id), []).append(open_one)
    for index, line in enumerate(draft.lines):
        if not isinstance(line, ItemLine):
            continue
        if line.sku not in evidence.items:
            yield _blocking("item_unsaid", f"Nothing in the words names {line.sku}", index)
        if line.size is not None and line.size not in evidence.sizes:
            yield _blocking("size_unsaid_value", f"Nobody said the size {line.size}", index)
        if line.quantity not in evidence.quantities:
            yield _blocking("quantity_unsaid", f"Nobody said {line.quantity}", index)
        for option in line.options:
            known = options.get((option.group, option.id), [])
            if not any(option.amount in k.amounts and option.count in k.counts for k in known):
                yield _blocking("option_unsaid", f"Nothing in the words asks for {option.id}", index)


def _vague(draft: CartDraft, evidence: Evidence) -> Iterator[Finding]:
    """Lines that rest on a word which several names share, or which only qualifies one ("banana")."""
    best: dict[object, Mention] = {}
    for mention in evidence.mentions:
        for ref in _refs(mention):
            if ref not in best or best[ref].score < mention.score:
                best[ref] = mention
    for index, line in enumerate(draft.lines):
        if isinstance(line, ItemLine):
            for ref in (line.sku, line.size, *((o.group, o.id) for o in line.options)):
                if ref in best and best[ref].score < VAGUE:
                    yield _blocking("vague_name", f"“{best[ref].text}” may mean something else", index)


def _unused(draft: CartDraft, evidence: Evidence) -> Iterator[Finding]:
    lines = [line for line in draft.lines if isinstance(line, ItemLine)]
    used: dict[str, set[object]] = {
        "item": {line.sku for line in lines},
        "size": {line.size for line in lines},
        "option": {(o.group, o.id) for line in lines for o in line.options},
    }
    elsewhere = " ".join(line.heard for line in draft.lines if isinstance(line, NotOnMenuLine))
    places: dict[tuple[int, int], list[Mention]] = {}
    for mention in evidence.mentions:
        places.setdefault((mention.start, mention.end), []).append(mention)
    for readings in places.values():
        # The same words may name an item and an option of another; one use of them is enough.
        accounted = any(_refs(mention) & used[mention.kind] for mention in readings)
        text, clear = readings[0].text, any(mention.score >= PART for mention in readings)
        if clear and not accounted and text not in elsewhere and not _replaced(readings[0], evidence, used):
            yield _blocking("heard_but_missing", f"“{text}” was said but is not in the cart")
    elsewhere_words = elsewhere.split()
    lost = [word for word in evidence.unexplained if not any(word in w for w in elsewhere_words)]
    if lost:
        yield _blocking("unexplained_words", f"Not understood: {', '.join(lost)}")


def _replaced(missing: Mention, evidence: Evidence, used: dict[str, set[object]]) -> bool:
    """Whether a word of taking back follows it, and after that something of its kind that is in the cart."""
    return any(
        missing.end <= at <= other.start and other.kind == missing.kind and _refs(other) & used[other.kind]
        for at in evidence.corrections
        for other in evidence.mentions
    )


def _numbers(draft: CartDraft, evidence: Evidence) -> Iterator[Finding]:
    """Numbers that count nothing in the cart; a split one may be the sum of its lines."""
    options = [o for line in draft.lines if isinstance(line, ItemLine) for o in line.options]
    counted = {line.quantity for line in draft.lines} | {o.count for o in options}
    split = sum(line.quantity for line in draft.lines)
    for number in evidence.numbers:
        if number > 1 and number not in counted and number != split:
            yield _blocking("number_unused", f"The number {number} was said but counts nothing in the cart")


def _last_word(draft: CartDraft, evidence: Evidence) -> Iterator[Finding]:
    """Where something was taken back: lines that differ from the last that was said of their item."""
    skus = Counter(line.sku for line in draft.lines if isinstance(line, ItemLine))
    for index, line in enumerate(draft.lines):
        if not isinstance(line, ItemLine):
            continue
        places = [place for place in evidence.lines if line.sku in place.items]
        size = next((p.last_size for p in reversed(places) if p.last_size), None)
        number = next((p.last_number for p in reversed(places) if p.last_number), None)
        if (size and line.size != size) or (number and line.quantity != number) or skus[line.sku] > 1:
            yield _blocking("taken_back", f"Something was taken back; is {line.sku} as it was meant?", index)


def _unclear(draft: CartDraft, evidence: Evidence) -> Iterator[Finding]:
    """Options whose words may belong to either of two lines, or that were shared out unevenly."""
    offered = {item.sku: set(item.option_groups) for item in evidence.menu.items}
    either = Counter(
        (o.group, o.id)
        for place in evidence.lines
        for o in place.options
        if o.either and any(o.group in offered[sku] for sku in place.items)
    )
    lines = [line for line in draft.lines if isinstance(line, ItemLine)]
    chosen = {(o.group, o.id) for line in lines for o in line.options}
    for group, ref in sorted(chosen):
        takers = [line for line in lines if group in offered.get(line.sku, set())]
        holders = [line for line in takers if (group, ref) in {(o.group, o.id) for o in line.options}]
        if either[group, ref] > 1 or (evidence.shared and len(holders) < len(takers)):
            yield _blocking("unclear_which", f"It is not clear which line {ref} belongs to")


def _refs(mention: Mention) -> set[object]:
    if mention.kind == "option":
        return set(zip(mention.groups, mention.ids, strict=True))
    return set(mention.ids)


def check_hearing(transcript: Transcript) -> list[Finding]:
    """Words that were only understood once the menu's own were listened for."""
    if transcript.first_heard is None:
        return []
    return [_blocking("heard_again", f"First heard as “{transcript.first_heard}”")]


def check_total(total: int, limit: int) -> list[Finding]:
    """An absurd total, in minor units, is more likely a mistake than an order."""
    if total > limit:
        return [_blocking("total_over_limit", f"The total is over {limit / 100:.2f}")]
    return []


def _blocking(code: str, message: str, line: int | None = None) -> Finding:
    return Finding(code=code, severity=Severity.BLOCKING, message=message, line=line)


def _info(code: str, message: str) -> Finding:
    return Finding(code=code, severity=Severity.INFO, message=message)
