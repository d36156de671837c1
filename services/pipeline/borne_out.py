"""What do the readers make of the words that the second recogniser heard?

Two recognisers seldom write the same words ("I'll have the latte", "I'd have a latte"), and where the rules
leave an order open they can't tell whether the difference matters. The readers can. Where the order is
settled, and the other words settle it on the same cart, no single word of it was heard wrongly in a way that
counts: it is borne out. Each item has to be named in the same words all the same, as where the rules compare:
readers mend what sounds like a name, for both hearings alike.

Where the readers are in doubt, the customer is to be asked what the words mean, and can be if that is all
there is to ask: if the other words are read as a cart that the question shows. Nothing is accepted by that,
so what a reader mends does no harm.

Asked only where some of it was hard to hear, since it costs a second reading.
"""

from __future__ import annotations

import structlog

from schemas.cart import CartDraft
from schemas.compare import canonical_draft
from schemas.decision import SecondTranscript
from schemas.errors import DecodeCancelled, EngineError, Unreadable
from schemas.evidence import Evidence
from schemas.transcript import Transcript
from services.checks.confidence import least_sure
from services.checks.two_carts import only_words
from services.checks.two_readers import Compared, compare, guessed
from services.hearing.second_recogniser import same_names
from services.pipeline.ports import Tools
from services.reading.order import read_order

log = structlog.get_logger()


def other_words(
    compared: Compared, evidence: Evidence, transcript: Transcript, tools: Tools
) -> SecondTranscript:
    """What the second recogniser's words are read as: `SAME_CART` where both readers come to the settled cart
    from them too, `SAME_QUESTION` where a cart in doubt may be put to its customer since the hearing makes no
    difference to the question.

    `UNUSED` where that would spare nothing: both heard the same already, a human looks at the hearing as a
    whole, every field was heard surely enough, or nobody can be asked. A reader that fails at the other
    words leaves the doubt.

    Raises:
        DecodeCancelled: as `CartDecoder.decode`.
    """
    if not _worth_reading(compared, evidence, transcript, tools):
        return SecondTranscript.UNUSED
    try:
        theirs = _read(transcript.witness or "", compared, evidence, tools)
    except DecodeCancelled:
        raise
    except (EngineError, Unreadable):
        log.warning("decode.witness_unread", exc_info=True)
        return SecondTranscript.UNUSED
    if theirs is None:
        return SecondTranscript.UNUSED
    cart = canonical_draft(theirs.draft)
    if compared.settled:
        same = theirs.settled and cart == canonical_draft(compared.draft)
        return SecondTranscript.SAME_CART if same else SecondTranscript.UNUSED
    shown = cart in map(canonical_draft, _shown(compared))
    return SecondTranscript.SAME_QUESTION if shown else SecondTranscript.UNUSED


def _worth_reading(compared: Compared, evidence: Evidence, transcript: Transcript, tools: Tools) -> bool:
    if transcript.agreed or not transcript.witness or transcript.agreement is None:
        return False
    if transcript.confidence < tools.asr_threshold:
        return False
    if not compared.settled and not only_words(compared.readings, compared.draft, evidence):
        return False
    return _hard_to_hear(compared, evidence, transcript, tools)


def _read(witness: str, compared: Compared, evidence: Evidence, tools: Tools) -> Compared | None:
    """What both readers come to from the other words; None where that could bear nothing out."""
    other = read_order(witness, evidence.menu, evidence.menu_version)
    if compared.settled and not same_names(compared.draft, evidence, other):
        return None
    return compare(tools.decoder().decode(other, tools.called_off, guessed(other)), other)


def _hard_to_hear(compared: Compared, evidence: Evidence, transcript: Transcript, tools: Tools) -> bool:
    if transcript.first_heard is not None:
        return not compared.settled
    least = least_sure(compared.draft, evidence, transcript)
    return least is not None and least < tools.field_threshold


def _shown(compared: Compared) -> list[CartDraft]:
    other = compared.readings.other
    return [compared.draft, *([other] if other is not None else [])]
