"""Tables for people: an automaton's states, the tokens that one state lets through, and a decode."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from services.examples.by_hand.automaton import Automaton
from services.examples.by_hand.decode import Step
from services.examples.by_hand.masks import sorted_walk, walk
from services.examples.by_hand.tokens import Tokens


def states(machine: Automaton) -> Iterator[str]:
    """A line for each state: where each set of bytes leads. An accepting one has a star."""
    for number, moves in enumerate(machine.moves):
        by_target: dict[int, list[int]] = {}
        for byte, target in moves.items():
            by_target.setdefault(target, []).append(byte)
        ways = [f"{_set(group)} → {target}" for target, group in by_target.items()]
        star = "*" if machine.accepts(number) else " "
        yield f"{number:>4}{star} {',  '.join(ways) or 'nothing may follow'}"


def survivors(machine: Automaton, state: int, tokens: Tokens, most: int = 20) -> Iterator[str]:
    """What is left of the vocabulary in `state`, the longest tokens first, and the states each skips over."""
    allowed = sorted_walk(machine, state, tokens)
    left = [int(token) for token in allowed.nonzero()[0]]
    yield f"state {state}: {len(left)} of {len(tokens.pieces):,} tokens may come"
    for token in sorted(left, key=lambda t: (-len(tokens.pieces[t]), t))[:most]:
        if token == tokens.end:
            yield f"{token:>7}  (the end)"
            continue
        piece = tokens.pieces[token]
        passed = [walk(machine, state, piece[:length]) for length in range(len(piece) + 1)]
        yield f"{token:>7}  {_piece(piece):<14} {' → '.join(map(str, passed))}"
    if len(left) > most:
        yield f"         … and {len(left) - most:,} more"


def decoded(steps: Iterable[Step], tokens: Tokens) -> Iterator[str]:
    """A line for each token taken: what the model wanted, whether the mask allowed it, what was taken."""
    yield "  the model wants          allowed?  legal probability   choices  taken"
    for step in steps:
        wanted = f"{_token(step.favourite, tokens):<16} {step.favourite_probability:>6.1%}"
        answer = "yes" if step.favourite_allowed else "no"
        legal = f"{step.legal:.1%}" if step.legal >= 0.0005 else f"{step.legal:.0e}"
        yield f"  {wanted}  {answer:<8}  {legal:>17}  {step.choices:>8,}  {_token(step.taken, tokens)}"


def _token(token: int, tokens: Tokens) -> str:
    return "(the end)" if token == tokens.end else _piece(tokens.pieces[token]) or f"(control {token})"


def _piece(piece: bytes) -> str:
    """As in a Python program, so that spaces and single bytes are seen."""
    try:
        return repr(piece.decode())
    except UnicodeDecodeError:
        return repr(piece)


def _set(group: list[int]) -> str:
    """Bytes as ranges: `0-9`, `-`, `C2-DF` for those that are no printable sign."""
    spans: list[list[int]] = []
    for byte in sorted(group):
        if spans and spans[-1][1] == byte - 1:
            spans[-1][1] = byte
        else:
            spans.append([byte, byte])
    return " ".join(_sign(a) if a == b else f"{_sign(a)}-{_sign(b)}" for a, b in spans)


def _sign(byte: int) -> str:
    return chr(byte) if 0x21 <= byte <= 0x7E else f"{byte:02X}"
