"""Align a cart with its transcript: the words of each line and note, and the words that are unused.

A line's words run from the first to the last mention of its values. If nothing mentions its item, they are
the whole transcript, as far as a line can hold it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from schemas.cart import DIETARY, MAX_HEARD_CHARS, CartDraft, Line, NoteDraft, NoteKind
from schemas.menus.nesting import source
from schemas.priced_cart import Cart, CartLine, CartNote, HeardSpan
from schemas.transcript import Transcript
from schemas.writable import whole_words
from services.retrieval.retrieval import Match, Mention, Number, Retrieval

Span = tuple[int, int]
Ref = tuple[str, str | None, str]
"""A name's kind, the group of an option, and the id."""


def aligned(
    lines: Sequence[Line],
    transcript: str,
    retrieval: Retrieval,
    notes: Iterable[NoteDraft] = (),
) -> CartDraft:
    """Return a draft of `lines`, each with its piece of the transcript. Lines not on the menu and `notes`
    have theirs already."""
    anchors, result = list(_anchors(lines, retrieval)), []
    for line, anchor in zip(lines, anchors, strict=True):
        words = line.get("heard") or transcript
        if anchor:
            words = transcript[slice(*_words(line, anchor, _zone(anchor, anchors), retrieval))]
        result.append({**line, "heard": whole_words(words, MAX_HEARD_CHARS)})
    return CartDraft.model_validate({"lines": result, "notes": tuple(notes)})


def _anchors(lines: Sequence[Line], retrieval: Retrieval) -> Iterator[Mention | None]:
    """Yield the mention of each line's item: preferably unused by earlier lines, a whole match, the first."""
    used: set[Span] = set()
    for line in lines:
        naming = _naming(("item", None, sku), retrieval) if (sku := line.get("sku")) else []
        free = [mention for mention in naming if (mention.start, mention.end) not in used]
        best = min(free or naming, key=lambda m: (m.match is not Match.WHOLE, m.start), default=None)
        if best is not None:
            used.add((best.start, best.end))
        yield best


def _zone(anchor: Mention, anchors: Sequence[Mention | None]) -> Span:
    """Return the span between the mentions of the previous and the next item."""
    before = [a.end for a in anchors if a is not None and a.end <= anchor.start]
    after = [a.start for a in anchors if a is not None and a.start >= anchor.end]
    return max(before, default=0), min(after, default=2**31)


def _naming(ref: Ref, retrieval: Retrieval) -> list[Mention]:
    return [m for m in retrieval.mentions if any((n.kind, n.group, n.id) == ref for n in m.names)]


def _words(line: Line, anchor: Mention, zone: Span, retrieval: Retrieval) -> Span:
    refs: list[Ref] = [("size", None, size)] if (size := line.get("size")) else []
    refs += [_option(option["group"], option["id"]) for option in line.get("options") or ()]
    near = [_nearest(_naming(ref, retrieval), anchor) for ref in refs]
    counts = [n for n in retrieval.numbers if n.value == line.get("quantity", 1) and n.end <= anchor.start]
    near.append(_nearest(counts, anchor))
    own = [anchor, *(one for one in near if one and zone[0] <= one.start and one.end <= zone[1])]
    return min(one.start for one in own), max(one.end for one in own)


def _option(group_id: str, option_id: str) -> Ref:
    group = source(group_id)
    return ("option", group, option_id) if group else ("size", None, option_id)


def _nearest(places: Sequence[Mention | Number], anchor: Mention) -> Mention | Number | None:
    return min(places, key=lambda p: max(anchor.start - p.end, p.start - anchor.end, 0), default=None)


def span_of(words: str, transcript: Transcript) -> HeardSpan:
    """Return the words with their times in the recording, if the transcript has them verbatim."""
    spoken = transcript.words_of(words)
    return HeardSpan(
        text=words,
        start_s=spoken[0].start_s if spoken else None,
        end_s=spoken[-1].end_s if spoken else None,
        utterance=transcript.utterance_at(transcript.text.find(words)),
    )


def notes_of(draft: CartDraft, transcript: Transcript) -> list[CartNote]:
    """Return a draft's notes for its cart: allergies first, each with the line that it follows."""
    lines = _places((line.heard for line in draft.lines), transcript.text)
    notes = zip(draft.notes, _places((note.heard for note in draft.notes), transcript.text), strict=True)
    return [
        CartNote(
            **span_of(note.heard, transcript).model_dump(), kind=note.kind, line=_line_of(note, place, lines)
        )
        for note, place in sorted(notes, key=lambda placed: list(NoteKind).index(placed[0].kind))
    ]


def _line_of(note: NoteDraft, place: int, lines: list[int]) -> int | None:
    """Return the index of the last line that begins before the note; None if there is none, or if the note
    is about the whole order."""
    before = [index for index, start in enumerate(lines) if 0 <= start <= place]
    if note.kind in DIETARY or not before:
        return None
    return max(before, key=lines.__getitem__)


def _places(pieces: Iterable[str], text: str) -> list[int]:
    """Return the index of each piece in `text`, or -1. A repeated piece gets its next occurrence, or the last
    one."""
    places: dict[str, int] = {}
    result = []
    for piece in pieces:
        last = places.get(piece, -1)
        again = text.find(piece, last + 1)
        places[piece] = last if again < 0 else again
        result.append(places[piece])
    return result


def unused_words(text: str, retrieval: Retrieval, cart: Cart) -> tuple[str, ...]:
    """Return the words of `text`, in order, that the menu doesn't explain or that name something not in the
    cart. Notes and lines not on the menu count as in the cart."""
    bought = {part for line in cart.lines for part in _parts(line)}
    spans = [
        (m.start, m.end) for m in retrieval.mentions if bought.isdisjoint((n.kind, n.id) for n in m.names)
    ]
    words = [text[start:end] for start, end in sorted([*spans, *retrieval.unexplained])]
    kept = [line.heard.text for line in cart.lines if line.sku is None] + [note.text for note in cart.notes]
    return tuple(word for word in words if not any(word in one for one in kept))


def _parts(line: CartLine) -> set[tuple[str, str | None]]:
    return {("item", line.sku), ("size", line.size), *(("option", option.id) for option in line.options)}
