"""Does what the second recogniser heard come to the same cart, read by both readers?

Two recognisers seldom write the same words ("I'll have the latte", "I'd have a latte"), and where the rules
leave an order open they can't tell whether the difference matters. Both readers can: where the rules or the
learned reader settle either hearing, and on one cart, no single word of it was heard wrongly in a way that
counts. Each item has to be named in the same words all the same, as where the rules compare: readers mend
what sounds like a name, for both hearings alike. Asked only where a field was not heard surely enough, since
it costs a second reading.
"""

from __future__ import annotations

import structlog

from schemas.compare import canonical_draft
from schemas.errors import DecodeCancelled, EngineError, Unreadable
from schemas.evidence import Evidence
from schemas.transcript import Transcript
from services.checks.confidence import least_sure
from services.checks.two_readers import Agreement, compare, guessed
from services.hearing.second_recogniser import same_names
from services.pipeline.ports import Tools
from services.reading.order import read_order

log = structlog.get_logger()


def borne_out(agreement: Agreement, evidence: Evidence, transcript: Transcript, tools: Tools) -> bool:
    """Whether both readers come to the cart of `agreement` from the second recogniser's words too.

    False where that would spare nothing: both heard the same already, the readers are in doubt themselves, a
    human looks at the hearing as a whole, or every field was heard surely enough. A reader that fails at the
    other words leaves the doubt.

    Raises:
        DecodeCancelled: as `CartDecoder.read`.
    """
    if transcript.agreed or not transcript.witness or transcript.agreement is None:
        return False
    if not agreement.settled or transcript.confidence < tools.asr_threshold:
        return False
    least = least_sure(agreement.draft, evidence, transcript)
    if least is None or least >= tools.field_threshold:
        return False
    try:
        other = read_order(transcript.witness, evidence.menu, evidence.menu_version)
        if not same_names(agreement.draft, evidence, other):
            return False
        reading = tools.learned_reader().read(other, tools.called_off, guessed(other))
    except DecodeCancelled:
        raise
    except (EngineError, Unreadable):
        log.warning("decode.witness_unread", exc_info=True)
        return False
    if reading is None:
        return False
    theirs = compare(reading, other)
    return theirs.settled and canonical_draft(theirs.draft) == canonical_draft(agreement.draft)
