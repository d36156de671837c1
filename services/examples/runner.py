"""Every task of an example over its gold rows, by each method; answers are kept as they come.

A file a task and method, one answer a line. A run that was stopped goes on where it was: rows that its file
has, of the same messages and mask, are not asked again.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from infra.observability.json_lines import kept_lines
from services.evaluation.statistics import mcnemar, quantile, wilson
from services.examples.asking import NO_MEANING, Method
from services.examples.example import Example, Row, chat
from services.masked.task import Task

Document = dict[str, Any]


def run(
    example: Example[Any],
    methods: Sequence[Method],
    out: Path,
    *,
    limit: int | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Document:
    """Ask what is not yet in `out`, and give the figures of all of it.

    Rows go through all tasks and methods one after the other, so that a machine that grows slow is slow for
    all alike; and every other row the other way round, since who asks second finds the prompt in the cache.

    Raises:
        EngineUnavailable: the server is away; what was answered stays.
    """
    rows = example.rows(limit)
    cells = [(task, method) for task in example.tasks for method in methods]
    kept = {_name(task, method): _Kept(out / example.name, task, method) for task, method in cells}
    for number, row in enumerate(rows, 1):
        _ask(example, row, cells if number % 2 else cells[::-1], kept)
        tell(f"{example.name}: {number} of {len(rows)}")
    found = {name: [answer for row in rows if (answer := file.find(row))] for name, file in kept.items()}
    marks = sorted({mark for answers in found.values() for answer in answers for mark in answer["marks"]})
    return {
        "rows": len(rows),
        "cells": {name: figures(answers, marks) for name, answers in found.items()},
        "paired": {
            task.name: paired(found[_name(task, methods[0])], found[_name(task, method)])
            for task in example.tasks
            for method in methods[1:]
        },
    }


def unpack(kept: Path, out: Path) -> int:
    """Put answers that were kept, compressed, into the folder that a run goes on from; files that are there
    stay as they are. How many were put there."""
    count = 0
    for packed in sorted(kept.rglob("*.jsonl.gz")):
        file = out / packed.relative_to(kept).with_suffix("")
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(gzip.decompress(packed.read_bytes()))
            count += 1
    return count


def figures(answers: Sequence[Document], marks: Sequence[str]) -> Document:
    """Counts, shares with their 95% intervals, and cost, of the answers of one task and method. An answer
    that failed has none of the marks."""
    count = len(answers)
    form = sum(bool(answer["failure"]) and answer["failure"] != NO_MEANING for answer in answers)
    meaning = sum(answer["failure"] == NO_MEANING for answer in answers)
    hits = {mark: sum(answer["marks"].get(mark, False) for answer in answers) for mark in marks}
    return {
        "rows": count,
        "form_failures": form,
        "form_failures_ci": wilson(form, count),
        "meaning_failures": meaning,
        "marks": {mark: {"hits": n, "ci": wilson(n, count)} for mark, n in hits.items()},
        "completion_tokens": round(sum(answer["completion_tokens"] for answer in answers) / max(1, count), 1),
        "seconds_p50": quantile([answer["seconds"] for answer in answers], 0.5) if count else None,
    }


def paired(one: Sequence[Document], other: Sequence[Document], mark: str = "right") -> Document:
    """Rows that only one of two got right, and the exact McNemar test."""
    there = {answer["id"]: answer["marks"].get(mark, False) for answer in other}
    pairs = [(a["marks"].get(mark, False), there[a["id"]]) for a in one if a["id"] in there]
    only_one, only_other = sum(a and not b for a, b in pairs), sum(b and not a for a, b in pairs)
    return {
        "rows": len(pairs),
        "only_first": only_one,
        "only_second": only_other,
        "p": round(mcnemar(only_one, only_other), 4),
    }


class _Kept:
    """The answers of one task by one method, in a file."""

    def __init__(self, folder: Path, task: Task[Any], method: Method) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = folder / f"{_name(task, method)}.jsonl"
        self._task = task
        self._answers: dict[str, Document] = {one["asked"]: one for one in kept_lines(self._file)}

    def find(self, row: Row) -> Document | None:
        return self._answers.get(self._mark(row))

    def keep(self, row: Row, answer: Document) -> None:
        answer = {"asked": self._mark(row), **answer}
        with self._file.open("a", encoding="utf-8") as out:
            out.write(json.dumps(answer, ensure_ascii=False) + "\n")
        self._answers[answer["asked"]] = answer

    def _mark(self, row: Row) -> str:
        """Of all that an answer rests on but the model: row, messages and mask."""
        about = [row.id, row.gold, chat(self._task, row), self._task.output.version]
        return hashlib.sha256(json.dumps(about).encode()).hexdigest()[:16]


def _ask(
    example: Example[Any],
    row: Row,
    cells: Sequence[tuple[Task[Any], Method]],
    kept: dict[str, _Kept],
) -> None:
    for task, method in cells:
        file = kept[_name(task, method)]
        if file.find(row) is None:
            file.keep(row, method.ask(example, task, row).document())


def _name(task: Task[Any], method: Method) -> str:
    return f"{task.name}.{method.name}"
