"""Goes: what is left to be reached through `Language`."""

from __future__ import annotations

from services.reading.language.language import language

_EN = language("en")
SHARED = _EN.shared
LIKEWISE = _EN.likewise
FOR_WHOM = _EN.for_whom
PARTED = _EN.parted
REPLACING = _EN.replacing
WEAK_CUES = _EN.weak_cues
ADDING = _EN.adding
REMOVING = _EN.removing
SWAPPING = _EN.swapping
MAKING = _EN.making
SWAPS_FOR = _EN.swaps_for
INSTEAD_OF = _EN.instead_of
REFUSING = _EN.refusing
UNSURE = _EN.unsure
NEGATING = _EN.negating
KEEPING = _EN.keeping
PARTICLES = _EN.particles
WISHING = _EN.wishing
BETWEEN_CUES = _EN.between_cues
EACH = _EN.each
OF_EACH = _EN.of_each
THE_OTHER = _EN.the_other
THEIRS = _EN.theirs
AS_IT_IS = _EN.as_it_is
AGAIN = _EN.again
OTHER_WAY = _EN.other_way
ENOUGH = _EN.enough
ALIKE = _EN.alike
TOO_MUCH = _EN.too_much
ONE_OF = _EN.one_of
ONES = _EN.ones
TELLING = _EN.telling
NOTHING = _EN.nothing
POINTING = _EN.pointing
HALF_OF = _EN.half_of
ORDINALS = _EN.ordinals
ALL_BACK = _EN.all_back
ALL_OF_IT = _EN.all_of_it
ADDS = _EN.adds
