"""The same model with and without the mask over the forty tasks, and what a mask costs.

    python -m services.examples.by_hand.figures [--seconds N] [--out FILE]

Answers already in FILE are kept, so that a run cut off goes on where it was. Greedy, so that it can be made
again. Raw answers stay in the file beside the counts.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

from services.examples.by_hand.automaton import automaton
from services.examples.by_hand.decode import Step, decode
from services.examples.by_hand.library import LibraryMask, pattern_grammar, schema_grammar
from services.examples.by_hand.masks import ByteMask, plain_walk, sorted_walk
from services.examples.by_hand.model import SMALL, ServedModel, served, small_model
from services.examples.by_hand.tasks import FILE, Kind, Task, read_tasks
from services.examples.by_hand.tokens import Tokens, read_tokens

OUT = Path("docs/benchmarks/masks/by-hand.json")
LIMIT = 48
KINDS = ("date", "booking")
TEXTS = {"date": "2021-03-03", "booking": '{"name":"Miller","guests":4,"meal":"dinner","outside":false}'}


def main() -> int:
    parser = argparse.ArgumentParser(prog="services.examples.by_hand.figures", description=__doc__)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no task after these")
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args()
    kept = json.loads(args.out.read_text(encoding="utf-8")) if args.out.exists() else {"answers": []}
    rows: list[dict[str, Any]] = kept["answers"]
    tokens = read_tokens(small_model())
    kinds, tasks = read_tasks()
    until = time.monotonic() + args.seconds
    with served(len(tokens.pieces)) as model:
        for task in tasks:
            for way in ("mask", "prompt"):
                done = any(row["said"] == task.said and row["way"] == way for row in rows)
                if not done and time.monotonic() < until:
                    rows.append(answered(model, tokens, kinds[task.kind], task, way))
                    _write(args.out, {"counts": counts(kinds, tasks, rows), "cost": {}, "answers": rows})
    figures = {"counts": counts(kinds, tasks, rows), "cost": cost(kinds, tokens), "answers": rows}
    _write(args.out, figures)
    print(*tables(figures), sep="\n")
    return 0


def answered(model: ServedModel, tokens: Tokens, kind: Kind, task: Task, way: str) -> dict[str, Any]:
    """One task's answer, as it came; under the mask with how often the model wanted something else, and the
    least probability that it gave to all allowed tokens together."""
    prompt = model.prompt(*kind.messages(task.said))
    row: dict[str, Any] = {"way": way, "kind": task.kind, "said": task.said}
    if way == "prompt":
        text, written, ended = model.write(prompt, LIMIT)
        return {**row, "answer": text, "ended": ended, "tokens": written}
    steps: list[Step] = list(decode(model, prompt, kind.mask(tokens), tokens, limit=LIMIT))
    return {
        **row,
        "answer": tokens.text([step.taken for step in steps]),
        "ended": steps[-1].taken == tokens.end,
        "tokens": len(steps),
        "overruled": sum(not step.favourite_allowed for step in steps),
        "least_legal": min(step.legal for step in steps),
    }


def counts(kinds: dict[str, Kind], tasks: list[Task], rows: list[dict[str, Any]]) -> dict[str, Any]:
    """By way and kind: answers, those that are valid, that hold something valid, and that are right; tokens
    at which the model was overruled, the answers with such a token, and those of them that are right."""
    gold = {task.said: task.gold for task in tasks}
    return {
        f"{way} {name}": _counts(
            kind, gold, [row for row in rows if row["way"] == way and row["kind"] == name]
        )
        for way in ("prompt", "mask")
        for name, kind in kinds.items()
    }


def _counts(kind: Kind, gold: dict[str, Any], rows: list[dict[str, Any]]) -> dict[str, int]:
    right = [row for row in rows if kind.found(row["answer"]) == gold[row["said"]]]
    return {
        "answers": len(rows),
        "valid": sum(row["ended"] and kind.valid(row["answer"]) for row in rows),
        "hold_something_valid": sum(bool(kind.found(row["answer"])) for row in rows),
        "right": len(right),
        "tokens": sum(row["tokens"] for row in rows),
        "overruled": sum(row.get("overruled", 0) for row in rows),
        "overruled_answers": sum(row.get("overruled", 0) > 0 for row in rows),
        "overruled_and_right": sum(row.get("overruled", 0) > 0 for row in right),
    }


def cost(kinds: dict[str, Kind], tokens: Tokens) -> dict[str, Any]:
    """Microseconds for one mask: the median over the places of a text, each the best of five tries."""
    document = json.loads(FILE.read_text(encoding="utf-8"))["kinds"]
    found: dict[str, Any] = {}
    for name, kind in kinds.items():
        entry, written = document[name], tokens.cut(TEXTS[name])
        grammar = pattern_grammar(entry["pattern"]) if "pattern" in entry else schema_grammar(entry["schema"])
        naive = ByteMask(kind.machine, tokens)
        times: dict[str, list[float]] = {"every token": [], "sorted": [], "kept": []}
        for token in written:
            times["every token"].append(_best(plain_walk, kind.machine, naive.state, tokens))
            times["sorted"].append(_best(sorted_walk, kind.machine, naive.state, tokens))
            naive.allowed()
            times["kept"].append(_best(naive.allowed))
            naive.advance(token)
        # A matcher for each try: asked a second time at one place, it might remember.
        walks = [_filled(LibraryMask(grammar, tokens), written) for _ in range(5)]
        times["llguidance"] = [min(place) for place in zip(*walks, strict=True)]
        found[name] = {
            how: {"median_us": round(median(t), 1), "worst_us": round(max(t), 1)} for how, t in times.items()
        }
    found["automaton of the date, once"] = {"us": round(_best(automaton, document["date"]["pattern"]))}
    return {"model": SMALL, "vocabulary": len(tokens.pieces), **found}


def tables(figures: dict[str, Any]) -> Iterator[str]:
    """The rows of docs/masking.md: what a mask costs, and what came with it and without it."""
    for how in ("every token", "sorted", "kept", "llguidance"):
        cells = [figures["cost"][kind][how][which] for kind in KINDS for which in ("median_us", "worst_us")]
        yield f"| {how} | {' | '.join(f'{us:,.0f}' if us >= 10 else f'{us:.1f}' for us in cells)} |"
    for way in ("prompt", "mask"):
        for kind in KINDS:
            count = figures["counts"][f"{way} {kind}"]
            cells = [count[what] for what in ("answers", "valid", "right", "tokens", "overruled")]
            yield f"| {way}, {kind} | {' | '.join(map(str, cells))} |"


def _filled(mask: LibraryMask, written: list[int]) -> list[float]:
    times = []
    for token in written:
        begun = time.perf_counter()
        mask.fill()
        times.append((time.perf_counter() - begun) * 1e6)
        mask.advance(token)
    return times


def _best(call: Callable[..., object], *given: object) -> float:
    tries = []
    for _ in range(5):
        begun = time.perf_counter()
        call(*given)
        tries.append(time.perf_counter() - begun)
    return min(tries) * 1e6


def _write(path: Path, figures: dict[str, Any]) -> None:
    """One answer a line."""
    answers = ",\n".join("    " + json.dumps(row, ensure_ascii=False) for row in figures["answers"])
    head = {key: value for key, value in figures.items() if key != "answers"}
    text = json.dumps(head, indent=2)[:-2] + f',\n  "answers": [\n{answers}\n  ]\n}}\n'
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
