"""Write docs/licences.md: every locked package, weight and vendored file with its licence.

    python -m tests.supply.licences .venv-supply/bin/python

The licence of an installed package is read from its metadata, that of another from the page as it stands, and
only that of a pin which neither knows is asked of the package index, with the pip of the Python that is
named: the one that comes with Python 3.11 leaves licence expressions out of its reports. Exits with 1, and
names the row, where a licence is not one that `spdx.py` takes; the page is written all the same.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from importlib.metadata import distributions
from pathlib import Path

from . import carried, locks, spdx

PAGE = locks.ROOT / "docs/licences.md"
TEXT = Path(__file__).with_name("licences.txt")
_LIST = re.compile(r"^\*\*(.+)\*\*: (`.+)\.$", re.MULTILINE)
_PACKAGE = re.compile(r"`([a-z0-9-]+)` ([^\s,]+)")
Key = tuple[str, str]


def used() -> dict[Key, list[str]]:
    """Return the environments of each pin, by name and version."""
    found: dict[Key, list[str]] = {}
    for lock, environment in locks.LOCKS.items():
        for pin in locks.pins(lock):
            names = found.setdefault((pin.name, pin.version), [])
            names.extend([environment] if environment not in names else [])
    return dict(sorted(found.items()))


def installed() -> dict[Key, str]:
    """Return the licences of this environment's packages."""
    found = {}
    for package in distributions():
        name = locks.normal(package.metadata["Name"])
        found[name, package.version] = spdx.licence(name, package.metadata.json)
    return found


def on_page(text: str) -> dict[Key, str]:
    """Return the licences of packages on the page."""
    return {
        (name, version): licence
        for licence, packages in _LIST.findall(text)
        for name, version in _PACKAGE.findall(packages)
    }


def asked(keys: Iterable[Key], python: str) -> dict[Key, str]:
    """Return the licences in the index's metadata, by a dry run of pip: nothing is installed or run.

    `spdx.UNKNOWN` for one that pip does not find.
    """
    found = {}
    for name, version in keys:
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder, "report.json")
            command = [python, "-m", "pip", "install", "--dry-run", "--no-deps", "--ignore-installed"]
            # Only wheels: pip would run a source archive's build script to learn its metadata.
            command += [
                "--only-binary",
                ":all:",
                "--quiet",
                "--disable-pip-version-check",
                "--ignore-requires-python",
            ]
            command += ["--target", folder, "--report", str(report), f"{name}=={version}"]
            # A universal lock has pins without a wheel for this Python.
            for more in ([], ["--python-version", "3.13"]):
                if not subprocess.run([*command, *more], capture_output=True).returncode:
                    break
            reported = json.loads(report.read_text())["install"] if report.exists() else [{"metadata": {}}]
        found[name, version] = spdx.licence(name, reported[0]["metadata"])
    return found


def known(text: str) -> dict[Key, str]:
    """Return the licences known from this environment or the page."""
    found = on_page(text) | installed()
    return {key: licence for key, licence in found.items() if licence != spdx.UNKNOWN}


def faults(licences: dict[Key, str]) -> Iterator[str]:
    """Yield a line for each licence that is not allowed."""
    for (name, version), licence in licences.items():
        if (wrong := spdx.refused(licence)) and name not in spdx.TAKEN:
            yield f"{name} {version}: {', '.join(wrong)} is not a licence that tests/supply/spdx.py takes"
    for model in locks.models():
        if wrong := spdx.refused(model["licence"]):
            yield f"{model['name']}: {', '.join(wrong)}"
    for folder in locks.VENDORED:
        for row in locks.vendored(folder):
            if wrong := spdx.refused(row["licence"]):
                yield f"{folder}/{row['file']}: {', '.join(wrong)}"
    for wheel, names in carried.libraries(carried.site()).items():
        for name in names:
            if name not in carried.LIBRARIES:
                yield f"{wheel} carries lib{name}, which tests/supply/carried.py does not have"


def page(licences: dict[Key, str], libraries: dict[str, list[str]]) -> str:
    """Return the text of docs/licences.md."""
    environments = used()
    shipped = [key for key, names in environments.items() if "default" in names]
    others = [key for key, names in environments.items() if "default" not in names]
    taken = [
        f"| `{name}` | {next(licences[key] for key in environments if key[0] == name)} | {why} |"
        for name, why in spdx.TAKEN.items()
    ]
    inside = [f"| `{wheel}` | {_named(names)} |" for wheel, names in libraries.items()]
    weights = [f"| `{m['name']}` | {m['upstream']} | {m['licence']} |" for m in locks.models()]
    scripts = [
        f"| `{folder}/{row['file']}` | {row['package']} {row['version']} | {row['licence']} |"
        for folder in locks.VENDORED
        for row in locks.vendored(folder)
    ]
    parts = {"TAKEN": taken, "INSIDE": inside, "WEIGHTS": weights, "SCRIPTS": scripts}
    parts |= {"SHIPPED": _by_licence(shipped, licences), "OTHERS": _by_licence(others, licences)}
    text = TEXT.read_text().replace("{ALLOWED}", ", ".join(sorted(spdx.ALLOWED, key=str.lower)))
    for name, lines in parts.items():
        text = text.replace(f"{{{name}}}", "\n".join(lines))
    return text


def _by_licence(keys: list[Key], licences: dict[Key, str]) -> list[str]:
    """Return a paragraph for each licence, with its packages."""
    by: dict[str, list[str]] = {}
    for name, version in keys:
        by.setdefault(licences[name, version], []).append(f"`{name}` {version}")
    found = [f"**{licence}**: {', '.join(packages)}.\n" for licence, packages in sorted(by.items())]
    return "\n".join(found).splitlines()


def _named(names: list[str]) -> str:
    """Return libraries grouped by licence, those not allowed first and in bold."""
    by: dict[str, list[str]] = {}
    for name in names:
        by.setdefault(carried.LIBRARIES.get(name, spdx.UNKNOWN), []).append(name)
    parts = {licence: f"{licence} ({', '.join(sharing)})" for licence, sharing in by.items()}
    first = [f"**{text}**" for licence, text in parts.items() if spdx.refused(licence)]
    return "; ".join(first + [text for licence, text in parts.items() if not spdx.refused(licence)])


def main(python: str = sys.executable) -> int:
    """Write the page; return the exit status. `python` needs pip 24 or later."""
    found = known(PAGE.read_text() if PAGE.exists() else "")
    found |= asked([key for key in used() if key not in found], python)
    licences = {key: found[key] for key in used()}
    PAGE.write_text(page(licences, carried.libraries(carried.site())))
    wrong = list(faults(licences))
    print(
        "\n".join([*wrong, f"{PAGE.relative_to(locks.ROOT)}: {len(licences)} packages, {len(wrong)} faults"])
    )
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
