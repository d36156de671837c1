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

from typing import Any

import structlog

from schemas.cart import CartDraft
from schemas.compare import canonical_draft
from schemas.errors import DecodeCancelled, EngineError, Unreadable
from schemas.evidence import Evidence
from schemas.transcript import Transcript
from services.checks.confidence import least_sure
from services.checks.two_carts import only_words
from services.checks.two_readers import Agreement, compare, guessed
from services.hearing.second_recogniser import same_names
from services.pipeline.ports import Tools
from services.reading.order import read_order

log = structlog.get_logger()

BORNE_OUT, READ_ALIKE = "borne_out", "read_alike"


def other_words(
    agreement: Agreement, evidence: Evidence, transcript: Transcript, tools: Tools
) -> dict[str, Any]:
    """What an order keeps of what the second recogniser's words are read as: `borne_out` where both readers
    come to the cart of a settled `agreement` from them too, `read_alike` where one in doubt may be put to
    its customer since the hearing makes no difference to the question, or neither.

    Neither where that would spare nothing: both heard the same already, a human looks at the hearing as a
    whole, every field was heard surely enough, or nobody can be asked. A reader that fails at the other
    words leaves the doubt.

    Raises:
        DecodeCancelled: as `CartDecoder.read`.
    """
    if not _worth_reading(agreement, evidence, transcript, tools):
        return {}
    try:
        theirs = _read(transcript.witness or "", agreement, evidence, tools)
    except DecodeCancelled:
        raise
    except (EngineError, Unreadable):
        log.warning("decode.witness_unread", exc_info=True)
        return {}
    if theirs is None:
        return {}
    cart = canonical_draft(theirs.draft)
    if agreement.settled:
        return {BORNE_OUT: True} if theirs.settled and cart == canonical_draft(agreement.draft) else {}
    return {READ_ALIKE: True} if cart in map(canonical_draft, _shown(agreement)) else {}


def _worth_reading(agreement: Agreement, evidence: Evidence, transcript: Transcript, tools: Tools) -> bool:
    if transcript.agreed or not transcript.witness or transcript.agreement is None:
        return False
    if transcript.confidence < tools.asr_threshold:
        return False
    if not agreement.settled and not only_words(agreement.told, agreement.draft, evidence):
        return False
    return _hard_to_hear(agreement, evidence, transcript, tools)


def _read(witness: str, agreement: Agreement, evidence: Evidence, tools: Tools) -> Agreement | None:
    """What both readers come to from the other words; None where that could bear nothing out."""
    other = read_order(witness, evidence.menu, evidence.menu_version)
    if agreement.settled and not same_names(agreement.draft, evidence, other):
        return None
    reading = tools.learned_reader().read(other, tools.called_off, guessed(other))
    return compare(reading, other) if reading is not None else None


def _hard_to_hear(agreement: Agreement, evidence: Evidence, transcript: Transcript, tools: Tools) -> bool:
    if transcript.first_heard is not None:
        return not agreement.settled
    least = least_sure(agreement.draft, evidence, transcript)
    return least is not None and least < tools.field_threshold


def _shown(agreement: Agreement) -> list[CartDraft]:
    other = agreement.told.get("other")
    return [agreement.draft, *([CartDraft.model_validate(other)] if other else [])]
