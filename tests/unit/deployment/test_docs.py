"""The documents match the code: commands, variables and make targets. `make docs` checks the links."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from infra.settings import REPOSITORY, Settings
from schemas.errors import TooMuchToRead
from schemas.open_questions import STAFF_ANSWERED, STAFF_ASK
from services.cli.main import app
from tests import reference
from tests.gate import quality

# Written by `make reference` and `make licences`.
GENERATED = {f"docs/reference/{name}.md" for name in reference.HEADS} | {"docs/licences.md"}
# Set by one of our processes for another, not by an operator.
INTERNAL = {f"SAYCART_{name}" for name in ("READY_FILE", "CHILD_OF", "API_FD", "METRICS_DIR", "COMMIT")}


def documents() -> list[Path]:
    """Return the project's Markdown files, without hidden folders."""
    found = REPOSITORY.rglob("*.md")
    return [p for p in found if not any(part.startswith(".") for part in p.relative_to(REPOSITORY).parts)]


def of_today() -> list[Path]:
    """Return all documents except the changelog, which names removed settings, targets and commands."""
    return [document for document in documents() if document.name != "CHANGELOG.md"]


@pytest.mark.parametrize("name", reference.HEADS)
def test_the_reference_is_what_the_code_says(name: str) -> None:
    assert (reference.FOLDER / f"{name}.md").read_text() == reference.page(name), "run `make reference`"


def test_the_figures_of_quality_are_those_of_the_recorded_rows() -> None:
    assert quality.PAGE.read_text() == quality.page(), "run `make reference`"
    front = (REPOSITORY / "README.md").read_text().replace("**", "")
    assert [row for row in map(quality.in_readme, quality.IN_README) if row not in front] == []


def test_the_site_shows_every_page_and_at_most_twenty_by_hand() -> None:
    pages = {str(path.relative_to(REPOSITORY)) for path in (REPOSITORY / "docs").rglob("*.md")}
    shown = re.findall(r": (docs/\S+\.md)$", (REPOSITORY / "docs/mkdocs.yml").read_text(), re.M)
    assert pages == set(shown)
    assert len(pages - GENERATED) <= 20


def test_variables_exist() -> None:
    known = {reference.variable(field) for field in Settings.model_fields} | INTERNAL
    named = {
        (name, document)
        for document in of_today()
        for name in re.findall(r"SAYCART_[A-Z_]*[A-Z]", document.read_text())
    }
    assert {one for one in named if one[0] not in known} == set()


def test_make_targets_exist() -> None:
    makefile = (REPOSITORY / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z][a-z-]*):", makefile, re.MULTILINE))
    named = {
        (target, document)
        for document in of_today()
        for piece in code_of(document)
        for target in re.findall(r"(?:^|[`\s])make ([a-z][a-z-]*)", piece)
    }
    assert {one for one in named if one[0] not in targets} == set()


def code_of(document: Path) -> list[str]:
    """Return the code of a document: in prose the same words may mean something else."""
    text = document.read_text()
    lines = re.findall(r"^ {4}((?:make|\S*saycart) [^\n]*)", text, re.MULTILINE)
    return lines + re.findall(r"```.*?```|`[^`\n]+`", text, re.DOTALL)


def test_commands_exist() -> None:
    known: Any = get_command(app)
    # Not the user `saycart` after `sudo -u` or in a crontab.
    said = re.compile(r"(?:^|(?<!-u)(?<!\*)[`\s]|bin/)saycart ([a-z][a-z-]*)(?: ([a-z][a-z-]*))?(?![\w/])")
    unknown = set[tuple[str, str, Path]]()
    for document in of_today():
        for first, second in (words for piece in code_of(document) for words in said.findall(piece)):
            command = known.commands.get(first)
            held = getattr(command, "commands", {})
            wrong = held and second and not command.invoke_without_command and second not in held
            if command is None or wrong:
                unknown.add((first, second, document))
    assert unknown == set()


def test_every_finding_is_documented_and_every_documented_one_exists() -> None:
    used = set()
    for name in (
        "validation/allergy.py",
        "validation/facts.py",
        "validation/decide.py",
        "validation/whole_cart.py",
        "pipeline/stages.py",
        "pipeline/review.py",
    ):
        source = (REPOSITORY / "services" / name).read_text()
        used |= set(re.findall(r'(?:Finding\.(?:blocking|info)\(\s*|blocking\(menu, )"([a-z_]+)"', source))
    used |= {TooMuchToRead.code, STAFF_ASK, STAFF_ANSWERED}
    documented = set(re.findall(r"^- `([a-z_]+)`:", (REPOSITORY / "docs" / "findings.md").read_text(), re.M))
    assert used == documented


DECISIONS = sorted((REPOSITORY / "infra/adr").glob("[0-9]*.md"))
NUMBERS = {int(path.name[:4]) for path in DECISIONS}


def test_the_table_of_decisions_is_what_there_is() -> None:
    rows = (REPOSITORY / "infra/adr/README.md").read_text()
    titles = [decision.read_text().splitlines()[0] for decision in DECISIONS]
    heads = [re.fullmatch(r"# (\d+)\. (.+)", title).groups() for title in titles]  # type: ignore[union-attr]
    wanted = [(*head, decision.name) for head, decision in zip(heads, DECISIONS, strict=True)]
    assert re.findall(r"^- \[(\d+)\. (.+?)\]\((.+?)\)$", rows, re.M) == wanted
    assert [int(number) for number, _, _ in wanted] == [int(path.name[:4]) for path in DECISIONS]


def test_decisions_that_are_cited_stand() -> None:
    folders = [REPOSITORY / name for name in ("infra", "schemas", "services", "tests", "docs")]
    files = [p for folder in folders for kind in ("py", "md", "yml", "sh") for p in folder.rglob(f"*.{kind}")]
    cited = {(int(n), p.name) for p in files for n in re.findall(r"\bADR (\d+)", p.read_text())}
    assert [(n, name) for n, name in sorted(cited) if n not in NUMBERS] == []
