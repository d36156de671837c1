"""The packages and what each may import, enforced by `test_floors.py`."""

from __future__ import annotations

# Package -> packages that it may import, besides itself. A module belongs to the longest matching prefix.
FLOORS: dict[str, tuple[str, ...]] = {
    "schemas": (),
    "infra": ("schemas",),
    "services.clients": (),
    "services.retrieval": ("schemas", "infra"),
    "services.transcription.ports": ("schemas",),
    "services.transcription": ("schemas", "infra", "services.transcription.ports", "services.retrieval"),
    "services.decoding.ports": ("schemas",),
    "services.decoding": ("schemas", "infra", "services.clients", "services.decoding.ports", "services.retrieval"),
    "services.storage": ("schemas", "infra"),
    "services.validation": ("schemas", "services.retrieval"),
    "services.tills": ("schemas", "infra", "services.retrieval", "services.validation", "services.storage"),
    "services.pipeline": (
        "schemas", "infra", "services.transcription.ports", "services.transcription", "services.decoding.ports",
        "services.retrieval", "services.storage", "services.validation",
    ),
    "services.readiness": ("schemas", "infra"),
    "services.settings_checks": ("schemas", "infra", "services.decoding"),
    "services.recordings": ("schemas", "infra"),
    "services.doorbell": ("schemas", "infra", "services.pipeline"),
    "services.engine_parts": (
        "schemas", "infra", "services.transcription.ports", "services.transcription", "services.decoding.ports",
        "services.decoding",
    ),
    "services.bootstrap": (
        "schemas", "infra", "services.retrieval", "services.transcription.ports", "services.transcription",
        "services.decoding", "services.validation", "services.engine_parts", "services.storage",
        "services.pipeline", "services.doorbell", "services.readiness", "services.recordings",
        "services.settings_checks",
    ),
    "services.shop_scope": (
        "schemas", "infra", "services.decoding", "services.validation", "services.bootstrap", "services.storage",
        "services.pipeline", "services.doorbell", "services.recordings",
    ),
    "services.workers": (
        "schemas", "infra", "services.bootstrap", "services.settings_checks", "services.readiness",
        "services.pipeline", "services.recordings", "services.decoding", "services.storage", "services.tills",
    ),
    "services.api": (
        "schemas", "infra", "services.storage", "services.transcription", "services.validation", "services.bootstrap",
        "services.shop_scope", "services.pipeline", "services.doorbell", "services.recordings",
    ),
    "services.web": (
        "schemas", "infra", "services.validation", "services.bootstrap", "services.shop_scope", "services.pipeline",
        "services.tills", "services.api",
    ),
    # These combine API and pages in one process.
    "services.api.app": ("schemas", "services.bootstrap", "services.api", "services.web"),
    "services.api.__main__": (
        "schemas", "infra", "services.bootstrap", "services.settings_checks", "services.api",
        "services.api.app",
    ),
    "services.learning": (
        "schemas", "infra", "services.retrieval", "services.transcription.ports", "services.transcription",
        "services.decoding.ports", "services.decoding", "services.validation", "services.pipeline",
        "services.bootstrap",
    ),
    "services.examples": ("schemas", "infra", "services.clients", "services.decoding.ports", "services.decoding"),
    "services.cli": (
        "schemas", "infra", "services.retrieval", "services.storage", "services.clients", "services.decoding.ports", "services.decoding",
        "services.validation", "services.bootstrap", "services.shop_scope", "services.learning", "services.workers",
        "services.api", "services.recordings", "services.tills",
    ),
}  # fmt: skip
