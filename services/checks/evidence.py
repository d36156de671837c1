"""Validate: was every value of the draft heard, and is everything that was heard in it?

Whether it is true of the menu is the business of `facts.py`. A blocking finding sends the order to a human.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from schemas.cart import MAX_LINES, MAX_OPTIONS, CartDraft, Finding, ItemLine, LineDraft, NotOnMenuLine
from schemas.evidence import Evidence, Mention, OptionEvidence
from schemas.menu import Menu
from schemas.sentences.sentences import sentences
from schemas.transcript import Transcript
from schemas.wording import begun, percent
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
    say = sentences(evidence.menu.language)
    options: dict[tuple[str, str], list[OptionEvidence]] = {}
    for open_one in evidence.options:
        options.setdefault((open_one.group, open_one.id), []).append(open_one)
    for index, line in enumerate(draft.lines):
        if not isinstance(line, ItemLine):
            continue
        called = line_called(line, evidence.menu)
        if line.sku not in evidence.items:
            yield Finding.blocking("item_unsaid", say("item_unsaid", item=called), index)
        if line.size is not None and line.size not in evidence.sizes:
            message = say("size_unsaid_value", item=called, size=size_called(line.size, evidence.menu))
            yield Finding.blocking("size_unsaid_value", message, index)
        if line.quantity not in evidence.quantities:
            message = say("quantity_unsaid", count=line.quantity, item=called)
            yield Finding.blocking("quantity_unsaid", message, index)
        for option in line.options:
            known = options.get((option.group, option.id), [])
            if not any(option.amount in k.amounts and option.count in k.counts for k in known):
                name = option_name(option.group, option.id, evidence.menu, option.amount)
                message = say("option_unsaid", option=name, item=called)
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
                    ask = which_item(index, line, named.ids, evidence.menu) if named.kind == "item" else None
                    message = sentences(evidence.menu.language)("vague_name", words=named.text)
                    yield Finding.blocking("vague_name", message, index, ask)


def _unused(draft: CartDraft, evidence: Evidence) -> Iterator[Finding]:
    say, used = sentences(evidence.menu.language), _used(draft)
    elsewhere = " ".join(line.heard for line in draft.lines if isinstance(line, NotOnMenuLine))
    places: dict[tuple[int, int], list[Mention]] = {}
    for mention in evidence.mentions:
        places.setdefault((mention.start, mention.end), []).append(mention)
    for readings in places.values():
        # The same words may name an item and an option of another; one use of them is enough.
        accounted = any(_refs(mention) & used[mention.kind] for mention in readings)
        text, clear = readings[0].text, any(mention.score >= PART for mention in readings)
        if clear and not accounted and text not in elsewhere:
            yield Finding.blocking("heard_but_missing", say("heard_but_missing", words=text))
    elsewhere_words = elsewhere.split()
    lost = [word for word in evidence.unexplained if not any(word in w for w in elsewhere_words)]
    if lost:
        words = listed(lost, language=evidence.menu.language)
        yield Finding.blocking("unexplained_words", say("unexplained_words", words=words))


def _used(draft: CartDraft) -> dict[str, set[object]]:
    """What the cart has of each kind of mention."""
    lines = [line for line in draft.lines if isinstance(line, ItemLine)]
    return {
        "item": {line.sku for line in lines},
        "size": {line.size for line in lines},
        "option": {(o.group, o.id) for line in lines for o in line.options},
    }


def _numbers(draft: CartDraft, evidence: Evidence) -> Iterator[Finding]:
    say = sentences(evidence.menu.language)
    for number in idle_numbers(draft, evidence):
        message = say("number_unused", number=number, spelled=begun(say.spelled(number)))
        yield Finding.blocking("number_unused", message)


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
            message = sentences(evidence.menu.language)("unclear_which", option=name)
            yield Finding.blocking("unclear_which", message)


def open_ends(evidence: Evidence) -> Iterator[Finding]:
    """Ways of speaking that no rule reads; the model's guess at them may be right, but nobody can tell."""
    menu, say = evidence.menu, sentences(evidence.menu.language)
    full = [line.anchor for line in evidence.lines if line.overfull(menu)]
    ways: dict[str, tuple[object, dict[str, object]]] = {
        "too_many_options": (full, {"most": MAX_OPTIONS}),
        "taken_back": (evidence.corrected, {}),
        "unclear_split": (evidence.shared, {}),
        "asked_about": (evidence.asked, {}),
        "weighed": (evidence.weighed, {}),
        "said_likewise": (evidence.likewise, {}),
        "too_many_lines": (evidence.crowded, {"most": MAX_LINES}),
        "said_twice": (evidence.repeated, {"words": evidence.repeated}),
    }
    found = [Finding.blocking(code, say(code, **values)) for code, (so, values) in ways.items() if so]
    yield from found
    left = [line.anchor for line in evidence.lines if not line.settled(menu)]
    if not found and left:
        named = listed(dict.fromkeys(left), language=menu.language) if all(left) else ""
        yield Finding.blocking("left_open", say("left_open", what=named or say("the_order")))


