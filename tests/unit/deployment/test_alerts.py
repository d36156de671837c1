"""Dashboards, alert rules and the table of metrics use only metrics that are exported.

Rules and configuration are tried by Debian's `promtool`; without one those tests are skipped, and say so.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from prometheus_client import CollectorRegistry, generate_latest

from infra.blobs.folder import BlobFolder
from infra.observability import measures
from infra.settings import REPOSITORY, Settings
from services.api.counts import DatabaseCounts
from services.api.gate.limits import refusal_counter
from services.api.metrics import Metrics
from services.bootstrap import Container
from services.pipeline import problems
from tests.shown import labels_in, names_in
from tests.stand_ins import AWAY, Pipeline

PROMETHEUS = REPOSITORY / "infra/prometheus"
RUNBOOK = REPOSITORY / "docs/runbook/README.md"
BOARD = json.loads((REPOSITORY / "infra/grafana/saycart.json").read_text())
ALERTS = yaml.safe_load((PROMETHEUS / "alerts.yml").read_text())
SLO = yaml.safe_load((PROMETHEUS / "slo.yml").read_text())
NAME = re.compile(r"\bsaycart[a-z_]*(?::[a-z0-9_]+)*")
# Labels that Prometheus adds.
ITS_OWN = {"instance", "job", "le"}

needs_promtool = pytest.mark.skipif(
    shutil.which("promtool") is None, reason="no promtool here (apt-get install prometheus)"
)


def rules(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [rule for group in document["groups"] for rule in group["rules"]]


def panels() -> list[tuple[str, str]]:
    """Return the title and expression of each query of the dashboard."""
    return [
        (panel["title"], target["expr"]) for panel in BOARD["panels"] for target in panel.get("targets", ())
    ]


EXPRESSIONS = {
    **{f"alert {rule['alert']}": rule["expr"] for rule in rules(ALERTS)},
    **{f"record {rule['record']}": rule["expr"] for rule in rules(SLO)},
    **{f"panel {number}, {title}": expr for number, (title, expr) in enumerate(panels())},
}


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    """All metrics of a worker, of the API, and of a database with an order in it."""
    measures.set_part("decode")
    measures.initialize(problems.RARE, problems.TROUBLES)
    with measures.time_stage("decode"), measures.time_engine("decoder"):
        measures.observe_wait("decode", 1)
    with measures.time_sweep("sweep"):
        pass
    measures.observe_settled("typed", "completed", 1)
    measures.count_tokens("decoder", prompt=1, cached=0, completion=1, overruled=1)
    measures.observe_webhook("delivered", 1)
    home = tmp_path_factory.mktemp("home")
    box = Container(Settings(home=home, database_url="", redis_url=""))
    box.database.migrate()
    measures.watch(box.database, slots=1)
    pressure: Any = SimpleNamespace(refused=refusal_counter("orders_refused", "says", "code", ["overloaded"]))
    rates: Any = SimpleNamespace(refused=refusal_counter("requests_limited", "says", "limit", ["key"]))
    waiting: Any = SimpleNamespace(watchers=0)
    api = Metrics(box, pressure, waiting, rates)
    api.record("GET", "/", 200, 0.1)
    api.masked.labels("ticket-triage", "done").observe(0.1)
    pipeline = Pipeline(box.database, BlobFolder(home / "blobs"))
    pipeline.decoder.script = [AWAY]
    pipeline.until_settled(pipeline.typed())
    registry = CollectorRegistry()
    registry.register(DatabaseCounts(box))
    try:
        shown = [generate_latest(one).decode() for one in (measures.REGISTRY, registry)]
        return "".join([*shown, generate_latest(api.registry).decode()])
    finally:
        box.close()


@pytest.mark.parametrize("what", EXPRESSIONS)
def test_every_expression_names_what_is_exported(what: str, text: str) -> None:
    recorded = {rule["record"] for rule in rules(SLO)}
    named = set(NAME.findall(re.sub(r'"[^"]*"', '""', EXPRESSIONS[what])))
    assert named <= names_in(text) | recorded
    assert named or "up{" in EXPRESSIONS[what]


@pytest.mark.parametrize("what", EXPRESSIONS)
def test_every_label_that_is_asked_for_is_there(what: str, text: str) -> None:
    exported = labels_in(text)
    for name, matchers in re.findall(r"\b(saycart\w+)\{([^}]*)\}", EXPRESSIONS[what]):
        asked = set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", matchers))
        assert asked <= exported[name] | ITS_OWN, (name, asked)
        for bound in re.findall(r'\ble="([^"]+)"', matchers):
            assert re.search(rf'^{name}\{{[^}}]*le="{re.escape(bound)}"', text, re.MULTILINE), bound


def test_the_rules_labels_for_problems_are_those_that_are_counted() -> None:
    codes = set(re.findall(r'code="([a-z_]+)"', json.dumps(ALERTS).replace('\\"', '"')))
    kinds = set(re.findall(r'kind="([a-z_]+)"', json.dumps(ALERTS).replace('\\"', '"')))
    assert codes <= {code for _, code in problems.RARE}
    assert kinds <= {kind for kind, _ in problems.RARE} | {"transcription", "meaning"}


def test_every_alert_is_tried_and_has_its_place_in_the_runbook() -> None:
    tried = (PROMETHEUS / "alerts_test.yml").read_text()
    headings = re.findall(r"^## (\w+)$", RUNBOOK.read_text(), re.MULTILINE)
    for rule in rules(ALERTS):
        name = rule["alert"]
        assert f'alertname="{name}"' in tried, f"{name} has never fired"
        assert rule["annotations"]["runbook"] == f"docs/runbook/README.md#{name.lower()}"
        assert rule["labels"]["severity"] in ("page", "ticket")
    assert headings == [rule["alert"] for rule in rules(ALERTS)]


def test_the_table_of_metrics_is_whole(text: str) -> None:
    table = (REPOSITORY / "docs/metrics.md").read_text()
    listed = dict(re.findall(r"^\| `(saycart_[a-z_]+)` \|([^|]*)\|", table, re.MULTILINE))
    families = {re.sub(r"_(bucket|sum|count)$", "", name) for name in names_in(text)}
    assert set(listed) == families
    for name, labels in listed.items():
        exported = next(
            found for series, found in labels_in(text).items() if series in (name, f"{name}_count")
        )
        assert set(re.findall(r"`(\w+)`", labels)) == exported - {"le"}, name


@needs_promtool
def test_promtool_takes_rules_expressions_and_configuration(tmp_path: Path) -> None:
    for name in ("alerts.yml", "slo.yml", "prometheus.yml"):
        shutil.copy(PROMETHEUS / name, tmp_path)
    (tmp_path / "scraper.key").touch()
    drawn = [{"record": f"drawn:{number}", "expr": expr} for number, (_, expr) in enumerate(panels())]
    (tmp_path / "board.yml").write_text(yaml.safe_dump({"groups": [{"name": "board", "rules": drawn}]}))
    promtool("check", "config", str(tmp_path / "prometheus.yml"))
    promtool("check", "rules", str(tmp_path / "board.yml"))


@needs_promtool
def test_promtool_takes_what_is_exported(text: str) -> None:
    promtool("check", "metrics", given=text)


@needs_promtool
def test_each_alert_fires_when_it_should_and_not_else() -> None:
    assert "SUCCESS" in promtool("test", "rules", str(PROMETHEUS / "alerts_test.yml"))


def promtool(*arguments: str, given: str = "") -> str:
    done = subprocess.run(
        ["promtool", *arguments], input=given, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
