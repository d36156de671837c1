"""Which words of the transcript each line of a cart rests on, where lines and notes stand in it, and which
words the cart leaves unused.

A line rests on the words from the first to the last of its values'; where none names its item, on all of
them, as far as a line may hold it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from schemas.cart import DIETARY, MAX_HEARD_CHARS, CartDraft, Line, NoteDraft, NoteKind
from schemas.menu import Menu
from schemas.menus.nesting import source
from schemas.priced_cart import Cart, CartLine, CartNote, HeardSpan
from schemas.transcript import Transcript
from schemas.writable import whole_words
from services.retrieval.names import names_of
from services.retrieval.retrieval import Match, Mention, Number, Retrieval, retrieve

Span = tuple[int, int]
Ref = tuple[str, str | None, str]
"""A name's kind, the group of an option, and the id."""


def aligned(
    lines: Sequence[Line],
    transcript: str,
    found: Retrieval,
    notes: Iterable[NoteDraft] = (),
) -> CartDraft:
    """A draft of `lines`, each with a piece of the transcript; `found` is what retrieval found in it. The
    words of a wish off the menu, and of `notes`, are pieces of it already."""
    anchors, made = list(_anchors(lines, found)), []
    for line, anchor in zip(lines, anchors, strict=True):
        words = line.get("heard") or transcript
        if anchor:
            words = transcript[slice(*_words(line, anchor, _zone(anchor, anchors), found))]
        made.append({**line, "heard": whole_words(words, MAX_HEARD_CHARS)})
    return CartDraft.model_validate({"lines": made, "notes": tuple(notes)})


def _anchors(lines: Sequence[Line], found: Retrieval) -> Iterator[Mention | None]:
    """For each line the place that names its item: the surest that no earlier line has, then the first."""
    used: set[Span] = set()
    for line in lines:
        naming = _naming(("item", None, sku), found) if (sku := line.get("sku")) else []
        free = [mention for mention in naming if (mention.start, mention.end) not in used]
        best = min(free or naming, key=lambda m: (m.match is not Match.WHOLE, m.start), default=None)
        if best is not None:
            used.add((best.start, best.end))
        yield best


def _zone(anchor: Mention, anchors: Sequence[Mention | None]) -> Span:
    """Between the names of the items before and behind."""
    before = [a.end for a in anchors if a is not None and a.end <= anchor.start]
    behind = [a.start for a in anchors if a is not None and a.start >= anchor.end]
    return max(before, default=0), min(behind, default=2**31)


def _naming(ref: Ref, found: Retrieval) -> list[Mention]:
    return [m for m in found.mentions if any((n.kind, n.group, n.id) == ref for n in m.names)]


def _words(line: Line, anchor: Mention, zone: Span, found: Retrieval) -> Span:
    refs: list[Ref] = [("size", None, size)] if (size := line.get("size")) else []
    refs += [_option(option["group"], option["id"]) for option in line.get("options") or ()]
    near = [_nearest(_naming(ref, found), anchor) for ref in refs]
    # The numbers before an item that are its quantity.
    counts = [n for n in found.numbers if n.value == line.get("quantity", 1) and n.end <= anchor.start]
    near.append(_nearest(counts, anchor))
    own = [anchor, *(one for one in near if one and zone[0] <= one.start and one.end <= zone[1])]
    return min(one.start for one in own), max(one.end for one in own)


def _option(group_id: str, option_id: str) -> Ref:
    group = source(group_id)
    return ("option", group, option_id) if group else ("size", None, option_id)


def _nearest(places: Sequence[Mention | Number], anchor: Mention) -> Mention | Number | None:
    return min(places, key=lambda p: max(anchor.start - p.end, p.start - anchor.end, 0), default=None)


def span_of(words: str, transcript: Transcript) -> HeardSpan:
    """The words with their times in the recording, where they stand in the transcript like this."""
    said = transcript.words_of(words)
    return HeardSpan(
        text=words,
        start_s=said[0].start_s if said else None,
        end_s=said[-1].end_s if said else None,
        utterance=transcript.utterance_at(transcript.text.find(words)),
    )


def notes_of(draft: CartDraft, transcript: Transcript) -> list[CartNote]:
    """The notes of a draft as its cart has them: allergies first, each with the line that it follows."""
    lines = _places((line.heard for line in draft.lines), transcript.text)
    notes = zip(draft.notes, _places((note.heard for note in draft.notes), transcript.text), strict=True)
    return [
        CartNote(
            **span_of(note.heard, transcript).model_dump(), kind=note.kind, line=_line_of(note, place, lines)
        )
        for note, place in sorted(notes, key=lambda placed: list(NoteKind).index(placed[0].kind))
    ]


def _line_of(note: NoteDraft, place: int, lines: list[int]) -> int | None:
    """The index of the line whose words begin last before the note's; None where there is none, and of what
    is about the whole order."""
    before = [index for index, start in enumerate(lines) if 0 <= start <= place]
    if note.kind in DIETARY or not before:
        return None
    return max(before, key=lines.__getitem__)


def _places(pieces: Iterable[str], text: str) -> list[int]:
    """Where each piece begins in `text`, -1 where it does not stand there; the same piece again is looked for
    behind the first, and stands with it where there is no other."""
    places: dict[str, int] = {}
    found = []
    for piece in pieces:
        again = text.find(piece, places[piece] + 1) if places.get(piece, -1) >= 0 else text.find(piece)
        places[piece] = again if again >= 0 else places.get(piece, -1)
        found.append(places[piece])
    return found


def unused_words(text: str, menu: Menu, cart: Cart) -> tuple[str, ...]:
    """Return the words of `text` that nothing on the menu explains, or whose names the cart doesn't have, in
    their order; words of a note or of a line that is not on the menu are in the cart."""
    found = retrieve(text, names_of(menu))
    bought = {part for line in cart.lines for part in _parts(line)}
    spans = [(m.start, m.end) for m in found.mentions if bought.isdisjoint((n.kind, n.id) for n in m.names)]
    words = [text[start:end] for start, end in sorted([*spans, *found.unexplained])]
    kept = [line.heard.text for line in cart.lines if line.sku is None] + [note.text for note in cart.notes]
    return tuple(word for word in words if not any(word in one for one in kept))


def _parts(line: CartLine) -> set[tuple[str, str | None]]:
    return {("item", line.sku), ("size", line.size), *(("option", option.id) for option in line.options)}
