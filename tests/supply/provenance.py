"""Write an image's unsigned provenance to standard output: an in-toto statement with SLSA's predicate.

python -m tests.supply.provenance saycart-api:1.0.0 sha256:… BASE sha256:… COMMIT SOURCE STARTED SBOM
"""

from __future__ import annotations

import hashlib
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .locks import ROOT


def statement(
    image: str, digest: str, base: str, base_digest: str, commit: str, source: str, started: str, sbom: str
) -> dict[str, Any]:
    """Return the statement. A `commit` ending in `-dirty` isn't a digest of the source."""
    code: dict[str, Any] = {"uri": f"git+{source or 'file:.'}@{commit}"}
    if not commit.endswith("-dirty"):
        code["digest"] = {"gitCommit": commit}
    python = {"uri": f"pkg:docker/{base.replace(':', '@', 1)}", "digest": _sha256(base_digest)}
    definition = {
        "buildType": "urn:saycart:make-images:v1",
        "externalParameters": {"image": image, "commit": commit, "source": source},
        "resolvedDependencies": [code, python, _file(ROOT / "requirements.lock")],
    }
    run = {
        "builder": {"id": "urn:saycart:local-docker"},
        "metadata": {"startedOn": started, "finishedOn": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"},
        "byproducts": [_file(Path(sbom))],
    }
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": image, "digest": _sha256(digest)}],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {"buildDefinition": definition, "runDetails": run},
    }


def _sha256(reference: str) -> dict[str, str]:
    return {"sha256": reference.rpartition("sha256:")[2]}


def _file(path: Path) -> dict[str, Any]:
    return {"name": path.name, "digest": {"sha256": hashlib.sha256(path.read_bytes()).hexdigest()}}


if __name__ == "__main__":
    print(json.dumps(statement(*sys.argv[1:]), indent=1))
