"""Generate docs/reference and the table of docs/quality.md: `make reference`. test_docs.py compares them."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from infra.settings import REPOSITORY, Settings
from infra.settings_engines import EngineSettings
from infra.settings_oidc import OidcSettings
from schemas.errors import SaycartError
from services.api.app import create_app
from services.api.problem_codes import STATUS, TITLES
from services.bootstrap import bootstrap
from services.cli.main import app
from tests.gate import quality

FOLDER = REPOSITORY / "docs/reference"
# Defaults that differ between machines.
PLACES = {"home": "`.saycart` in the checkout", "models_dir": "`~/.cache/saycart/models`"}
REFUSED = re.compile(r'RequestRefused\(\s*"(\w+)",\s*(\d{3})')
HEADS = {
    "api": "# API\n\nBodies, answers and examples: `/docs` and `/openapi.json` of a running saycart.",
    "cli": "# Command line\n\n`saycart COMMAND --help` has the options.",
    "settings": "# Settings\n\nEnvironment variables, with their defaults, read once when a process starts.",
    "errors": "# Errors\n\nThe `code` of a problem (RFC 9457) from the API; its `hint` says what to do.",
}


def variable(field: str) -> str:
    """The environment variable of a setting."""
    return {"database_url": "DATABASE_URL", "redis_url": "REDIS_URL"}.get(field, f"SAYCART_{field.upper()}")


def settings() -> Iterator[str]:
    """Every setting, in the order of the code."""
    parts = {"Service": Settings, "Engines": EngineSettings, "Sign-in by a provider": OidcSettings}
    for title, part in parts.items():
        yield f"\n## {title}\n"
        for name in set_in(part):
            field = Settings.model_fields[name]
            default = str(field.default).lower() if isinstance(field.default, bool) else field.default
            shown = PLACES.get(name) or (f"`{default}`" if default != "" else "empty")
            yield f"- `{variable(name)}` ({shown}): {' '.join((field.description or '').split())}"


def set_in(part: type) -> list[str]:
    return [name for name in part.__annotations__ if name in Settings.model_fields]


def cli(group: Any = None, path: str = "saycart") -> Iterator[str]:
    """Every command, with the first sentence of its help."""
    for name, command in (group or get_command(app)).commands.items():
        if getattr(command, "commands", None):
            yield from cli(command, f"{path} {name}")
        else:
            first = " ".join(command.help.split()).partition(". ")[0].removesuffix(".")
            yield f"- `{path} {name}`: {first}."


def errors() -> Iterator[str]:
    """Every code, with its status and title."""
    sources = "".join(path.read_text() for path in (REPOSITORY / "services").rglob("*.py"))
    statuses = {"method_not_allowed": "405"} | dict(REFUSED.findall(sources))
    for error in tree(SaycartError):
        statuses.setdefault(error.code, str(next(STATUS[c] for c in error.__mro__ if c in STATUS)))
    for code, title in TITLES.items():
        yield f"- `{code}` ({statuses[code]}): {title}."


def tree(error: type[SaycartError]) -> Iterator[type[SaycartError]]:
    yield error
    for below in error.__subclasses__():
        yield from tree(below)


def api() -> Iterator[str]:
    """Every operation of the OpenAPI document."""
    with tempfile.TemporaryDirectory() as home:
        parts = bootstrap(Settings(home=Path(home)))
        try:
            paths = create_app(parts).openapi()["paths"]
        finally:
            parts.close()
    for path, calls in paths.items():
        for method, call in calls.items():
            yield f"- `{method.upper()} {path}`: {call['summary']}.".replace("?.", "?")


def page(name: str) -> str:
    """The text of one of `HEADS`' pages."""
    lines = {"api": api, "cli": cli, "settings": settings, "errors": errors}[name]()
    head = f"{HEADS[name]} `make reference` writes this page from the code."
    return "\n".join([head, "", *lines, ""]).replace("\n\n\n", "\n\n")


if __name__ == "__main__":
    for each in HEADS:
        (FOLDER / f"{each}.md").write_text(page(each))
    quality.PAGE.write_text(quality.page())
