"""What `tests/bench/engine/gpu.py` makes of a device and of answers; vLLM itself is not started."""

from __future__ import annotations

import stat
import time
from pathlib import Path
from typing import Any

import pytest

from tests.bench.engine import gpu

SMI = """#!/bin/sh
case "$1" in
*utilization*) echo 83 ;;
*memory*) echo 4096 ;;
*) echo 570.1 ;;
esac
"""


def test_a_device_tells_how_busy_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(SMI)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    found: dict[str, Any] = {}
    with gpu.busy(found):
        time.sleep(0.8)
    assert found == {"device_busy": 83, "device_mib": 4096}


def test_without_one_nothing_is_said_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found: dict[str, Any] = {}
    with gpu.busy(found):
        pass
    assert found == {"device_busy": None, "device_mib": None}


@pytest.mark.parametrize("device", ["NVIDIA X", None])
def test_the_report_names_the_device_or_says_that_there_was_none(device: str | None) -> None:
    load = {"orders": 8, "refused": 0, "orders_per_s": 2.5, "tokens_per_s": 30.0, "p50_s": 0.4, "p95_s": 0.9}
    text = gpu.report(
        {
            "machine": {"device": device, "driver": "570.1", "cuda": "12.9", "packages": {"vllm": "0.32.0"}},
            "about": {"device": "cpu", "date": "2026-11-23"},
            "reader 4 masked": load | {"device_busy": 83},
            "schema 4 guidance": load,
        }
    )
    assert ("NVIDIA X" in text) == bool(device)
    assert ("no GPU" in text) != bool(device)
    assert "| reader | 4 | masked | 8 | 0 | 2.5 | 30.0 | 0.4 / 0.9 | 83% |" in text
    assert "| schema | 4 | guidance | 8 | 0 | 2.5 | 30.0 | 0.4 / 0.9 | – |" in text
