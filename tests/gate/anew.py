"""The gate's tapes for a reader that was trained anew, without asking it here: its questions travel to a GPU
(`make lent`), and its answers come back.

    python -m tests.gate.anew questions OUT [--people FOLDER]       OUT/gate-SET.json, for `answer.py`
    python -m tests.gate.anew answers FOLDER [--people FOLDER]      FOLDER/gate-SET.jsonl -> the sets' tapes

What the old reader was asked is asked once more: transcripts stay as they are. Where the new one would have
the pipeline ask something else, the gate says that nothing is recorded.
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
from services.decoding.ports import CartRequest, Reading
from services.decoding.prompt import MenuContext
from services.decoding.wire import read_cart
from services.learning.training.__main__ import served
from services.learning.training.examples import Chat, chat_of, questions
from tests.gate.engines import TapedDecoder, read_key, shipped, taped_tools
from tests.gate.rows import run
from tests.gate.sets import SETS, GateSet
from tests.gate.store import DATA, TAPE
from tests.gate.tape import Entry, Key, Tape, read_lines, write_packed

READER = "qwen2.5-coder-1.5b-orders"


class _Listening(TapedDecoder):
    """Plays a tape and keeps what it was asked."""

    def __init__(self, tape: Tape, asked: dict[Key, CartRequest]) -> None:
        super().__init__(tape)
        self._asked = asked

    def decode(self, asked: CartRequest, called_off: threading.Event | None = None) -> Reading:
        self._asked[read_key(asked)] = asked
        return super().decode(asked, called_off)


def requests(one: GateSet, people: Path | None) -> dict[Key, CartRequest]:
    """What a set's orders ask the reader, by the tape's key."""
    tape, asked = Tape(read_lines(DATA / f"{one.name}.{TAPE}.gz")), dict[Key, CartRequest]()
    for order in one.orders(people):
        tools = replace(taped_tools(shipped(), tape), decoder=lambda: _Listening(tape, asked))
        run(order, tools, Path("recordings") if one.spoken else None)
    return asked


def by_menu(asked: dict[Key, CartRequest], chat: Chat) -> Iterator[dict[str, Any]]:
    """Each menu's requests as `answer.py` takes them."""
    menus = {request.menu.id: request.menu for request in asked.values()}
    for name, menu in menus.items():
        requests = ((json.dumps(key), one) for key, one in asked.items() if one.menu.id == name)
        yield questions(chat, "gate", MenuContext(menu), requests)


def entry(row: dict[str, Any], menu: Menu) -> Entry:
    """The tape's entry of an answer."""
    try:
        cart = read_cart(row["text"], MenuContext(menu).names)
    except Unreadable:  # it was cut off
        return {"key": json.loads(row["id"]), "error": "DecodeTruncated"}
    notes = [note.model_dump(mode="json") for note in cart.notes]
    answer = {"lines": cart.lines, "text": row["text"], "engine": READER, "notes": notes}
    numbers = dict.fromkeys(("prompt_tokens", "completion_tokens", "cached_tokens", "seconds"), 0)
    return {
        "key": json.loads(row["id"]),
        "answer": answer | numbers | {name: row[name] for name in ("logprob", "overruled")},
    }


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="gate.anew")
    parser.add_argument("what", choices=("questions", "answers"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--people", type=Path)
    args = parser.parse_args(argv)
    chat = chat_of(settings().models_dir / served("1.5b")) if args.what == "questions" else None
    for one in SETS:
        asked = requests(one, args.people)
        if chat:
            file = args.folder / f"gate-{one.name}.json"
            file.write_text(json.dumps(list(by_menu(asked, chat))))
        else:
            old = read_lines(DATA / f"{one.name}.{TAPE}.gz")
            entries = {tuple(kept["key"]): kept for kept in old if kept["key"][0] != "read"}
            for row in read_lines(args.folder / f"gate-{one.name}.jsonl"):
                key = tuple(json.loads(row["id"]))
                entries[key] = entry(row, asked[key].menu)
            write_packed(DATA / f"{one.name}.{TAPE}.gz", [entries[key] for key in sorted(entries)])
        print(f"{one.name}: {len(asked)} requests", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
