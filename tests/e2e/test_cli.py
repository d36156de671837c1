"""The command line against a running stack."""

from __future__ import annotations

import io
import json
import os
import subprocess
from pathlib import Path

import httpx
import pytest
from rich.console import Console

from infra.settings import REPOSITORY
from services.cli.commands import demo
from services.cli.commands.demo import run_demo
from services.cli.samples import load_samples
from services.workers.children import as_environment
from services.workers.stack import Stack
from tests.processes.parts import python
from tests.processes.running_stack import RECORDINGS

pytestmark = [pytest.mark.models, pytest.mark.stack]
MENUS = REPOSITORY / "infra" / "samples" / "menus"


@pytest.fixture
def saycart(stack: Stack, client: httpx.Client):
    environment = {**os.environ, **as_environment(stack.settings), "NO_COLOR": "1", "COLUMNS": "200"}

    def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
        return python("-m", "services.cli.main", *words, env=environment, timeout_s=300)

    return run


def test_order_follows_a_recording_to_its_cart(saycart) -> None:
    done = saycart("order", RECORDINGS / "hc-01.flac", "--menu", "harbor-coffee", "--wait", "--json")
    assert done.returncode == 0, done.stderr
    order = json.loads(done.stdout)
    assert order["status"] == "completed"
    assert order["cart"]["lines"][0]["sku"] == "latte"
    shown = saycart("order", RECORDINGS / "hc-13.flac", "--menu", "harbor-coffee", "--wait")
    assert "needs review" in shown.stdout
    assert "We didn't hear anything" in shown.stdout


def test_an_exported_menu_can_be_imported_again(saycart, tmp_path: Path) -> None:
    exported = saycart("menu", "export", "harbor-coffee")
    assert exported.returncode == 0, exported.stderr
    copy = tmp_path / "menu.json"
    copy.write_text(exported.stdout)
    again = saycart("menu", "import", copy)
    assert "unchanged" in again.stdout, again.stderr
    broken = json.loads(exported.stdout)
    broken["items"][0]["option_groups"] = ["no-such-group"]
    copy.write_text(json.dumps(broken))
    refused = saycart("menu", "import", copy)
    assert refused.returncode == 1
    assert "/items/0/option_groups/0" in refused.stderr


def test_eval_and_check_decode_in_process(saycart, tmp_path: Path) -> None:
    rows = [json.loads(row) for row in (RECORDINGS / "gold.jsonl").read_text().splitlines()]
    gold = tmp_path / "gold.jsonl"
    gold.write_text("".join(json.dumps(row) + "\n" for row in rows if row["id"] in ("hc-01", "hc-13")))
    out = tmp_path / "predictions.jsonl"
    words = ("eval", "--menu", MENUS / "harbor-coffee.json", "--gold", gold, "--audio-dir", RECORDINGS)
    done = saycart(*words, "--out", out, "--report", tmp_path / "report")
    assert done.returncode == 0, done.stderr
    predictions = {row["id"]: row for row in map(json.loads, out.read_text().splitlines())}
    assert predictions["hc-01"]["decision"] == "accept"
    assert predictions["hc-13"]["decision"] == "review"
    assert predictions["hc-13"]["cart"] == {"lines": []}
    assert set(predictions["hc-01"]["ms"]) == {"transcribe", "decode", "validate"}
    figures = json.loads((tmp_path / "report" / "figures.json").read_text())
    assert (figures["rows"], figures["exact_carts"], figures["silent_errors"]) == (2, 2, 0)
    tried = saycart("menu", "check", MENUS / "harbor-coffee.json", "--try", "2")
    assert "2 of 2 generated orders came out right" in tried.stdout, tried.stderr


def test_doctor_finds_nothing_to_fix(saycart) -> None:
    found = saycart("doctor")
    assert found.returncode == 0, found.stdout
    assert "applies the mask" in found.stdout


def test_the_demo_orders_every_sample_and_sends_the_doubtful_ones_to_a_person(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No wrong cart may be accepted, and of the plain samples at most two may be sent to a person."""
    out, samples = io.StringIO(), load_samples()
    monkeypatch.setattr(demo, "load_samples", lambda: samples)
    assert run_demo(stack.base_url, stack.key, Console(file=out, width=200))
    assert "2 of 2 doubtful ones went to a person" in out.getvalue()
    missed = [sample for sample in samples if not sample.right]
    assert [one.row["id"] for one in missed if one.order and one.order.status == "completed"] == []
    assert len(missed) <= 2, out.getvalue()
