"""Attach SBOM and unsigned provenance to an image in an OCI layout, as BuildKit does: its index also names a
manifest whose layers are in-toto statements, one with SLSA's predicate and one with the SBOM.

python -m tests.supply.provenance dist/saycart-api saycart-api:1.0.0 BASE sha256:… COMMIT SOURCE STARTED
"""

from __future__ import annotations

import hashlib
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .locks import ROOT

IN_TOTO = "application/vnd.in-toto+json"
CONFIG, MANIFEST, INDEX = (
    f"application/vnd.oci.image.{kind}.v1+json" for kind in ("config", "manifest", "index")
)
UNKNOWN = {"architecture": "unknown", "os": "unknown"}


def provenance(image: str, base: str, base_digest: str, commit: str, source: str, started: str) -> Any:
    """Return SLSA's predicate. A `commit` ending in `-dirty` isn't a digest of the source."""
    code: dict[str, Any] = {"uri": f"git+{source or 'file:.'}@{commit}"}
    if not commit.endswith("-dirty"):
        code["digest"] = {"gitCommit": commit}
    python = {"uri": f"pkg:docker/{base.replace(':', '@', 1)}", "digest": _sha256(base_digest)}
    lock = hashlib.sha256((ROOT / "requirements.lock").read_bytes()).hexdigest()
    definition = {
        "buildType": "urn:saycart:make-images:v1",
        "externalParameters": {"image": image, "commit": commit, "source": source},
        "resolvedDependencies": [code, python, {"name": "requirements.lock", "digest": {"sha256": lock}}],
    }
    run = {
        "builder": {"id": "urn:saycart:local-docker"},
        "metadata": {"startedOn": started, "finishedOn": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"},
    }
    return {"buildDefinition": definition, "runDetails": run}


class Layout:
    """An OCI layout of one image with a tag."""

    def __init__(self, folder: Path) -> None:
        self._index, self._blobs = folder / "index.json", folder / "blobs/sha256"
        [self.image] = json.loads(self._index.read_text())["manifests"]
        self._tag = self.image.pop("annotations")
        config = self._read(self._read(self.image)["config"])
        self.image["platform"] = {key: config[key] for key in UNKNOWN}

    def attach(self, statements: list[dict[str, Any]]) -> None:
        """Replace the image by an index of it and of a manifest with these statements."""
        layers = []
        for statement in statements:
            about = {"in-toto.io/predicate-type": statement["predicateType"]}
            layers.append(self._store(IN_TOTO, statement) | {"annotations": about})
        files = {"type": "layers", "diff_ids": [layer["digest"] for layer in layers]}
        config = self._store(CONFIG, {**UNKNOWN, "config": {}, "rootfs": files})
        manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers}
        about = {
            "vnd.docker.reference.type": "attestation-manifest",
            "vnd.docker.reference.digest": self.image["digest"],
        }
        attached = self._store(MANIFEST, manifest) | {"platform": UNKNOWN, "annotations": about}
        index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": [self.image, attached]}
        whole = self._store(INDEX, index) | {"annotations": self._tag}
        self._index.write_text(json.dumps({"schemaVersion": 2, "manifests": [whole]}))

    def _read(self, descriptor: dict[str, Any]) -> Any:
        return json.loads((self._blobs / _sha256(descriptor["digest"])["sha256"]).read_text())

    def _store(self, kind: str, document: dict[str, Any]) -> dict[str, Any]:
        """Store a document as a blob; return its descriptor."""
        data = json.dumps(document).encode()
        digest = hashlib.sha256(data).hexdigest()
        (self._blobs / digest).write_bytes(data)
        return {"mediaType": kind, "digest": f"sha256:{digest}", "size": len(data)}


def _sha256(reference: str) -> dict[str, str]:
    return {"sha256": reference.rpartition("sha256:")[2]}


def main(folder: str, image: str, *build: str) -> None:
    layout, sbom = Layout(Path(folder)), json.loads(Path(f"{folder}.cdx.json").read_text())
    about = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": image, "digest": _sha256(layout.image["digest"])}],
    }
    slsa = {"predicateType": "https://slsa.dev/provenance/v1", "predicate": provenance(image, *build)}
    listed = {"predicateType": "https://cyclonedx.org/bom", "predicate": sbom}
    layout.attach([about | slsa, about | listed])


if __name__ == "__main__":
    main(*sys.argv[1:])
