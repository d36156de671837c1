"""What of the reading no order that we have needs: each word of a language, or each rule, is taken away, and
the orders that use it are read again. It goes on where it stopped.

    python -m tests.needed                  # each word of each entry; make words-needed
    python -m tests.needed --entries        # whole entries
    python -m tests.needed --rules          # each rule (`rules.py` says what that is); make rules-needed

A word or rule is needed where an order is read otherwise without it, byte for byte (`tests/readings.py`), or
else a sentence that was written for words and rules: an example of an entry, or a row of `tests/sentences`.
Words of a closed class (`closed` in the entry) are not asked about, nor what keeps a wrong cart away
(`guards`, and `staying.toml` for rules). Of what nobody needs alone, as much as can go together is told; it
goes (ADR 68).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import reduce
from operator import or_

from infra.settings import REPOSITORY
from tests.needed import fires, uses
from tests.needed.parts import parts, tables, whole
from tests.needed.rules import rules, staying
from tests.needed.runs import KEPT, Part, ask, ask_of, check_written, sentences, spanish, together, traces
from tests.readings import PARTS, Order, orders

REPORTS = REPOSITORY / "docs" / "benchmarks" / "reading"
_DECISION = "../../../infra/adr/0068-what-no-order-needs-goes.md"


def load_words(told: list[Order], processes: int) -> None:
    """Read all orders once: what they become, and which words they use."""
    found = traces("words", told, processes, _words_of)
    digests = [one for trace in found for one in trace.digests]
    check_written(told, digests)
    traced = uses.Trace([used for trace in found for used in trace.used], digests, found[0].joined)
    ask_of(uses.Uses("en", told, traced), digests)


def _words_of(told: list[Order]) -> uses.Trace:
    return uses.trace("en", told)


def load_rules(told: list[Order], processes: int) -> None:
    """Read all orders once: what they become, and which rules come to something in them."""
    found = traces("rules", told, processes, fires.trace)
    digests = [one for trace in found for one in trace.digests]
    check_written(told, digests)
    fired = [one for trace in found for one in trace.fired]
    ask_of(fires.Fires(told, fired, reduce(or_, (trace.menus for trace in found))), digests)


def main() -> None:
    """Print what no order needs, and write it down."""
    parser = argparse.ArgumentParser(prog="python -m tests.needed", description=main.__doc__)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--entries", action="store_true", help="whole entries, not each word")
    what.add_argument("--rules", action="store_true", help="rules, not words")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    told = [*(order for part in PARTS for order in orders(part)), *sentences()]
    if options.rules:
        _rules(told, options.processes)
        return
    load_words(told, options.processes)
    if options.entries:
        _told(ask(list(whole("en")), KEPT / "needed-entries.jsonl", options.processes))
        return
    text = _told(ask(list(parts("en")), KEPT / "needed-words.jsonl", options.processes))
    _write("needed.md", "Words that no order of ours needs", "words-needed", text, _not_asked())


def _rules(told: list[Order], processes: int) -> None:
    """Rules are asked about with the orders of every language, which all of them read."""
    load_rules([*told, *spanish(), *sentences("es")], processes)
    found, stay = ask(list(rules()), KEPT / "needed-rules.jsonl", processes), staying()
    idle = [rule for rule, by in found.items() if not by]
    gone = together([rule for rule in idle if rule not in stay])
    functions = len({(rule.entry, rule.name) for rule in found})
    text = (
        f"{functions} functions are {len(found)} rules. {len(found) - len(idle)} are needed by an order or a "
        f"sentence of ours, {len(idle)} by none; of these {sum(rule in stay for rule in idle)} stay, and "
        f"{len(gone)} can go, all together.\n\n" + (_table(gone, "file") if gone else "")
    )
    if after_all := [rule for rule in stay if found[rule]]:
        text += f"\nNeeded after all, with no reason to be given:\n\n{_table(after_all, 'file')}"
    print(text)
    rows = "".join(f"| `{rule.entry}` | `{rule.shown}` | {why} |\n" for rule, why in stay.items())
    kept = f"Stay ([ADR 68]({_DECISION})):\n\n| file | rule | because |\n|---|---|---|\n{rows}"
    _write("rules.md", "Rules that no order of ours needs", "rules-needed", text, kept)


def _told(found: dict[Part, str]) -> str:
    """What came of asking about words."""
    by_sentence = sum(by.startswith("sentence") for by in found.values())
    gone = together([part for part, by in found.items() if not by])
    by_order = len(found) - by_sentence - sum(not by for by in found.values())
    text = (
        f"Of {len(found)}, {by_order} are needed by an order of ours, {by_sentence} by a sentence alone, and "
        f"{len(gone)} by nothing, all together.\n\n" + (_table(gone, "entry") if gone else "")
    )
    print(text)
    return text


def _table(parts: Sequence[Part], head: str) -> str:
    idle: dict[str, list[str]] = {}
    for part in parts:
        idle.setdefault(part.entry, []).append(part.shown)
    rows = "".join(f"| `{entry}` | {', '.join(what)} |\n" for entry, what in sorted(idle.items()))
    return f"| {head} | what |\n|---|---|\n{rows}"


def _write(file: str, title: str, target: str, text: str, not_asked: str) -> None:
    REPORTS.mkdir(exist_ok=True)
    (REPORTS / file).write_text(f"# {title}\n\nBy `make {target}`. {text.rstrip()}\n\n{not_asked}")


def _not_asked() -> str:
    """The entries with words that stay in any case, by the kind that they are of."""
    told = ""
    for field, why in (("closed", "Closed classes"), ("guards", "What keeps a wrong cart away")):
        by_kind: dict[str, list[str]] = {}
        for name, table in tables("en").items():
            kinds = table.get(field, {})
            for kind in [kinds] if isinstance(kinds, str) else kinds:
                by_kind.setdefault(kind.rstrip(".").lower(), []).append(f"`{name}`")
        rows = "".join(f"| {kind} | {', '.join(names)} |\n" for kind, names in sorted(by_kind.items()))
        told += f"\n{why}, not asked about ([ADR 68]({_DECISION})):\n\n| kind | entries |\n|---|---|\n{rows}"
    return told.lstrip()


if __name__ == "__main__":
    main()
