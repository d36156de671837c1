"""Writes docs/sbom.cdx.json: what a default install consists of, as CycloneDX.

    .venv-supply/bin/python -m tests.supply.sbom

The packages of requirements.lock with their hashes and who needs whom; what their wheels carry
(`carried.PROGRAMS`); the weights of the model lock and this repository's adapters; the scripts of the
pages. The same locks give the same bytes: there is no serial number and no time in it. It names packages by
package URL and no registry's address.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterable
from functools import lru_cache

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, Property, XsUri
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

from . import carried, locks
from .licences import PAGE, on_page

SBOM = locks.ROOT / "docs/sbom.cdx.json"
_licence = LicenseFactory().make_from_string


def _hashes(values: Iterable[str]) -> list[HashType]:
    return [HashType(alg=HashAlgorithm.SHA_256, content=value) for value in values]


def _distribution(purl: str, hashes: Iterable[str]) -> ExternalReference:
    """Where bytes come from. The package URL stands for the address: any index may serve it."""
    return ExternalReference(
        type=ExternalReferenceType.DISTRIBUTION,
        url=XsUri(purl),
        hashes=_hashes(hashes),
        comment="every locked file",
    )


@lru_cache
def _project() -> dict[str, object]:
    found: dict[str, object] = tomllib.loads((locks.ROOT / "pyproject.toml").read_text())["project"]
    return found


def product() -> Component:
    """saycart itself."""
    return Component(
        name="saycart",
        version=str(_project()["version"]),
        type=ComponentType.APPLICATION,
        bom_ref="saycart",
        licenses=[_licence(str(_project()["license"]))],
    )


def packages(pins: list[locks.Pin]) -> list[Component]:
    """One component a pin. What only tests and lint need is `optional`."""
    licences = on_page(PAGE.read_text())
    needed = served(pins)
    return [
        Component(
            name=pin.name,
            version=pin.version,
            type=ComponentType.LIBRARY,
            bom_ref=pin.purl,
            purl=PackageURL.from_string(pin.purl),
            scope=ComponentScope.REQUIRED if pin.name in needed else ComponentScope.OPTIONAL,
            licenses=[_licence(licences[pin.name, pin.version])],
            external_references=[_distribution(pin.purl, pin.hashes)],
            properties=[Property(name="saycart:marker", value=pin.marker)] if pin.marker else [],
            components=[
                Component(
                    name=program.name,
                    version=program.version,
                    type=ComponentType.APPLICATION,
                    bom_ref=f"{pin.purl}#{program.name}",
                    cpe=f"cpe:2.3:a:{program.cpe}:{program.version}:*:*:*:*:*:*:*",
                    licenses=[_licence(program.licence)],
                )
                for program in carried.PROGRAMS
                if program.wheel == pin.name
            ],
        )
        for pin in pins
    ]


def served(pins: list[locks.Pin]) -> set[str]:
    """Names of the pins that saycart needs to run, by way of others too."""
    wanted = [locks.bare(line) for line in _project()["dependencies"]]  # type: ignore[attr-defined]
    found: set[str] = set()
    while wanted:
        name = wanted.pop()
        if name not in found:
            found.add(name)
            wanted += [pin.name for pin in pins if name in pin.needed_by]
    return found


def models() -> list[Component]:
    """The weights that can be fetched, and the adapters, each with its files."""
    found = [
        Component(
            name=model["name"],
            group=model["upstream"].split("/")[0],
            type=ComponentType.MACHINE_LEARNING_MODEL,
            bom_ref=f"model:{model['name']}",
            purl=PackageURL.from_string(f"pkg:{model.get('home', 'huggingface')}/{model['upstream']}"),
            scope=ComponentScope.REQUIRED if model["default"] else ComponentScope.OPTIONAL,
            licenses=[_licence(model["licence"])],
            components=_files(model["name"], {file["name"]: file["sha256"] for file in model["files"]}),
            external_references=[
                _distribution(f"pkg:pypi/{piece['package']}@{piece['version']}", [piece["sha256"]])
                for piece in model["pieces"]
            ],
        )
        for model in locks.models()
    ]
    for folder, files in locks.adapters().items():
        adapter = Component(
            name=folder,
            type=ComponentType.MACHINE_LEARNING_MODEL,
            bom_ref=f"model:{folder}",
            licenses=[_licence("Apache-2.0")],
            components=_files(folder, files),
        )
        found.append(adapter)
    return found


def scripts() -> list[Component]:
    """The vendored scripts of the pages, by package."""
    rows = locks.vendored("services/web/static/vendor")
    found = []
    for name, version in dict.fromkeys((row["package"], row["version"]) for row in rows):
        files = [row for row in rows if row["package"] == name]
        purl = f"pkg:npm/{name}@{version}"
        found.append(
            Component(
                name=name,
                version=version,
                type=ComponentType.LIBRARY,
                bom_ref=purl,
                purl=PackageURL.from_string(purl),
                scope=ComponentScope.REQUIRED,
                licenses=[_licence(files[0]["licence"])],
                components=_files(purl, {row["file"]: row["sha256"] for row in files}),
            )
        )
    return found


def _files(owner: str, hashes: dict[str, str]) -> list[Component]:
    return [
        Component(name=name, type=ComponentType.FILE, bom_ref=f"file:{owner}#{name}", hashes=_hashes([value]))
        for name, value in hashes.items()
    ]


def bom() -> Bom:
    """All of it, with the edges that the lock's comments tell."""
    pins = locks.pins("requirements.lock")
    libraries, weights, vendored = packages(pins), models(), scripts()
    found = Bom(components=[*libraries, *weights, *vendored])
    found.metadata.component = product()
    found.metadata.properties = [Property(name="cdx:reproducible", value="true")]
    found.serial_number = found.metadata.timestamp = None  # type: ignore[assignment]
    owners: dict[str, list[Component]] = {"saycart": [found.metadata.component]}
    for component in libraries:
        owners.setdefault(component.name, []).append(component)
    direct = [c for c, pin in zip(libraries, pins, strict=True) if "saycart" in pin.needed_by]
    found.register_dependency(found.metadata.component, [*direct, *weights, *vendored])
    for name, components in owners.items():
        uses = [c for c, pin in zip(libraries, pins, strict=True) if name in pin.needed_by]
        for component in components if name != "saycart" else []:
            found.register_dependency(component, uses)
    return found


def main() -> int:
    """Writes the file; 1 where it is not valid CycloneDX."""
    text = JsonV1Dot6(bom()).output_as_string(indent=1) + "\n"
    if wrong := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        print(wrong)
        return 1
    SBOM.write_text(text)
    print(f"{SBOM.relative_to(locks.ROOT)}: {len(text):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
