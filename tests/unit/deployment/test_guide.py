"""The code blocks of all pages parse, and those of docs/operations.md do what the page says."""

from __future__ import annotations

import ast
import configparser
import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

import pytest
import typer
import yaml
from typer.main import get_command

from infra.settings import REPOSITORY, Settings
from infra.weights.adapters import adapter_for
from services.cli.main import app
from services.decoding.hosts.variables import KEY_ENV
from services.decoding.server.__main__ import _parser as reader_words

PAGES = [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md", *(REPOSITORY / "docs").rglob("*.md")]
PAGES += [page for page in (REPOSITORY / "services").rglob("README.md") if "node_modules" not in page.parts]
TEXT = {str(page.relative_to(REPOSITORY)): page.read_text() for page in sorted(PAGES)}
GUIDE = TEXT["docs/operations.md"].split("## The parts")[0]
UNITS = {path.name: path for path in sorted((REPOSITORY / "infra/systemd").iterdir())}
CHECKOUT = "/opt/saycart"
ENGINE = "services.decoding.server"


class Block(NamedTuple):
    """A code block, dedented, and the line before it. The default language is shell."""

    before: str
    language: str
    text: str


def every_block(text: str) -> list[Block]:
    """Return all code blocks, fenced or indented by four."""
    found = re.finditer(r"^ *```(\w*)\n(.*?)^ *```$|(?<=\n\n)((?: {4}[^\n]*\n)+)", text, re.M | re.S)
    return [
        Block(text[: one.start()].rstrip().rpartition("\n")[2], one[1] or "sh", dedent(one[2] or one[3]))
        for one in found
    ]


def blocks(text: str) -> list[str]:
    """Return the shell blocks."""
    return [block.text for block in every_block(text) if block.language == "sh"]


def in_bash(text: str) -> None:
    done = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


DATA = {"json", "yaml", "text"}  # `text` is output, or a prompt
PARSERS: dict[str, Callable[[str], object]] = {
    "sh": in_bash, "python": ast.parse, "py": ast.parse, "json": json.loads, "yaml": yaml.safe_load,
}  # fmt: skip
# Pieces of the blocks that `make newcomer`, `make packages` and tests run as they stand.
RUN = {
    "README.md": ("make demo", "key="),
    "docs/first-order.md": (
        "saycart run\n", "menu import infra", "class Till", "import { Saycart }", "A=", "menu template",
    ),
    "docs/masked.md": ("from our_tasks", "by_grammar", "TASKS = Tasks"),
    "docs/operations.md": ("CREATE ROLE saycart_app",),
    "services/clients/masked/README.md": ("class Ticket",),
}  # fmt: skip


def commands(text: str, program: str) -> list[list[str]]:
    """Return the arguments of each call of `program` in shell blocks, whatever precedes it."""
    joined = "\n".join(blocks(text)).replace("\\\n", " ")
    found = re.findall(rf"(?:^|[\s/(]){re.escape(program)} ([^\n|&;<>]*)", joined, re.MULTILINE)
    return [words_of(line) for line in found]


def words_of(line: str) -> list[str]:
    """Split a command into words, without the end of quotes or `$(...)` around it."""
    line = line.rstrip().removesuffix('")')
    try:
        return shlex.split(line, comments=True)
    except ValueError:
        return shlex.split(line[: max(line.rfind(quote) for quote in "\"'")], comments=True)


def environment(text: str) -> str:
    """Return the lines that a page appends to /etc/saycart.env."""
    appended = re.findall(r"tee -a /etc/saycart\.env >/dev/null <<'EOF'\n(.*?)^EOF$", text, re.DOTALL | re.M)
    return "".join(appended)


ENVIRONMENT = "".join(environment(block) for block in blocks(GUIDE))
LINES = dict(line.split("=", 1) for line in ENVIRONMENT.splitlines())


@pytest.mark.parametrize("page", TEXT)
def test_commands_are_run_by_a_test_or_marked(page: str) -> None:
    for block in every_block(TEXT[page]):
        PARSERS.get(block.language, str)(block.text)
        run = block.language in DATA or any(piece in block.text for piece in RUN.get(page, ()))
        assert run or block.before.endswith("Not run by a test:") or "No test runs" in TEXT[page], block
    assert [piece for piece in RUN.get(page, ()) if piece not in TEXT[page]] == []


@pytest.mark.parametrize("page", TEXT)
def test_the_command_line_takes_every_command_as_it_stands(page: str) -> None:
    """Options and values; test_docs.py checks the names of commands."""
    known: Any = get_command(app)
    refused = list[str]()
    for words in commands(TEXT[page], "saycart"):
        command, rest = known, list(words)
        while rest and rest[0] in getattr(command, "commands", ()):
            command = command.commands[rest.pop(0)]
        if command is known:  # the user or database `saycart`
            continue
        try:
            command.make_context("saycart", rest)
        except typer.BadParameter as error:
            if "does not exist" not in error.message:  # the reader's own file
                refused.append(f"{words}: {error.message}")
    assert refused == []


def test_every_line_of_the_file_is_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {f"SAYCART_{name.upper()}" for name in Settings.model_fields} | {"DATABASE_URL", "REDIS_URL"}
    assert {name for name in LINES if not name.startswith("AWS_")} <= known
    # systemd reads lines verbatim; a shell would interpret spaces, quotes and `#`.
    assert all(re.fullmatch(r"[A-Z_]+=\S+", line) for line in ENVIRONMENT.splitlines())
    for name, value in LINES.items():
        monkeypatch.setenv(name, value)
    Settings()


def unit(name: str) -> configparser.ConfigParser:
    read = configparser.ConfigParser(interpolation=None, strict=True)
    read.optionxform = str  # type: ignore[assignment,method-assign]
    read.read_string(UNITS[name].read_text().replace("\\\n", " "))
    return read


@pytest.mark.parametrize("name", UNITS)
def test_a_unit_goes_on_and_has_no_rights(name: str) -> None:
    service = unit(name)["Service"]
    assert (service["User"], service["Restart"]) == ("saycart", "always")
    assert "useradd --system --home-dir /var/lib/saycart saycart" in GUIDE
    assert service["EnvironmentFile"] == "/etc/saycart.env"
    # systemd creates both folders for the user.
    assert LINES["SAYCART_HOME"] == f"/var/lib/{service['StateDirectory']}"
    assert LINES["SAYCART_MODELS_DIR"] == f"/var/cache/{service['CacheDirectory']}"
    assert service["WorkingDirectory"] == CHECKOUT
    assert unit(name)["Unit"]["StartLimitIntervalSec"] == "0"
    assert service["ExecStartPre"].split()[:3] == [f"{CHECKOUT}/.venv/bin/saycart", "models", "fetch"]
    assert f"infra/systemd/{name}" in GUIDE, "the guide has to name it"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd here")
@pytest.mark.parametrize("name", UNITS)
def test_systemd_takes_a_unit(name: str, tmp_path: Path) -> None:
    here = (
        UNITS[name].read_text().replace(f"{CHECKOUT}/.venv/bin", str(Path(shutil.which("true") or "").parent))
    )
    here = re.sub(r"(ExecStart(?:Pre)?=\S+/)(?:saycart|python)", r"\1true", here)
    (tmp_path / name).write_text(here)
    done = subprocess.run(
        ["systemd-analyze", "verify", tmp_path / name], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_decode_server_of_its_own_is_started_as_the_workers_ask_it() -> None:
    by_hand = {words[0]: words[1:] for words in commands(TEXT["docs/engines.md"], "python -m")}
    default = Settings.model_fields["llm_model"].default
    service = unit("saycart-reader.service")["Service"]
    python, *words = shlex.split(service["ExecStart"])
    assert [python, *words[:2]] == [f"{CHECKOUT}/.venv/bin/python", "-m", ENGINE]
    assert words[2:] == by_hand[ENGINE], "docs/engines.md has the same"
    args = reader_words().parse_args(words[2:])
    assert args.host == "0.0.0.0"
    assert LINES["SAYCART_LLM_URL"].rpartition(":")[2] == str(args.port)
    assert str(args.model) == f"${{SAYCART_MODELS_DIR}}/{default}"
    assert service["ExecStartPre"].split()[3:] == [default]
    assert REPOSITORY / args.adapter == adapter_for(default)
    assert f"echo {KEY_ENV}={LINES['SAYCART_LLM_API_KEY']} |" in GUIDE
    assert f"export {KEY_ENV}={LINES['SAYCART_LLM_API_KEY']} " in "\n".join(blocks(TEXT["docs/engines.md"]))
