"""An answer in the making: what the mask forces is written here, what it leaves open is asked for.

Of most of a cart the mask allows one text alone (brackets, keys, values that were plainly said). Decoded
token by token it would cost as much as a choice does. So the forced text goes in as the answer's beginning,
the model says a token where it may choose, and what follows by force is written again.

A beginning that ends inside a token leaves the model what it would never say: after `"vanilla ` there is no
` latte`. So it ends between a word and a sign, and what is cut off for that is said again, without a choice.
What is offered goes on past the choice to the end of a word, so that no token that would be said is masked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
from llguidance import LLMatcher, LLParserLimits

from schemas.errors import DecodeInvalid, DecodeTruncated
from services.decoding.mask import BYTES, Mask
from services.engines.masks.lark import exactly

TOKEN_BYTES = 8
"""What is offered goes on for this many bytes for each token asked for. Tokens that join signs of JSON have
up to five (`"},{"`)."""
MOST_TOKENS = 16
MOST_TEXTS = 200
"""Of more open texts than this a grammar grows costly, and few tokens are left to be saved."""
STEP_FUEL = 5_000_000
"""What one step of this process's own matcher may cost, in llguidance's count. Its default of 200,000 was not
enough where many spans of words are open: the matcher ended, and allowed nothing more."""
_LAST_RUN = re.compile(r"(?: ?\w+|[^\w\s]+|\s+)\Z")
_SIGNS = re.compile(r"[^\w\s]{2}\Z")


class TooOpen(Exception):
    """More may be said next than can be offered text by text; the whole is better decoded in one go."""


class Answer:
    """One answer under one mask, written as far as it is certain.

    `tokens` is how many to ask for next: one where a choice is followed by forced text, more in the midst of
    what is open for long (a span of words). `said` counts the bytes that a model said; they are kept as said.
    """

    def __init__(self, mask: Mask) -> None:
        limits = LLParserLimits(initial_lexer_fuel=STEP_FUEL, step_lexer_fuel=STEP_FUEL)
        self._matcher = LLMatcher(BYTES, mask.lark, limits=limits)
        self._text = b""
        self._said = 0
        self.tokens = 1
        self._write()
        self._cut = self._boundary()

    @property
    def whole(self) -> bool:
        """Whether nothing is left to ask for."""
        return bool(self._matcher.is_accepting())

    @property
    def text(self) -> str:
        return self._text.decode(errors="ignore")

    @property
    def beginning(self) -> str:
        """What goes in as the answer's beginning."""
        return self._text[: self._cut].decode()

    def offered(self) -> Mask:
        """The grammar of what may follow the beginning, as far as the next tokens can reach.

        Raises:
            TooOpen: there is no end of it, or it is more than the matcher here can follow.
        """
        while len(texts := self._next_texts()) > MOST_TEXTS:
            if self.tokens == 1:
                raise TooOpen
            self.tokens //= 2
        if not texts:
            raise TooOpen
        either = "|".join(exactly(text.decode()) for text in texts)
        lark = f"%llguidance {{}}\nstart: OFFERED\nOFFERED: /{either}/\n"
        return Mask(lark, "offered", max(map(len, texts)))

    def take(self, said: str) -> None:
        """Go on with what the model said after the beginning, one token or more.

        Raises:
            DecodeInvalid: it is not what was offered.
            DecodeTruncated: it is nothing, and this was the second time.
        """
        # A token may be a part of a character, which a server shows as a mark or keeps to itself.
        part = said.partition("\ufffd")[0].encode(errors="replace")
        if not part:
            if self.tokens == MOST_TOKENS:
                raise DecodeTruncated("The server said nothing more", quoted=self.beginning[-100:])
            self.tokens = MOST_TOKENS
            return
        owed = self._text[self._cut :]
        new = part[len(owed) :]
        same = min(len(owed), len(part))
        if part[:same] != owed[:same] or self._matcher.try_consume_tokens(list(new)) != len(new):
            quoted = f"{self.beginning}{said[:200]}"
            raise DecodeInvalid("The server's answer is outside the mask", quoted=quoted)
        self._text += new
        self._said = self._cut + len(part)
        self.tokens = 1 if self._write() or not new else min(2 * self.tokens, MOST_TOKENS)
        self._cut = self._boundary()

    def _next_texts(self) -> list[bytes]:
        owed = self._text[self._cut :]
        reached = _reached(self._matcher.deep_copy(), owed, len(owed) + TOKEN_BYTES * self.tokens)
        return list(islice(reached, MOST_TEXTS + 1))

    def _write(self) -> bool:
        """Write what is forced from here; whether there was any."""
        forced = _forced(self._matcher)
        self._text += forced
        return bool(forced)

    def _boundary(self) -> int:
        """Where the beginning ends, in bytes: the last place where a token surely ends, or where the model's
        own words do."""
        head = self._text.decode(errors="ignore")
        end = len(head.encode())
        follows = {_in_word(byte) for byte in _open(self._matcher)}
        if end == len(self._text) and (not head or _ends_token(head, follows)):
            return end
        run = _LAST_RUN.search(head)
        return max(self._said, len(head[: run.start()].encode()) if run else end)


def _ends_token(head: str, follows: set[bool]) -> bool:
    """Whether a tokenizer parts `head` from what may follow it; `follows` tells whether that is in a word."""
    if head[-1].isalnum():
        return follows == {False}
    return follows == {True} and bool(_SIGNS.search(head))


def _reached(matcher: LLMatcher, text: bytes, least: int) -> Iterator[bytes]:
    """Every text that may come now: to its end, or to the end of a word past `least` bytes."""
    text += _forced(matcher)
    if matcher.is_accepting() or (len(text) >= least and not _in_word(text[-1])):
        yield text
        return
    for byte in _open(matcher):
        here = matcher.deep_copy()
        here.consume_token(byte)
        yield from _reached(here, text + bytes([byte]), least)


def _forced(matcher: LLMatcher) -> bytes:
    """The only bytes that may come now, taken."""
    forced: bytes = matcher.compute_ff_bytes()
    matcher.consume_tokens(list(forced))
    return forced


def _open(matcher: LLMatcher) -> list[int]:
    bits = np.unpackbits(np.frombuffer(matcher.compute_bitmask(), np.uint8), bitorder="little")
    opened: Any = np.nonzero(bits[:256])[0]
    return [int(byte) for byte in opened]


def _in_word(byte: int) -> bool:
    return byte >= 0x80 or chr(byte).isalnum()
