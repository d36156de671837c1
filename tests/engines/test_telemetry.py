"""Nothing of ours tells anybody about its use."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from infra.settings import REPOSITORY

HEAR = """
import numpy, services.transcription.whisper
from faster_whisper.vad import get_vad_model
get_vad_model()(numpy.zeros(2048, dtype=numpy.float32))
"""


def test_finding_speech_reports_to_nobody(tmp_path: Path) -> None:
    """ONNX Runtime keeps an id of the machine, and what it is going to send, in the home of its user."""
    env = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    done = subprocess.run(
        [sys.executable, "-c", HEAR],
        cwd=REPOSITORY,
        env={**env, "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
