"""The customer's own words for each line of a cart that was read without them.

Where the rules found the line's item, their words for it; else the words of the item's name, or of a wish
that nothing on the menu accounts for; else all that was said, as far as a line may hold it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from schemas.cart import MAX_HEARD_CHARS, CartDraft
from schemas.evidence import Evidence
from schemas.writable import whole_words
from services.reading.language.language import language_of
from services.reading.whole.own_words import own_words


def with_heard(lines: Iterable[dict[str, Any]], evidence: Evidence) -> CartDraft:
    """A draft of `lines`, each with a piece of the transcript; no piece twice while there is another."""
    used: set[str] = set()
    made = []
    for line in lines:
        sku = line.get("sku")
        words = _item_words(sku, evidence) if sku else [off.words for off in evidence.off_menu]
        fitting = [w for w in words if w and len(w) <= MAX_HEARD_CHARS]
        heard = next((w for w in fitting if w not in used), None) or next(iter(fitting), None)
        heard = heard or whole_words(evidence.transcript, MAX_HEARD_CHARS)
        used.add(heard)
        made.append({**line, "heard": heard})
    return CartDraft.model_validate({"lines": made})


def _item_words(sku: str, evidence: Evidence) -> list[str]:
    told = [line for line in evidence.lines if sku in line.items]
    words = [line.words or own_words(line, language_of(evidence.menu)) or line.anchor for line in told]
    return words + [mention.text for mention in evidence.mentions if sku in mention.ids]
