"""Hear a recording: fast where it is plain, else whole, and again where doubt is left: with its noise turned
down, and with the menu's words.

A fitted hearing (`Transcriber.transcribe_fitted`) stands where all of its words mean something on the menu
and its confidence is no doubt; what it leaves open is heard anew with the recogniser's whole context, as if
it had not been (ADR 28).

Where the whole hearing is in doubt and there is noise, the recording is heard with that turned down as well,
and the one stands of which more is understood; with as much, the first (ADR 28).

What was said too quietly for any of these is heard by itself, and a doubt (ADR 28).

A recogniser that is given the menu's words ahead of a recording invents orders out of silence and noise. But
where the first hearing made no sense in one place ("a medium roast double shot marker"), they settle most
such places rightly ("mocha"). So the second hearing only ever replaces a first one that has words in it which
nothing accounts for; it may not lose anything that the first one named; and its order goes to a human, with
what was heard first beside it, since a wish off the menu would sound like its nearest neighbour too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import SequenceMatcher

import jellyfish
from rapidfuzz import fuzz, process

from schemas.errors import Unreadable
from schemas.evidence import Evidence, Mention
from schemas.menu import Menu
from schemas.transcript import Transcript
from services.engines.ports import Recording, Transcriber
from services.reading.chart.tokens import folded, tokenize
from services.reading.effort import ORDER_STEPS, budget, charge
from services.reading.language.language import Language, language_of
from services.reading.names.alike import CELLS
from services.reading.order import read_order

# About 150 tokens; Whisper reads at most 223 of what is put before a recording.
MAX_HINTS = 48
_WIDEST = 3


@dataclass(frozen=True, slots=True)
class Heard:
    """A transcript, and what its words may mean; None where nothing was said, or where they were `unread`."""

    transcript: Transcript
    evidence: Evidence | None
    unread: Unreadable | None = None


def hear(
    recording: Recording, language: str, menu: Menu, menu_version: int, ears: Transcriber, *, floor: float
) -> Heard:
    """What is heard in a recording; the transcript's `first_heard` is filled when the second hearing replaced
    the first, and `quiet` where something was said too quietly to be heard with it. `floor`: the ASR
    confidence (0..1) from which a fitted hearing may stand.

    Raises: as `Transcriber.transcribe`.
    """
    heard = _hear(recording, language, menu, menu_version, ears, floor)
    if heard.transcript.nothing_was_said or not (quiet := ears.quiet_words(recording, language)):
        return heard
    return replace(heard, transcript=heard.transcript.model_copy(update={"quiet": quiet}))


def _hear(
    recording: Recording, language: str, menu: Menu, menu_version: int, ears: Transcriber, floor: float
) -> Heard:
    if (plain := _plain(recording, language, menu, menu_version, ears, floor)) is not None:
        return plain
    heard = _read(ears.transcribe(recording, language), menu, menu_version)
    if heard.evidence is None:
        return heard
    if heard.transcript.confidence < floor or is_doubtful(heard.evidence):
        quieter = ears.transcribe_denoised(recording, language)
        if quieter is not None:
            heard = clearer(heard, _read(quieter, menu, menu_version))
    first, evidence = heard.transcript, heard.evidence
    assert evidence is not None, "nothing that could not be read is clearer"
    if not is_doubtful(evidence):
        return heard
    try:
        again = ears.hear_again(recording, first, hints(evidence))
        other = None if again.nothing_was_said else read_order(again.text, menu, menu_version)
    except Unreadable:
        return heard  # what is more to read is no better
    if other is None or not _better(other, evidence):
        return heard
    alike, overruled = replaced(first, again, language_of(menu))
    told = {"first_heard": first.text, "first_confidence": first.confidence}
    told |= {"alike": alike, "overruled": overruled}
    return Heard(again.model_copy(update=told), other)


def _read(transcript: Transcript, menu: Menu, menu_version: int) -> Heard:
    if transcript.nothing_was_said:
        return Heard(transcript, None)
    try:
        return Heard(transcript, read_order(transcript.text, menu, menu_version))
    except Unreadable as error:
        return Heard(transcript, None, error)


def clearer(heard: Heard, quieter: Heard) -> Heard:
    """The hearing with its noise turned down where more of it is understood, with what was heard before it;
    else the one before."""
    if quieter.evidence is None or heard.evidence is None:
        return heard
    if understood(quieter.evidence) <= understood(heard.evidence):
        return heard
    told = quieter.transcript.model_copy(update={"with_noise": heard.transcript.text})
    return Heard(told, quieter.evidence)


def _plain(
    recording: Recording, language: str, menu: Menu, menu_version: int, ears: Transcriber, floor: float
) -> Heard | None:
    """What a fitted hearing makes of a recording that is plain to hear; None for any other."""
    heard = ears.transcribe_fitted(recording, language)
    if heard is None or heard.nothing_was_said or heard.confidence < floor:
        return None
    try:
        evidence = read_order(heard.text, menu, menu_version)
    except Unreadable:
        return None
    return None if is_doubtful(evidence) else Heard(heard, evidence)


def replaced(first: Transcript, again: Transcript, language: Language) -> tuple[float | None, float | None]:
    """How much the words that a second hearing replaced sound like those in their place (0..1, the least
    alike place), and the probability of the surest place among them; None without words to compare."""
    if not first.words or not again.words:
        return None, None
    before, after = (
        ["".join(folded(word.text, language)) for word in heard.words] for heard in (first, again)
    )
    alike, overruled = 1.0, 0.0
    for kind, i, j, k, m in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal" or (kind == "insert" and language.fillers.issuperset(after[k:m])):
            continue  # "thank you", which it likes to hear at the end
        said, meant = (
            "".join(word for word in words if word not in language.fillers)
            for words in (before[i:j], after[k:m])
        )
        # A short name sounds much like a longer one that only begins with it.
        short, long = sorted((len(said), len(meant)))
        alike = min(alike, fuzz.ratio(_sound(said), _sound(meant)) / 100, short / max(long, 1))
        overruled = max(overruled, min((word.probability for word in first.words[i:j]), default=0.0))
    return alike, overruled


def hints(evidence: Evidence) -> tuple[str, ...]:
    """Names of the menu to listen for, the likeliest last, where the recogniser minds them most.

    Likeness is of sound, to the words that nothing accounts for; all words, where no item was named.

    Raises:
        Unreadable: as `read_order`.
    """
    names, language = names_of(evidence.menu), language_of(evidence.menu)
    words = [token.folded for token in tokenize(evidence.transcript, language)]
    odd = {token.folded for word in evidence.unexplained for token in tokenize(word, language)} or set(words)
    windows = [
        _sound("".join(words[i:j]))
        for i in range(len(words))
        for j in range(i + 1, min(i + _WIDEST, len(words)) + 1)
        if odd.intersection(words[i:j])
    ]
    with budget(ORDER_STEPS, "these words over this menu"):
        charge(len(names) * (1 + len(windows) // CELLS))
    likeness = process.cdist([_sound(name) for name in names], windows, scorer=fuzz.ratio).max(axis=1)
    ranked = sorted(range(len(names)), key=lambda n: likeness[n])
    return tuple(names[n] for n in ranked[-MAX_HINTS:])


def names_of(menu: Menu) -> list[str]:
    """Every name of an item, an option or a size, once."""
    items = [item.name for item in menu.items]
    options = [option.name for group in menu.option_groups for option in group.options]
    return list(dict.fromkeys([*items, *options, *(size.name for size in menu.sizes)]))


def is_doubtful(evidence: Evidence) -> bool:
    return bool(evidence.unexplained) or not evidence.lines


def _better(again: Evidence, first: Evidence) -> bool:
    """Whether more is understood, and nothing lost but what stood right beside the doubtful words."""
    named = {(m.kind, m.ids) for m in again.mentions}
    kept = all((m.kind, m.ids) in named for m in _sure(first) if not _beside_odd(m, first))
    return kept and understood(again) > understood(first)


def understood(evidence: Evidence) -> tuple[int, int]:
    """How well the menu explains what was heard, more being better: words that nothing accounts for, counted
    down, then names."""
    return -len(evidence.unexplained), len(_sure(evidence))


def _sure(evidence: Evidence) -> list[Mention]:
    return [m for m in evidence.mentions if m.strong and not m.guessed]


def _beside_odd(mention: Mention, evidence: Evidence) -> bool:
    """The "medium" of "a medium-ro mocha" was part of what was not understood."""
    before = evidence.transcript[: mention.start].split()[-1:]
    after = evidence.transcript[mention.end :].split()[:1]
    return any(odd in word for odd in evidence.unexplained for word in (*before, *after))


def _sound(words: str) -> str:
    return jellyfish.metaphone(words.replace(" ", "").replace("ch", "k"))
