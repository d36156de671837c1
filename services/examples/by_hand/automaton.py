"""A tree of a regular expression -> a nondeterministic automaton -> a deterministic one, over bytes.

The first is quick to make and may be in many states at once (Thompson's construction). The second is in one
state at a time, each of which stands for a set of the first's (subset construction), so that a mask has one
state to remember. No states are merged afterwards: it may have more than it needs.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from schemas.errors import InputError
from services.examples.by_hand.regex import Either, Node, OneByte, Repeat, Row, read

MOST_STATES = 5_000


@dataclass
class Nfa:
    """`moves[state]` are (bytes, next state); `free[state]` are states to be in as well, for no byte."""

    moves: list[list[tuple[frozenset[int], int]]] = field(default_factory=list)
    free: list[list[int]] = field(default_factory=list)

    def new(self) -> int:
        if len(self.moves) >= MOST_STATES:
            raise InputError(
                f"The pattern needs more than {MOST_STATES:,} states",
                hint="Repeat less, or bound the repeats by smaller numbers.",
            )
        self.moves.append([])
        self.free.append([])
        return len(self.moves) - 1

    def add(self, node: Node, start: int) -> int:
        """Lay `node` out from the state `start`; the state where it is over."""
        match node:
            case OneByte():
                end = self.new()
                self.moves[start].append((node.of, end))
                return end
            case Row():
                for part in node.parts:
                    start = self.add(part, start)
                return start
            case Either():
                end = self.new()
                for part in node.parts:
                    first = self.new()
                    self.free[start].append(first)
                    self.free[self.add(part, first)].append(end)
                return end
            case Repeat():
                return self._repeat(node, start)

    def _repeat(self, node: Repeat, start: int) -> int:
        """`low` copies that must come, then copies that may be skipped, or one copy that loops."""
        for _ in range(node.low):
            start = self.add(node.part, start)
        end = self.new()
        self.free[start].append(end)
        if node.high is None:
            again = self.new()  # a state of its own, so that nothing else loops through here
            self.free[start].append(again)
            over = self.add(node.part, again)
            self.free[over] += [again, end]
            return end
        for _ in range(node.high - node.low):
            start = self.add(node.part, start)
            self.free[start].append(end)
        return end

    def with_free(self, states: set[int]) -> frozenset[int]:
        """`states` and all that are reached from them for no byte."""
        found, todo = set(states), list(states)
        while todo:
            new = set(self.free[todo.pop()]) - found
            found |= new
            todo += new
        return frozenset(found)


@dataclass(frozen=True)
class Automaton:
    """Deterministic. `moves[state][byte]` is the next state; states are numbered from 0, where it starts.

    Each state leads to an accepting one: a tree has no empty sets of bytes, and states that are only
    reached on the way out of nothing are never made. So a token that can be read is one that leads somewhere.
    """

    moves: tuple[dict[int, int], ...]
    accepting: frozenset[int]
    start: int = 0

    def step(self, state: int, byte: int) -> int | None:
        return self.moves[state].get(byte)

    def accepts(self, state: int) -> bool:
        return state in self.accepting


def automaton(pattern: str) -> Automaton:
    """`pattern` in the subset of `regex`. Raises InputError outside it, or where it needs too many states."""
    nfa = Nfa()
    first = nfa.new()
    last = nfa.add(read(pattern), first)
    sets = [nfa.with_free({first})]
    numbers = {sets[0]: 0}
    moves: list[dict[int, int]] = []
    for here in sets:  # grows meanwhile
        by_byte: dict[int, set[int]] = {}
        for state in here:
            for bytes_, after in nfa.moves[state]:
                for byte in bytes_:
                    by_byte.setdefault(byte, set()).add(after)
        row = {}
        for byte, after_all in sorted(by_byte.items()):
            there = nfa.with_free(after_all)
            if there not in numbers:
                numbers[there] = len(sets)
                sets.append(there)
            row[byte] = numbers[there]
        moves.append(row)
        if len(sets) > MOST_STATES:
            raise InputError(
                f"The pattern needs more than {MOST_STATES:,} states",
                hint="Alternatives that begin alike and repeat without bound make it so.",
            )
    accepting = frozenset(number for states, number in numbers.items() if last in states)
    return Automaton(tuple(moves), accepting)
