"""One run of schemathesis against a served API, as a program of its own, and what it reports."""

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
    """How one run ended: cases that were sent, findings (none, if all held), and all that it printed."""

    cases: int
    wrong: list[str]
    printed: str


def attacked(served: Served, key: str, home: Path, *how: str, timeout_s: float = 540) -> Attack:
    """Run it with one of `served.keys`; `how` are options of `schemathesis run`.

    The document is the API's own, without `default`: else an answer that no call names would do.
    """
    document = httpx.get(f"{served.url}/openapi.json", trust_env=False).json()
    for operations in document["paths"].values():
        for operation in operations.values():
            del operation["responses"]["default"]
    (home / "openapi.json").write_text(json.dumps(document))
    report = home / f"{key}.json"
    shown = [f"-HAuthorization: {value}" for value in served.keys[key].values()]
    done = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli", "--config-file", HERE / "schemathesis.toml"),
            *("run", home / "openapi.json", "--url", served.url, *shown, *how),
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
    printed = done.stdout + done.stderr
    if not report.exists():
        return Attack(0, ["schemathesis did not run"], printed)
    told: dict[str, Any] = json.loads(report.read_text())
    wrong = [f"{found['title']}: {', '.join(found['operations'])}" for found in told["failures"]]
    wrong += [f"error: {error}" for error in told["errors"]]
    if told["operations"]["tested"] != sum(map(len, document["paths"].values())) or not told["complete"]:
        wrong.append(f"not every call was tried: {told['operations']}, {told['stop_reason']}")
    if done.returncode and not wrong:
        wrong.append(f"exit status {done.returncode}")
    return Attack(told["test_cases"]["generated"], wrong + served.hurt(), printed)
