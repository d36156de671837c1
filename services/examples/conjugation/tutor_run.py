"""The tutor over its gold sentences, under the masks and by the prompt alone.

    python -m services.examples.conjugation.tutor_run [--model FILE] [--url URL [--dialect vllm]] [--limit N]
        [--masked-only] [--gold FILE] [--out DIR]

Answers are kept as they come, one a line, and the same command goes on from them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from infra.observability.json_lines import kept_lines
from schemas.errors import AnswerRefused, DecodeInvalid, DecodeTruncated, SaycartError
from services.engines.decoding.calls import Calls
from services.engines.decoding.completion import CHAT, Completions, said
from services.engines.ports import Message
from services.evaluation.statistics import wilson
from services.examples.asking import MOST_TOKENS, plain
from services.examples.conjugation.tutor import Ask, Lesson, tutor
from services.examples.serving import add_server, folder, serving
from services.masked.call import answer
from services.masked.output import OutputType

T = TypeVar("T")
Document = dict[str, Any]
NAME = "tutor"
BESIDE = "conjugation"
"""The example that it is a part of, beside whose answers its own are kept."""
GOLD = Path(__file__).parent / "tutor_gold.jsonl"


def ask_one(row: Document, ask: Ask, texts: list[str]) -> Document:
    """The tutor's word on one row, with the raw `texts` that `ask` appends to."""
    texts.clear()
    kept: Document = {"id": row["id"]}
    try:
        lesson = tutor(row["text"], ask)
    except (AnswerRefused, DecodeInvalid, DecodeTruncated) as error:
        return kept | {"failure": error.detail, "texts": [*texts], "marks": {}}
    document = asdict(lesson)
    document["used"] = lesson.used.model_dump() if lesson.used else None
    return kept | {"failure": "", "texts": [*texts], "lesson": document, "marks": judge(lesson, row["gold"])}


def judge(lesson: Lesson, gold: Document | None) -> dict[str, bool]:
    """Of a sentence with an error: `found`, `corrected` and `named`. Of one without: `left_alone`."""
    if gold is None:
        return {"left_alone": not lesson.error}
    found = bool(lesson.error)
    return {
        "found": found,
        "corrected": found and lesson.corrected in gold["corrected"],
        "named": found and lesson.error == gold["error"],
    }


def figures(rows: Sequence[Document], answers: Sequence[Document]) -> Document:
    """Counts with 95% intervals. What failed in form has none of the marks, and is no false alarm."""
    wrong = [a for row, a in zip(rows, answers, strict=True) if row["gold"]]
    right = [a for row, a in zip(rows, answers, strict=True) if not row["gold"]]

    def share(of: Sequence[Document], mark: str, value: bool = True) -> Document:
        hits = sum(answer["marks"].get(mark) is value for answer in of)
        return {"hits": hits, "of": len(of), "ci": wilson(hits, len(of))}

    return {
        "failures": sum(bool(answer["failure"]) for answer in answers),
        "found": share(wrong, "found"),
        "corrected": share(wrong, "corrected"),
        "named": share(wrong, "named"),
        "false_alarms": share(right, "left_alone", False),
        "left_alone": share(right, "left_alone"),
    }


def masked(engine: Completions, texts: list[str]) -> Ask:
    """Under the masks; each raw answer goes to `texts`."""

    def ask(output: OutputType[T], chat: Sequence[Message]) -> T:
        found = answer(output, chat, engine=engine)
        texts.append(found.completed.text)
        return found.value

    return ask


def prompted(calls: Calls, model: str, texts: list[str]) -> Ask:
    """The same messages without a mask, read with the same forgiveness as `services.examples.asking`."""

    def ask(output: OutputType[T], chat: Sequence[Message]) -> T:
        body = {"model": model, "messages": list(chat), "temperature": 0, "max_tokens": MOST_TOKENS}
        text, reason = said(calls.post(CHAT, body))
        texts.append(text)
        if reason != "stop":
            raise DecodeTruncated(f"The decode server stopped early: finish_reason {reason!r}")
        return output.read(plain(text, is_json=True))

    return ask


def run(
    engine: Completions,
    out: Path,
    *,
    limit: int | None = None,
    masked_only: bool = False,
    gold: Path = GOLD,
    tell: Callable[[str], None] = lambda _: None,
) -> Document:
    """Ask what is not yet in `out`, and give the figures of all of it, by method; they are written to
    `tutor-figures.json` there as well.

    Raises:
        EngineUnavailable: the server is away; what was answered stays.
    """
    rows = [json.loads(line) for line in gold.read_text(encoding="utf-8").splitlines()[:limit]]
    out.mkdir(parents=True, exist_ok=True)
    texts: list[str] = []
    asks = {"masked": masked(engine, texts)}
    if not masked_only:
        asks["prompt"] = prompted(engine.calls, engine.model, texts)
    with _kept(out, list(asks)) as files:
        for number, row in enumerate(rows, 1):
            for method, (kept, file) in files.items():
                if row["id"] not in kept:
                    kept[row["id"]] = ask_one(row, asks[method], texts)
                    file.write(json.dumps(kept[row["id"]], ensure_ascii=False) + "\n")
                    file.flush()
            tell(f"{NAME}: {number} of {len(rows)}")
        made = {m: figures(rows, [kept[row["id"]] for row in rows]) for m, (kept, _) in files.items()}
    (out / "tutor-figures.json").write_text(json.dumps(made, indent=1) + "\n")
    return made


def main(argv: list[str] | None = None) -> int:
    """Exit codes: 0 all rows were asked, 2 no server."""
    args = _parser().parse_args(argv)
    how = {"limit": args.limit, "masked_only": args.masked_only, "gold": args.gold}
    try:
        with serving(args) as engine:
            made = run(engine, folder(args.out, engine) / BESIDE, tell=_tell, **how)
    except SaycartError as error:
        print(f"{error.detail} {error.hint}", file=sys.stderr)
        return 2
    print(json.dumps(made, indent=1))
    return 0


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@contextmanager
def _kept(out: Path, methods: Sequence[str]) -> Iterator[dict[str, tuple[dict[str, Document], Any]]]:
    """By method, what is kept already, and the file that more goes to."""
    opened = {}
    for method in methods:
        file = out / f"tutor.{method}.jsonl"
        answers = {answer["id"]: answer for answer in kept_lines(file)}
        opened[method] = (answers, file.open("a", encoding="utf-8"))
    try:
        yield opened
    finally:
        for _, file_ in opened.values():
            file_.close()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="services.examples.conjugation.tutor_run", description=(__doc__ or "").partition("\n")[0]
    )
    add_server(parser)
    parser.add_argument("--limit", type=int, help="only so many rows")
    parser.add_argument("--masked-only", action="store_true", help="not by the prompt alone as well")
    parser.add_argument("--gold", type=Path, default=GOLD)
    parser.add_argument("--out", type=Path, default=Path("reports/examples"))
    return parser


if __name__ == "__main__":
    sys.exit(main())
