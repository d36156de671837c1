"""What a mask is, and how a machine that reads bytes becomes a mask over tokens.

Cost over 49,152 tokens: see docs/masking.md#what-it-costs.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol, TypeVar

import numpy as np

from schemas.errors import DecodeInvalid
from services.examples.by_hand.steps import Allowed
from services.examples.by_hand.tokens import Tokens

State = TypeVar("State", bound=Hashable)


class LogitMask(Protocol):
    """Follows one answer. A decode loop needs nothing else of a grammar."""

    def allowed(self) -> Allowed:
        """Shape (vocabulary,): may this token come next? The end token is among them where it `may_end`."""
        ...

    def advance(self, token: int) -> None:
        """`token` was taken. Raises DecodeInvalid for one that is not allowed."""
        ...

    def may_end(self) -> bool:
        """Is the text so far a whole answer?"""
        ...


class ByteMachine(Protocol[State]):
    """Reads an answer byte by byte. A state is a plain value, so that it can be kept and gone back to.

    From every state that a machine hands out some whole text can still be reached; else a mask made of it
    would lead into dead ends.
    """

    @property
    def start(self) -> State: ...

    def step(self, state: State, byte: int) -> State | None:
        """The state after `byte`, or None where no text goes on like this."""
        ...

    def accepts(self, state: State) -> bool:
        """Is the text that led here whole?"""
        ...


class Anything:
    """No mask: every token may come, always. What a bare prompt is decoded with."""

    def __init__(self, tokens: Tokens) -> None:
        self._allowed = np.ones(len(tokens.pieces), dtype=bool)

    def allowed(self) -> Allowed:
        return self._allowed

    def advance(self, token: int) -> None:
        """Anything goes."""

    def may_end(self) -> bool:
        return True


class ByteMask:
    """A byte machine lifted to tokens: a token may come if the machine can read all of its bytes.

    What was worked out for a state is kept in `seen`, which masks of the same machine may share: an automaton
    comes back to the same few states again and again.
    """

    def __init__(
        self, machine: ByteMachine[State], tokens: Tokens, seen: dict[Hashable, Allowed] | None = None
    ) -> None:
        self._machine: ByteMachine[Hashable] = machine  # type: ignore[assignment]  # its own states alone
        self._tokens = tokens
        self._seen = {} if seen is None else seen
        self.state: Hashable = machine.start
        self._ended = False

    def allowed(self) -> Allowed:
        if self._ended:
            return np.zeros(len(self._tokens.pieces), dtype=bool)
        if self.state not in self._seen:
            self._seen[self.state] = sorted_walk(self._machine, self.state, self._tokens)
        return self._seen[self.state]

    def advance(self, token: int) -> None:
        if token == self._tokens.end and self.may_end():
            self._ended = True
            return
        piece = self._tokens.pieces[token]
        after = walk(self._machine, self.state, piece) if piece and not self._ended else None
        if after is None:
            raise DecodeInvalid(
                f"Token {token} is not allowed here",
                hint="Take only tokens that `allowed` shows.",
                quoted=piece.decode(errors="replace"),
            )
        self.state = after

    def may_end(self) -> bool:
        return self._machine.accepts(self.state)


def walk(machine: ByteMachine[State], state: State, piece: bytes) -> State | None:
    """The state after all bytes of `piece`: one token may skip over many states."""
    here: State | None = state
    for byte in piece:
        here = machine.step(here, byte) if here is not None else None
    return here


def plain_walk(machine: ByteMachine[State], state: State, tokens: Tokens) -> Allowed:
    """The lesson itself: try every token from `state`, from its first byte to its last."""
    allowed = np.array([bool(piece) and walk(machine, state, piece) is not None for piece in tokens.pieces])
    allowed[tokens.end] = machine.accepts(state)
    return allowed


def sorted_walk(machine: ByteMachine[State], state: State, tokens: Tokens) -> Allowed:
    """The same set for fewer steps: with tokens sorted, the bytes that a token shares with the one before it
    were walked already. If those led nowhere, neither does this token."""
    allowed = np.zeros(len(tokens.pieces), dtype=bool)
    states = [state]  # after 0, 1, 2, … bytes of the piece in hand
    for token, piece, shared in tokens.in_order:
        del states[shared + 1 :]
        if len(states) <= shared:
            continue  # the piece before died within the shared bytes
        for byte in piece[shared:]:
            after = machine.step(states[-1], byte)
            if after is None:
                break
            states.append(after)
        allowed[token] = len(states) == len(piece) + 1
    allowed[tokens.end] = machine.accepts(state)
    return allowed
