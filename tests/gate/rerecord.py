"""Rerecord the gate's tapes with a newly trained model whose answers are computed on a GPU (`make gpu-pack`).

    python -m tests.gate.rerecord questions OUT [--people FOLDER]     # OUT/gate-SET.json, for `answer.py`
    python -m tests.gate.rerecord answers FOLDER [--people FOLDER]    # FOLDER/gate-SET.jsonl -> the tapes

The new model gets the requests that the old one got; transcripts stay as they are. A request that only the
new model leads to has no answer on the tape, and the gate counts it.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from infra.settings import settings
from schemas.menu import Menu
from services.decoding.menu_names import Unreadable
from services.decoding.ports import CartRequest, DecodedCart
from services.decoding.prompt import MenuContext
from services.decoding.wire import read_cart
from services.learning.training.__main__ import served
from services.learning.training.examples import Chat, chat_of, questions
from tests.gate.engines import TapedDecoder, read_key, shipped, taped_tools
from tests.gate.rows import run
from tests.gate.sets import SETS, GateSet
from tests.gate.store import DATA, TAPE
from tests.gate.tape import Entry, Key, Tape, read_lines, write_packed


class _RequestLog(TapedDecoder):
    """Plays a tape and logs the requests."""

    def __init__(self, tape: Tape, log: dict[Key, CartRequest]) -> None:
        super().__init__(tape)
        self._log = log

    def decode(self, asked: CartRequest, called_off: threading.Event | None = None) -> DecodedCart:
        self._log[read_key(asked)] = asked
        return super().decode(asked, called_off)


def requests(one: GateSet, people: Path | None) -> dict[Key, CartRequest]:
    """Return the decoding requests of a set's orders by tape key."""
    tape, log = Tape(read_lines(DATA / f"{one.name}.{TAPE}.gz")), dict[Key, CartRequest]()
    for order in one.orders(people):
        tools = replace(taped_tools(shipped(), tape), decoder=lambda: _RequestLog(tape, log))
        run(order, tools, Path("recordings") if one.spoken else None)
    return log


def by_menu(log: dict[Key, CartRequest], chat: Chat) -> Iterator[dict[str, Any]]:
    """Group requests by menu, as `answer.py` expects them."""
    menus = {request.menu.id: request.menu for request in log.values()}
    for name, menu in menus.items():
        requests = ((json.dumps(key), one) for key, one in log.items() if one.menu.id == name)
        yield questions(chat, "gate", MenuContext(menu), requests)


def entry(row: dict[str, Any], menu: Menu) -> Entry:
    """Return an answer's tape entry."""
    try:
        cart = read_cart(row["text"], MenuContext(menu).names)
    except Unreadable:  # truncated
        return {"key": json.loads(row["id"]), "error": "DecodeTruncated"}
    notes = [note.model_dump(mode="json") for note in cart.notes]
    answer = {"lines": cart.lines, "text": row["text"], "notes": notes}
    return {
        "key": json.loads(row["id"]),
        "answer": answer | {name: row[name] for name in ("logprob", "overruled")},
    }


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="gate.rerecord")
    parser.add_argument("step", choices=("questions", "answers"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--people", type=Path)
    args = parser.parse_args(argv)
    chat = chat_of(settings().models_dir / served("1.5b")) if args.step == "questions" else None
    for one in SETS:
        log = requests(one, args.people)
        if chat:
            file = args.folder / f"gate-{one.name}.json"
            file.write_text(json.dumps(list(by_menu(log, chat))))
        else:
            old = read_lines(DATA / f"{one.name}.{TAPE}.gz")
            entries = {tuple(other["key"]): other for other in old if other["key"][0] != "read"}
            for row in read_lines(args.folder / f"gate-{one.name}.jsonl"):
                key = tuple(json.loads(row["id"]))
                entries[key] = entry(row, log[key].menu)
            write_packed(DATA / f"{one.name}.{TAPE}.gz", [entries[key] for key in sorted(entries)])
        print(f"{one.name}: {len(log)} requests", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
