"""Goes: what is left to be reached through `Language`."""

from __future__ import annotations

from services.reading.language.language import language

_EN = language("en")
ASKED = _EN.asked
WEIGHED = _EN.weighed
TALE = _EN.tale
IDLE_TALK = _EN.idle_talk
BEFORE_ASKING = _EN.before_asking
REQUESTING = _EN.requesting
ASSENT = _EN.assent
ASKING = _EN.asking
