"""Ask a second recogniser, another model, where the first was not sure of an order.

It hears the recording with open ears: no names of the menu, nothing of what the first one heard. Two models
that hear the same words, or come to the same order by themselves, are evidence; how much is measured
(`docs/confidence.md`). It only ever settles a doubt about the hearing. A second hearing with the menu's words
that it bears out keeps the first hearing's confidence: two doubts at once still go to a human. Where the
words differ and the rules leave an order open, the learned reader reads the other words too
(`services/pipeline/borne_out.py`).

A fitted hearing that agrees is enough; one that does not counts for nothing (ADR 28).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import structlog
from rapidfuzz.distance import Levenshtein

from schemas.cart import CartDraft, ItemLine
from schemas.compare import canonical_draft
from schemas.errors import Unreadable
from schemas.evidence import Evidence
from schemas.menu import Menu
from schemas.transcript import Transcript
from services.checks.confidence import least_sure
from services.checks.one_cart import undoubted_cart
from services.engines.ports import Recording, Transcriber
from services.hearing.second_hearing import Heard
from services.reading.chart.tokens import folded
from services.reading.language.language import language_of, measured
from services.reading.order import read_order

log = structlog.get_logger()

# Where no field's confidence can be told: of 675 hearings of real people that left one cart, none from here
# on had a field under its threshold.
SURE = 0.9
# Of the words of two hearings that come to one cart: of 176 such pairs of real people's orders, clean and in
# noise, 1 is further apart, and right; the wrong cart that the bench of the claim accepted is, too.
MOST_APART = 1 / 3


def with_witness(
    recording: Recording,
    heard: Heard,
    menu: Menu,
    menu_version: int,
    second: Callable[[], Transcriber | None],
    agreement: Callable[[str, str, float], float | None],
    *,
    floor: float,
    field_threshold: float,
) -> Heard:
    """`heard`, its transcript with what the second recogniser heard where it was asked, and whether they
    agree.

    `second` gives the recogniser, None for none; `agreement` the measured share (0..1) of right orders where
    two recognisers agree, by their `source` and the confidence of the first, None where it was not measured:
    then nothing is gained. It is not asked about a cart that the words leave where nothing is in doubt: the
    confidence is the `floor` or more, that of each field `field_threshold`. It is asked about orders that the
    rules leave open as well: the trained reader may settle them.
    Whatever goes wrong with the second recogniser is logged, and the doubt stays.
    """
    first, evidence = heard.transcript, heard.evidence
    if not measured(first.language) or evidence is None:
        return heard
    cart = undoubted_cart(evidence)
    if (
        cart is not None
        and first.first_heard is None
        and _sure(cart, evidence, first, floor, field_threshold)
    ):
        return heard
    told: dict[str, Any] = {}
    for witness in _heard_by(second, recording, first.language):
        share = agreement(first.recogniser, witness.recogniser, first.confidence)
        told = {"witness": witness.text, "agreement": share}
        if share is not None and same_order(evidence, _read(witness.text, menu, menu_version)):
            sure = first.confidence if first.first_heard is not None else max(first.confidence, share)
            told |= {"agreed": True, "confidence": sure}
            break
        if share is not None and same_words(first.text, witness.text, menu):
            told |= {"agreed": True}  # measured for single fields alone: under the floor a human looks
            break
    return replace(heard, transcript=first.model_copy(update=told)) if told else heard


def _sure(
    cart: CartDraft, evidence: Evidence, heard: Transcript, floor: float, field_threshold: float
) -> bool:
    """Whether there is no doubt about the hearing that agreement could settle."""
    least = least_sure(cart, evidence, heard)
    if least is None:
        return heard.confidence >= SURE
    return heard.confidence >= floor and least >= field_threshold


def _read(text: str, menu: Menu, menu_version: int) -> Evidence | None:
    try:
        return read_order(text, menu, menu_version)
    except Unreadable:
        return None


def same_words(one: str, other: str, menu: Menu) -> bool:
    """Whether two hearings are the same words but for how they are written (case, pauses, digits): then what
    they mean is no question of the hearing."""
    language = language_of(menu)
    return folded(one, language) == folded(other, language)


def same_order(one: Evidence, other: Evidence | None) -> bool:
    """Whether the words of both leave one cart, the same one, and name its items in the same words; not
    where the `other` could not be read, nor where they are mostly other words.

    The same words, since matching mends what sounds like a name: "Americino" and "Americano" come to one
    cart, though the two did not hear the same (it was a marocchino). And of all words no more than
    `MOST_APART` may differ: "one hot dog now makes its way" and "one hot dog now make it to him" come to one
    cart as well, and what was said is "one hot dog, no, make it two".
    """
    if other is None:
        return False
    carts = [undoubted_cart(evidence) for evidence in (one, other)]
    if None in carts or apart(one, other) > MOST_APART:
        return False
    return canonical_draft(carts[0]) == canonical_draft(carts[1]) and _named(one) == _named(other)


def apart(one: Evidence, other: Evidence) -> float:
    """The share of words (0..1, of the longer hearing) that differ between two hearings."""
    words = [folded(each.transcript, language_of(each.menu)) for each in (one, other)]
    return float(Levenshtein.normalized_distance(*words))


def same_names(draft: CartDraft, one: Evidence, other: Evidence) -> bool:
    """Whether both hearings name each item of a cart in the same words; not where one does not name it."""
    wanted = {line.sku for line in draft.lines if isinstance(line, ItemLine)}
    return all(_names_of(sku, one) & _names_of(sku, other) for sku in wanted)


def _names_of(sku: str, evidence: Evidence) -> set[tuple[str, ...]]:
    language = language_of(evidence.menu)
    return {folded(m.text, language) for m in evidence.mentions if m.kind == "item" and sku in m.ids}


def _named(evidence: Evidence) -> Counter[tuple[str, ...]]:
    language = language_of(evidence.menu)
    return Counter(folded(line.anchor, language) for line in evidence.lines)


def _heard_by(
    second: Callable[[], Transcriber | None], recording: Recording, language: str
) -> Iterator[Transcript]:
    """What it hears: fitted, where that was measured, and then whole, for whoever goes on asking."""
    try:
        if (ears := second()) is None:
            return
        if (fitted := ears.transcribe_fitted(recording, language)) is not None:
            yield fitted
        yield ears.transcribe(recording, language)
    except Exception:
        # Weights that are not there, memory, a recording: the first hearing stands as it is.
        log.warning("transcribe.second_failed", exc_info=True)
