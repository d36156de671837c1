"""Validate: was every value of the draft heard, and is everything that was heard in it?

Whether it is true of the menu is the business of `facts.py`. A blocking finding sends the order to a human.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from schemas.cart import MAX_LINES, MAX_OPTIONS, CartDraft, Finding, ItemLine, LineDraft, NotOnMenuLine
from schemas.evidence import Evidence, Mention, OptionEvidence
from schemas.menu import Menu
from schemas.transcript import Transcript
from services.checks.naming import line_called, listed, option_name, quoted, size_called
from services.checks.questions import which_item
from services.reading.language.language import measured
from services.reading.values.counting import idle_numbers

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
    return [*findings, *_numbers(draft, evidence), *_unclear(draft, evidence), *open_ends(evidence)]


def _unsaid(draft: CartDraft, evidence: Evidence) -> Iterator[Finding]:
    options: dict[tuple[str, str], list[OptionEvidence]] = {}
    for open_one in evidence.options:
        options.setdefault((open_one.group, open_one.id), []).append(open_one)
    for index, line in enumerate(draft.lines):
        if not isinstance(line, ItemLine):
            continue
        called = line_called(line, evidence.menu)
        if line.sku not in evidence.items:
            yield Finding.blocking(
                "item_unsaid", f"Did you want {called}? Nothing that was said names it.", index
            )
        if line.size is not None and line.size not in evidence.sizes:
            size = size_called(line.size, evidence.menu)
            message = f"Did you want {called} in {size}? No size like that was said."
            yield Finding.blocking("size_unsaid_value", message, index)
        if line.quantity not in evidence.quantities:
            message = f"Did you want {line.quantity} × {called}? That number was not said."
            yield Finding.blocking("quantity_unsaid", message, index)
        for option in line.options:
            known = options.get((option.group, option.id), [])
            if not any(option.amount in k.amounts and option.count in k.counts for k in known):
                name = option_name(option.group, option.id, evidence.menu, option.amount)
                message = f"Did you want “{name}” with {called}? It was not said like that."
                yield Finding.blocking("option_unsaid", message, index)


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
                    message = f"What did you mean by “{named.text}”? It may be more than one thing."
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
            yield Finding.blocking("heard_but_missing", f"You said “{text}”, and it is not in the order.")
    elsewhere_words = elsewhere.split()
    lost = [word for word in evidence.unexplained if not any(word in w for w in elsewhere_words)]
    if lost:
        yield Finding.blocking("unexplained_words", f"We did not understand {listed(lost)}.")


def _numbers(draft: CartDraft, evidence: Evidence) -> Iterator[Finding]:
    for number in idle_numbers(draft, evidence):
        yield Finding.blocking(
            "number_unused", f"You said the number {number}: of what would you like so many?"
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
            name = option_name(group, ref, evidence.menu)
            yield Finding.blocking("unclear_which", f"What is “{name}” to go with?")


def open_ends(evidence: Evidence) -> Iterator[Finding]:
    """Ways of speaking that no rule reads; the model's guess at them may be right, but nobody can tell."""
    menu, twice = evidence.menu, evidence.repeated
    full = [line.anchor for line in evidence.lines if line.overfull(menu)]
    ways = {
        "too_many_options": (full, f"That is more than the {MAX_OPTIONS} changes that one thing can have."),
        "taken_back": (
            evidence.corrected,
            "You changed or took back something: is this the order that you mean?",
        ),
        "unclear_split": (evidence.shared, "You told some of them apart: is each as you mean it?"),
        "asked_about": (
            evidence.asked,
            "You asked about something on the menu: would you like to order it?",
        ),
        "weighed": (evidence.weighed, "You left a choice open: which would you like?"),
        "said_likewise": (
            evidence.likewise,
            "You wanted one thing to be like another: is it as you mean it?",
        ),
        "too_many_lines": (
            evidence.crowded,
            f"That is more than the {MAX_LINES} different things that fit into one order.",
        ),
        "read_otherwise": (evidence.otherwise, f"Did you mean {evidence.otherwise}?"),
        "said_twice": (twice, f"You said “{twice}” twice: would you like two?"),
    }
    found = [Finding.blocking(code, message) for code, (told, message) in ways.items() if told]
    yield from found
    left = [line.anchor for line in evidence.lines if not line.settled(menu)]
    if not found and (evidence.retold or left):
        what = listed(dict.fromkeys(left)) if all(left) and left else "the order"
        message = f"Is {what} as you mean it? It can be understood in more than one way."
        yield Finding.blocking("left_open", message)


def _refs(mention: Mention) -> set[object]:
    if mention.kind == "option":
        return set(zip(mention.groups, mention.ids, strict=True))
    return set(mention.ids)


def check_hearing(transcript: Transcript) -> list[Finding]:
    """Words that were only understood once the menu's own were listened for: a doubt, unless the first
    hearing was unsure of its own words and they sound like those that took their place, or a second
    recogniser, which knew nothing of the menu, came to the same order. How far that holds was not measured in
    every language: in the others it stays a doubt."""
    if transcript.first_heard is None:
        return []
    first = transcript.first_heard
    alike = transcript.alike is not None and transcript.alike >= ALIKE
    mended = alike and transcript.overruled is not None and transcript.overruled < SURE
    if measured(transcript.language) and (mended or transcript.agreed):
        return [Finding.info("heard_again", f"At first this sounded like “{first}”.")]
    message = f"Did you say “{transcript.text}”? At first it sounded like “{first}”."
    return [Finding.blocking("heard_again", message)]


def check_fields(
    fields: Sequence[Mapping[str, float]], threshold: float, draft: CartDraft, menu: Menu
) -> list[Finding]:
    """Values that were not heard surely enough, the least sure first; `fields` as of `field_confidences`.
    That all words of a line were hard to hear is only told where no single value of it is."""
    doubtful = sorted(
        (sure, index, name)
        for index, line in enumerate(fields)
        for name, sure in line.items()
        if sure < threshold
    )
    in_part = {index for _, index, name in doubtful if name != "heard"}
    return [
        Finding.blocking(
            "field_doubtful",
            _asked(name, draft.lines[index], menu),
            index,
            detail=f"{_called(name)} of line {index + 1}: {sure:.2f}",
        )
        for sure, index, name in doubtful
        if name != "heard" or index not in in_part
    ]


def _asked(name: str, line: LineDraft, menu: Menu) -> str:
    """Whether a value was heard rightly, as the customer is asked."""
    called = line_called(line, menu)
    if name == "quantity":
        return f"Did you want {line.quantity} × {called}? The number was hard to hear."
    if name == "heard" or not isinstance(line, ItemLine):
        return f"Did you say {quoted(line.heard)}? It was hard to hear."
    if name == "size":
        size = size_called(line.size, menu) if line.size is not None else "a size"
        return f"Did you say {size} for {called}? It was hard to hear."
    chosen = next((o for o in line.options if name == f"options/{o.group}/{o.id}"), None)
    if chosen is not None:
        called = quoted(option_name(chosen.group, chosen.id, menu, chosen.amount))
    return f"Did you say {called}? It was hard to hear."


def _called(name: str) -> str:
    """A field as reviewers call it: `options/milk/oat` is "option oat"."""
    if name.startswith("options/"):
        return f"option {name.rpartition('/')[2]}"
    return {"sku": "item", "heard": "the words"}.get(name, name)
