"""Validate: was every value of the draft heard, and is everything that was heard in it?

Whether it is true of the menu is the business of `facts.py`. A blocking finding sends the order to a human.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from schemas.cart import CartDraft, Finding, ItemLine, NotOnMenuLine
from schemas.evidence import Evidence, Mention, OptionEvidence
from schemas.transcript import Transcript
from services.pipeline.questions import which_item

# Score of a mention below which its words fit more than one name, or none well (see `mentions.py`).
VAGUE = 0.5
# From here on a mention names one thing only, if by a part of its name: to leave it out is a doubt.
PART = 0.6


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
            yield Finding.blocking("item_unsaid", f"Nothing in the words names {line.sku}", index)
        if line.size is not None and line.size not in evidence.sizes:
            yield Finding.blocking("size_unsaid_value", f"Nobody said the size {line.size}", index)
        if line.quantity not in evidence.quantities:
            yield Finding.blocking("quantity_unsaid", f"Nobody said {line.quantity}", index)
        for option in line.options:
            known = options.get((option.group, option.id), [])
            if not any(option.amount in k.amounts and option.count in k.counts for k in known):
                yield Finding.blocking("option_unsaid", f"Nothing in the words asks for {option.id}", index)


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
                named = best.get(ref)
                if named is not None and named.score < VAGUE:
                    ask = which_item(index, named.ids, evidence.menu) if named.kind == "item" else None
                    message = f"“{named.text}” may mean something else"
                    yield Finding.blocking("vague_name", message, index, ask)


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
            yield Finding.blocking("heard_but_missing", f"“{text}” was said but is not in the cart")
    elsewhere_words = elsewhere.split()
    lost = [word for word in evidence.unexplained if not any(word in w for w in elsewhere_words)]
    if lost:
        yield Finding.blocking("unexplained_words", f"Not understood: {', '.join(lost)}")


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
            yield Finding.blocking(
                "number_unused", f"The number {number} was said but counts nothing in the cart"
            )


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
            yield Finding.blocking(
                "taken_back", f"Something was taken back; is {line.sku} as it was meant?", index
            )


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
            yield Finding.blocking("unclear_which", f"It is not clear which line {ref} belongs to")


def _refs(mention: Mention) -> set[object]:
    if mention.kind == "option":
        return set(zip(mention.groups, mention.ids, strict=True))
    return set(mention.ids)


def check_hearing(transcript: Transcript) -> list[Finding]:
    """Words that were only understood once the menu's own were listened for."""
    if transcript.first_heard is None:
        return []
    return [Finding.blocking("heard_again", f"First heard as “{transcript.first_heard}”")]
