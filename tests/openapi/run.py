"""Run schemathesis against a served API as a subprocess, and read its report."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from infra.settings import REPOSITORY
from schemas.shops.access import ALL_SCOPES, Scope
from tests.openapi.served import Served

HERE = Path(__file__).parent
SCOPES = {"all": ALL_SCOPES, "one": {Scope.ORDERS_READ}, "none": set[Scope]()}


@dataclass(frozen=True, slots=True)
class Attack:
    """Result of a run: number of cases sent, failures, and its output."""

    cases: int
    failures: list[str]
    output: str


def attacked(served: Served, key: str, home: Path, *how: str, timeout_s: float = 540) -> Attack:
    """Run schemathesis with one of `served.keys`; `how` are options of `schemathesis run`.

    `default` is removed from the API's document, since otherwise undocumented statuses would pass.
    """
    document = httpx.get(f"{served.url}/openapi.json", trust_env=False).json()
    for operations in document["paths"].values():
        for operation in operations.values():
            del operation["responses"]["default"]
    (home / "openapi.json").write_text(json.dumps(document))
    report = home / f"{key}.json"
    headers = [f"-HAuthorization: {value}" for value in served.keys[key].values()]
    done = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli", "--config-file", HERE / "schemathesis.toml"),
            *("run", str(home / "openapi.json"), "--url", served.url, *headers, *how),
            *("--no-color", "--report", "json", "--report-json-path", report),
        ],
        cwd=REPOSITORY,
        env={
            **os.environ,
            "SCHEMATHESIS_HOOKS": "tests.openapi.hooks",
            "SAYCART_FUZZ_SCOPES": " ".join(SCOPES[key]),
        },
        capture_output=True,
        text=True,
        timeout=timeout_s,
    )
    output = done.stdout + done.stderr
    if not report.exists():
        return Attack(0, ["schemathesis did not run"], output)
    result: dict[str, Any] = json.loads(report.read_text())
    failures = [f"{one['title']}: {', '.join(one['operations'])}" for one in result["failures"]]
    failures += [f"error: {error}" for error in result["errors"]]
    tested, calls = result["operations"]["tested"], sum(map(len, document["paths"].values()))
    if tested != calls or not result["complete"]:
        failures.append(f"not every call was tested: {result['operations']}, {result['stop_reason']}")
    if done.returncode and not failures:
        failures.append(f"exit status {done.returncode}")
    return Attack(result["test_cases"]["generated"], failures + served.faults(), output)
