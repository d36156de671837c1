"""Validate: was every value of the draft heard, and is everything that was heard in it?

Whether it is true of the menu is the business of `facts.py`. A blocking finding sends the order to a human.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from schemas.cart import MAX_LINES, CartDraft, Finding, ItemLine, NotOnMenuLine
from schemas.evidence import Evidence, Mention, OptionEvidence
from schemas.transcript import Transcript
from services.pipeline.counting import idle_numbers
from services.pipeline.questions import which_item

# Score of a mention below which its words fit more than one name, or none well (see `settling.py`).
VAGUE = 0.5
# From here on a mention names one thing only, if by a part of its name: to leave it out is a doubt.
PART = 0.6
# What a second hearing may put right by itself (docs/confidence.md): words that sound so much alike, in the
# place of words that the first hearing was no surer of than this.
ALIKE, SURE = 0.5, 0.45


def check_evidence(draft: CartDraft, evidence: Evidence) -> list[Finding]:
    """Values that nobody said, words that name something of the menu yet are not in the cart, and places
    where it is open which line was meant.
    """
    findings = [*_unsaid(draft, evidence), *_vague(draft, evidence), *_unused(draft, evidence)]
    return [*findings, *_numbers(draft, evidence), *_unclear(draft, evidence), *_open_ends(evidence)]


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
        if clear and not accounted and text not in elsewhere:
            yield Finding.blocking("heard_but_missing", f"“{text}” was said but is not in the cart")
    elsewhere_words = elsewhere.split()
    lost = [word for word in evidence.unexplained if not any(word in w for w in elsewhere_words)]
    if lost:
        yield Finding.blocking("unexplained_words", f"Not understood: {', '.join(lost)}")


def _numbers(draft: CartDraft, evidence: Evidence) -> Iterator[Finding]:
    for number in idle_numbers(draft, evidence):
        yield Finding.blocking(
            "number_unused", f"The number {number} was said but counts nothing in the cart"
        )


def _unclear(draft: CartDraft, evidence: Evidence) -> Iterator[Finding]:
    """Options whose words may belong to either of two lines."""
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
        if either[group, ref] > 1:
            yield Finding.blocking("unclear_which", f"It is not clear which line {ref} belongs to")


def _open_ends(evidence: Evidence) -> Iterator[Finding]:
    """Ways of speaking that no rule reads; the model's guess at them may be right, but nobody can tell."""
    ways = {
        "taken_back": (evidence.corrected, "Something was taken back; is the cart as it was meant?"),
        "unclear_split": (evidence.shared, "Something was shared out or told apart; is it so?"),
        "asked_about": (evidence.asked, "Something of the menu was asked about; is it ordered?"),
        "weighed": (evidence.weighed, "The words leave a choice open; what is meant?"),
        "said_likewise": (evidence.likewise, "Something was to be like another line; is it so?"),
        "too_many_lines": (evidence.crowded, f"More was ordered than the {MAX_LINES} lines of one cart"),
        "read_otherwise": (evidence.otherwise, f"The words may as well mean {evidence.otherwise}"),
        "said_twice": (evidence.repeated, f"“{evidence.repeated}” was said twice; is it two?"),
    }
    found = [Finding.blocking(code, message) for code, (told, message) in ways.items() if told]
    yield from found
    settled = all(line.settled(evidence.menu) for line in evidence.lines)
    if not found and (evidence.retold or not settled):
        yield Finding.blocking("left_open", "The words leave something about a line open; is it as meant?")


def _refs(mention: Mention) -> set[object]:
    if mention.kind == "option":
        return set(zip(mention.groups, mention.ids, strict=True))
    return set(mention.ids)


def check_hearing(transcript: Transcript) -> list[Finding]:
    """Words that were only understood once the menu's own were listened for: a doubt, unless the first
    hearing was unsure of its own words and they sound like those that took their place, or a second
    recogniser, which knew nothing of the menu, came to the same order."""
    if transcript.first_heard is None:
        return []
    message = f"First heard as “{transcript.first_heard}”"
    alike = transcript.alike is not None and transcript.alike >= ALIKE
    mended = alike and transcript.overruled is not None and transcript.overruled < SURE
    if mended or transcript.agreed:
        return [Finding.info("heard_again", message)]
    return [Finding.blocking("heard_again", message)]


def check_fields(fields: Sequence[Mapping[str, float]], threshold: float) -> list[Finding]:
    """Values that were not heard surely enough, the least sure first; `fields` as of `field_confidences`."""
    doubtful = sorted(
        (sure, index, name)
        for index, line in enumerate(fields)
        for name, sure in line.items()
        if sure < threshold
    )
    return [
        Finding.blocking(
            "field_doubtful", f"{_called(name)} of line {index + 1}: heard with {sure:.2f}", index
        )
        for sure, index, name in doubtful
    ]


def _called(name: str) -> str:
    """A field as people call it: `options/milk/oat` is "option oat"."""
    if name.startswith("options/"):
        return f"option {name.rpartition('/')[2]}"
    return {"sku": "item", "heard": "the words"}.get(name, name)
