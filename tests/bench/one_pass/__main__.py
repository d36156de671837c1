"""What it would save to check the rules' cart in one pass of the reader's model, in place of having it write:

    python -m tests.bench.one_pass [--rounds 3]

The sample orders of one menu whose words leave one cart, in turns: the answer drawn token by token, as the
server does, and the rules' cart read with the question in one batch, which tells at each of its tokens
whether the model would have drawn it. Without the mask, and with the menu read before.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path

# Before the library loads, as its server has it.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("GOMP_SPINCOUNT", "300")

from infra.settings import REPOSITORY, settings
from infra.weights.models import resolve
from schemas.menu import Menu
from services.checks.one_cart import written
from services.cli.samples import load_menus, load_samples
from services.engines.reader.adapters import made_for, prepared
from services.engines.reader.prompt import messages
from services.engines.reader.reading import Sheet
from services.engines.reader_server.llama import Llama, Logits
from services.reading.order import read_order
from tests.bench.published import publish

MENU = "harbor-coffee"
OUT = REPOSITORY / "docs" / "benchmarks" / "one-pass.json"
MOST = 60


def read(model: Llama, tokens: list[int], at: int, wanted: int) -> Logits:
    """Read any number of tokens; the logits behind the last `wanted` of them, all in the last batch."""
    cut = max(0, len(tokens) - model.batch)
    for start in range(0, cut, model.batch):
        model.read(tokens[start : min(start + model.batch, cut)], at + start)
    return model.read(tokens[cut:], at + cut, wanted)


def write(model: Llama, question: list[int], at: int, end: int) -> list[int]:
    """The answer, a token at a time."""
    found: list[int] = []
    token = int(read(model, question, at, 1)[0].argmax())
    at += len(question)
    while token != end and len(found) < MOST:
        found.append(token)
        token = int(read(model, [token], at, 1)[0].argmax())
        at += 1
    return found


def check(model: Llama, question: list[int], cart: list[int], at: int, end: int) -> bool:
    """Whether the model would have written this cart, by one pass over it."""
    drawn = read(model, question + cart, at, len(cart) + 1).argmax(axis=1)
    return [int(token) for token in drawn] == [*cart, end]


def asked(menu: Menu) -> Iterator[tuple[str, str]]:
    """What is said and the rules' cart in short form, of each sample that the words settle."""
    sheet = Sheet(menu)
    for sample in load_samples():
        if sample.row["menu"] == menu.id:
            draft = written(read_order(sample.row["utterance"], menu, 1))
            if draft is not None:
                lines = [line.model_dump(mode="json") for line in draft.lines]
                yield sample.row["utterance"], sheet.names.write(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args()
    config = settings()
    adapter = made_for(config.llm_model)
    assert adapter is not None
    file = Path(resolve(config.llm_model, config.models_dir))
    model = Llama(file, prepared(adapter, config.models_dir), context=4096)
    menu = Menu.model_validate(load_menus()[MENU])
    text = Sheet(menu).text
    orders = list(asked(menu))
    chats = [model.chat(messages(text, said)) for said, _ in orders]
    shared = next(n for n, column in enumerate(zip(*chats, strict=False)) if len(set(column)) > 1)
    (end,) = model.marks("<|im_end|>")
    began = time.perf_counter()
    read(model, chats[0][:shared], 0, 1)
    rows, took = [], time.perf_counter() - began
    for _ in range(args.rounds):
        for (said, cart), chat in zip(orders, chats, strict=True):
            question, answer = chat[shared:], model.tokenize(cart)
            model.cut(shared)
            began = time.perf_counter()
            drawn = write(model, question, shared, end)
            wrote = time.perf_counter() - began
            model.cut(shared)
            began = time.perf_counter()
            same = check(model, question, answer, shared, end)
            rows.append((said, len(question), len(drawn), wrote, time.perf_counter() - began, same))
    began = time.perf_counter()
    state = model.state()
    kept = time.perf_counter() - began
    began = time.perf_counter()
    assert model.restore(state)
    figures = {
        "orders": len(orders),
        "rounds": args.rounds,
        "tokens_of_question_and_answer_p50": [
            statistics.median(r[1] for r in rows),
            statistics.median(r[2] for r in rows),
        ],
        "written_s_p50": round(statistics.median(r[3] for r in rows), 2),
        "checked_s_p50": round(statistics.median(r[4] for r in rows), 2),
        "checked_to_written_p50": round(statistics.median(r[4] / r[3] for r in rows), 2),
        "rules_cart_is_what_the_model_writes": len({r[0] for r in rows if r[5]}),
        "menu_tokens": shared,
        "menu_read_s": round(took, 1),
        "menu_state_mb": round(len(state) / 1e6, 1),
        "state_kept_s_and_taken_up_s": [round(kept, 3), round(time.perf_counter() - began, 3)],
        "load": round(os.getloadavg()[0], 1),
    }
    publish(args.out, file.stem, json.loads(json.dumps(figures)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
