"""Engine answers on file, so that orders can be run again without a model.

A tape lies at the engine ports: whatever is rebuilt above them, the same question gets the same answer. A
question is the words of one or two recognizers over a menu, or a recording to a recognizer; its key names the
kind, the menu or recording, and a digest of what else the answer depends on, never the words.

    {"key": ["read", "harbor-coffee", "1f0c9a…"], "answer": {"text": "1 Latte", "logprob": -0.01, …}}
    {"key": ["whole", "first", "hc-s-001.opus"], "answer": {"text": "a latte", "words": […], …}}
    {"key": ["read", "harbor-coffee", "77ab20…"], "error": "DecodeTruncated"}
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter

from schemas import errors
from schemas.errors import AudioRefused, DecodeInvalid, DecodeTruncated, EngineError, SaycartError

Key = tuple[str, ...]
Entry = dict[str, Any]
T = TypeVar("T")

PASSES = ("whole", "fitted", "denoised", "quiet")
"""Kinds of requests to a recognizer."""
# Errors that would come again; any other ends a recording, to be taken up where it stopped.
LASTING = (AudioRefused, DecodeInvalid, DecodeTruncated)


class NotOnTape(EngineError):
    """Nothing is recorded for a request, so its order has no answer."""

    code = "not_on_tape"
    hint = "Record the set again: make gate ARGS='--record SET'"


class Tape:
    """Answers by key.

    `missing` counts requests that had no answer; `new` holds entries that were recorded and not yet written.
    """

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._entries = {tuple(entry["key"]): entry for entry in entries}
        self.new: list[Entry] = []
        self.missing = 0

    def __contains__(self, key: Key) -> bool:
        return key in self._entries

    def play(self, key: Key, form: TypeAdapter[T]) -> T:
        """Return the recorded answer.

        Raises:
            NotOnTape: nothing is recorded for the key.
            SaycartError: the recorded error.
        """
        entry = self._entries.get(key)
        if entry is None:
            self.missing += 1
            raise NotOnTape(f"No answer is recorded for a request of kind {key[0]!r}")
        if "error" in entry:
            kind: type[SaycartError] = getattr(errors, entry["error"])
            raise kind("The engine failed when this was recorded")
        return form.validate_python(entry["answer"])

    def record(self, ask: Callable[[], T], form: TypeAdapter[T], key: Key) -> T:
        """Ask an engine and keep what it answers, or its error, under `key`.

        Raises: as `ask`.
        """
        try:
            answer = ask()
        except LASTING as error:
            self._keep({"key": key, "error": type(error).__name__})
            raise
        self._keep({"key": key, "answer": form.dump_python(answer, mode="json", exclude_defaults=True)})
        return answer

    def _keep(self, entry: Entry) -> None:
        self._entries[tuple(entry["key"])] = entry
        self.new.append(entry)


def digest(*parts: str) -> str:
    """Return 16 hexadecimal digits that stand for what an answer depends on."""
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=8).hexdigest()


def read_lines(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the documents of a JSONL file, packed or not; a line that was cut off is left out."""
    if not file.exists():
        return
    opened = gzip.open if file.suffix == ".gz" else open
    with opened(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            if line.endswith("\n"):
                yield json.loads(line)


def write_packed(file: Path, documents: Iterable[dict[str, Any]]) -> None:
    """Write documents as packed JSONL; the same documents give the same bytes."""
    text = "".join(json.dumps(one, separators=(",", ":"), ensure_ascii=False) + "\n" for one in documents)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