def _refs(mention: Mention) -> set[object]:
    if mention.kind == "option":
        return set(zip(mention.groups, mention.ids, strict=True))
    return set(mention.ids)


def check_quiet(transcript: Transcript) -> list[Finding]:
    """Words beside the order that were said too quietly to be heard with it: the end of it by a voice that
    drops, or somebody else in the room. Nobody but a human can tell, who listens."""
    if not transcript.quiet:
        return []
    message = sentences(transcript.language)("heard_quietly", words=transcript.quiet)
    return [Finding.blocking("heard_quietly", message)]


def check_hearing(transcript: Transcript, floor: float, words_alone: bool = False) -> list[Finding]:
    """Words that were only understood once the menu's own were listened for: a doubt, unless the first
    hearing was unsure of its own words and they sound like those that took their place, or a second
    recogniser, which knew nothing of the menu, came to the same order. The former only where the first
    hearing as a whole was at the `floor` (ASR confidence, 0..1) or over it: of others that was not measured.
    Nor was either in every language: there it stays a doubt. No doubt of its own where the `words_alone` are
    in doubt."""
    if transcript.first_heard is None:
        return []
    first, say = transcript.first_heard, sentences(transcript.language)
    alike = transcript.alike is not None and transcript.alike >= ALIKE
    plain = (
        transcript.confidence if transcript.first_confidence is None else transcript.first_confidence
    ) >= floor
    mended = plain and alike and transcript.overruled is not None and transcript.overruled < SURE
    if measured(transcript.language) and (mended or transcript.agreed or words_alone):
        return [Finding.info("heard_again", say("heard_again", first=first))]
    return [Finding.blocking("heard_again", say("heard_again_asked", words=transcript.text, first=first))]


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
            detail=f"Line {index + 1}: {percent(sure)} sure of {_called(name)}",
        )
        for sure, index, name in doubtful
        if name != "heard" or index not in in_part
    ]


def _asked(name: str, line: LineDraft, menu: Menu) -> str:
    """Whether a value was heard rightly, as the customer is asked."""
    called, say = line_called(line, menu), sentences(menu.language)
    if name == "quantity":
        return say("doubtful_quantity", count=line.quantity, item=called)
    if name == "heard" or not isinstance(line, ItemLine):
        return say("doubtful_words", words=quoted(line.heard))
    if name == "size":
        size = size_called(line.size, menu) if line.size is not None else say("a_size")
        return say("doubtful_size", size=size, item=called)
    chosen = next((o for o in line.options if name == f"options/{o.group}/{o.id}"), None)
    if chosen is not None:
        called = quoted(option_name(chosen.group, chosen.id, menu, chosen.amount))
    return say("doubtful_words", words=called)


def _called(name: str) -> str:
    """Return a field's name for reviewers: `options/milk/oat` is "the option oat"."""
    if name.startswith("options/"):
        return f"the option {name.rpartition('/')[2]}"
    return f"the {({'sku': 'item', 'heard': 'words'}).get(name, name)}"
