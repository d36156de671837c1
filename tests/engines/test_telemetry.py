"""The engines send no telemetry."""

from __future__ import annotations

import os
from pathlib import Path

from tests.processes.parts import python

HEAR = """
import numpy, services.transcription.whisper
from faster_whisper.vad import get_vad_model
get_vad_model()(numpy.zeros(2048, dtype=numpy.float32))
"""


def test_the_voice_detector_sends_no_telemetry(tmp_path: Path) -> None:
    """ONNX Runtime stores a machine id and its queued reports in the user's home."""
    env = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    env |= {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = python("-c", HEAR, env=env)
    assert done.returncode == 0, done.stderr
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
