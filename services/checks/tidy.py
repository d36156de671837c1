"""Tidy: drop what a draft says twice.

A small model sometimes adds a `not_on_menu` line for words that it has already used ("two espresso shots"
as an option, then as a wish of their own). Such an echo holds no word that is unaccounted for, and every
name in it stands in the cart; it asks nothing of a human. Anything else off the menu stays.
"""

from __future__ import annotations

from schemas.cart import CartDraft, ItemLine, NotOnMenuLine
from schemas.evidence import Evidence


def drop_echoes(draft: CartDraft, evidence: Evidence) -> tuple[CartDraft, int]:
    """The draft without echoes, and how many there were."""
    used: set[object] = set()
    for line in draft.lines:
        if isinstance(line, ItemLine):
            used |= {line.sku, line.size, *((o.group, o.id) for o in line.options)}
    kept = tuple(
        line
        for line in draft.lines
        if not (isinstance(line, NotOnMenuLine) and _is_echo(line.heard, evidence, used))
    )
    return draft.model_copy(update={"lines": kept}), len(draft.lines) - len(kept)


def _is_echo(heard: str, evidence: Evidence, used: set[object]) -> bool:
    if any(word in heard for word in evidence.unexplained):
        return False
    if evidence.plain:
        return True  # every word is accounted for, by a line that had to be there or by small talk
    named = [m for m in evidence.mentions if m.text in heard]
    return bool(named) and all(
        used & (set(zip(m.groups, m.ids, strict=True)) if m.kind == "option" else set(m.ids)) for m in named
    )
