"""Was every value of the draft heard surely enough?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from schemas.cart import CartDraft, Finding, ItemLine, LineDraft
from schemas.menu import Menu
from schemas.sentences.sentences import sentences
from schemas.transcript import Transcript
from schemas.wording import percent
from services.validation.naming import line_called, option_name, quoted, size_called


def check_quiet(transcript: Transcript) -> list[Finding]:
    """Words beside the order that were said too quietly to be heard with it: the end of it by a voice that
    drops, or somebody else in the room. Nobody but a human can tell, who listens."""
    if not transcript.quiet:
        return []
    message = sentences(transcript.language)("heard_quietly", words=transcript.quiet)
    return [Finding.blocking("heard_quietly", message)]


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
