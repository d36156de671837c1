"""The library that `make engine` or the image's build compiled is used only where it can run."""

from __future__ import annotations

import importlib.metadata
import sys
from pathlib import Path

import pytest

from services.decoding.server.llama import compiled

NAME = f"lib/llama-{importlib.metadata.version('xllamacpp')}"
THIS = next(line for line in Path("/proc/cpuinfo").read_text().splitlines(keepends=True) if "flags" in line)


@pytest.mark.parametrize(
    ("folder", "processor", "used"),
    [
        ("lib/llama-2020.1.1", None, False),
        (NAME, None, True),
        (NAME, THIS, True),
        (NAME, THIS.replace("flags", "flags\t: amx_of_2030", 1), False),
    ],
    ids=["of another version", "for every processor", "for this processor", "for another processor"],
)
def test_a_compiled_library_is_used_where_it_can_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, processor: str | None, used: bool
) -> None:
    library = tmp_path / folder
    library.mkdir(parents=True)
    if processor:
        (library / "processor").write_text(processor)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert compiled() == (library if used else None)
