"""Write the SBOM of an image as CycloneDX JSON to standard output:

    … | .venv-supply/bin/python -m tests.supply.sbom saycart-api 1.0.0

Standard input has what `contents.py` prints inside the image. Licences are those of docs/licences.md;
Debian's lie in the image's /usr/share/doc.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from cyclonedx.contrib.hash.factories import HashTypeFactory
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import LicenseExpression
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from . import carried, licences, locks


def document(image: str, version: str, contents: dict[str, Any]) -> str:
    """Return the SBOM of `image`, such as `saycart-api`, as JSON."""
    known = licences.on_page(licences.PAGE.read_text())
    parts = [_package(PackageURL("generic", None, "python", contents["python"]))]
    for row in contents["debian"]:
        where = {"arch": row[2], "distro": contents["release"]}
        parts.append(_package(PackageURL("deb", "debian", row[0], row[1], where)))
    for name, release in ((locks.normal(name), release) for name, release in contents["packages"]):
        if name != "saycart":  # the SBOM's subject
            parts.append(_package(PackageURL("pypi", None, name, release), known.get((name, release))))
            parts[-1].components = _libraries(contents["libraries"].get(f"{name.replace('-', '_')}.libs", ()))
    for row in locks.vendored("services/web/static/vendor"):
        parts.append(_package(PackageURL("npm", None, row["package"], row["version"]), row["licence"]))
        parts[-1].hashes = [HashTypeFactory().from_composite_str(f"sha256:{row['sha256']}")]
    ours = Component(
        name=image, version=version, type=ComponentType.CONTAINER, licenses=_licence("Apache-2.0")
    )
    bom = Bom(components=parts)
    bom.metadata.component = ours
    bom.register_dependency(ours, parts)
    return JsonV1Dot6(bom).output_as_string(indent=1)


def _package(purl: PackageURL, licence: str | None = None) -> Component:
    return Component(name=purl.name, version=purl.version, purl=purl, licenses=_licence(licence))


def _libraries(files: list[str]) -> list[Component]:
    """Return the shared libraries in a wheel."""
    names = sorted({carried.plain(file) for file in files})
    return [Component(name=name, licenses=_licence(carried.LIBRARIES.get(name))) for name in names]


def _licence(expression: str | None) -> list[LicenseExpression]:
    return [LicenseExpression(expression)] if expression else []


if __name__ == "__main__":
    print(document(*sys.argv[1:], json.load(sys.stdin)))
