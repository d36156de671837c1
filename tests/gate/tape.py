"""Recorded engine answers, to run orders without a model.

A tape works at the engine ports: the same request gets the same answer, whatever changes above them. A
request is a recording for a recognizer, or transcripts for a menu's decoder. Its key has the kind, the menu
or recording, and a digest of everything else that the answer depends on, never the words.

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
# Deterministic errors, which are recorded; any other stops the recording, which can be resumed.
PERMANENT = (AudioRefused, DecodeInvalid, DecodeTruncated)


class NotOnTape(EngineError):
    """Nothing is recorded for a request."""

    code = "not_on_tape"
    hint = "Record the set again: make gate ARGS='--record SET'"


class Tape:
    """Answers by key.

    `missing` counts requests without an answer; `new` holds entries that are recorded but not yet written.
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
        """Call an engine and store its answer or error under `key`."""
        try:
            answer = ask()
        except PERMANENT as error:
            self._add({"key": key, "error": type(error).__name__})
            raise
        self._add({"key": key, "answer": form.dump_python(answer, mode="json", exclude_defaults=True)})
        return answer

    def _add(self, entry: Entry) -> None:
        self._entries[tuple(entry["key"])] = entry
        self.new.append(entry)


def digest(*parts: str) -> str:
    """Return a digest of 16 hexadecimal digits."""
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=8).hexdigest()


def read_lines(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the documents of a JSONL file, gzipped or not, without an incomplete last line."""
    if not file.exists():
        return
    opened = gzip.open if file.suffix == ".gz" else open
    with opened(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            if line.endswith("\n"):
                yield json.loads(line)


def write_packed(file: Path, documents: Iterable[dict[str, Any]]) -> None:
    """Write documents as gzipped JSONL, reproducibly."""
    text = "".join(json.dumps(one, separators=(",", ":"), ensure_ascii=False) + "\n" for one in documents)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
