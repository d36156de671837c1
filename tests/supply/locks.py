"""Third-party packages, weights and scripts, read from the files that pin them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
# Locks, and the names of their environments in tables.
LOCKS = {
    "requirements.lock": "default",
    "requirements-train.lock": "train",
    "requirements-vllm.lock": "vllm",
    "requirements-supply.lock": "supply",
    "requirements-docs.lock": "docs",
    "requirements-engine.lock": "engine",
    "tests/golden/speak/requirements.lock": "speak",
}
# The pages' scripts are part of a default install; those of the browser tests are not.
VENDORED = {"services/web/static/vendor": "default", "tests/browser/vendor": "tests"}
_ENTRY = re.compile(r"^(?P<name>[A-Za-z0-9][\w.-]*)(\[[^\]]*\])?==(?P<version>[^\s;\\]+)( ; [^\\#]+)?")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})\b")


@dataclass(frozen=True, slots=True)
class Pin:
    """An entry of a lock: normalized name, version, and sorted sha256 in hex."""

    name: str
    version: str
    hashes: tuple[str, ...] = ()


def normal(name: str) -> str:
    """Normalize a package's name (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def parse(text: str) -> list[Pin]:
    """Parse a lock that uv wrote: entries start at the margin, the rest is indented.

    Raises:
        ValueError: an entry isn't a pin but, for example, a range or a URL.
    """
    found: list[Pin] = []
    for block in re.split(r"\n(?=\S)", text):
        if not block.strip() or block.startswith("#"):
            continue
        entry = _ENTRY.match(block)
        if entry is None:
            raise ValueError(f"not a pin: {block.splitlines()[0]!r}")
        hashes = tuple(sorted(_HASH.findall(block)))
        found.append(Pin(normal(entry["name"]), entry["version"], hashes))
    return found


def pins(lock: str) -> list[Pin]:
    """Return the entries of one of `LOCKS`."""
    return parse((ROOT / lock).read_text())


def models() -> list[dict[str, Any]]:
    """Return the rows of the model lock, see `infra/weights/lock.py`."""
    found: list[dict[str, Any]] = json.loads((ROOT / "infra/weights/models.lock.json").read_text())["models"]
    return found


def vendored(folder: str) -> list[dict[str, str]]:
    """Return the rows of a manifest of `VENDORED`: file, package, version, licence, sha256."""
    found: list[dict[str, str]] = json.loads((ROOT / folder / "manifest.json").read_text())["files"]
    return found
