"""The rooms of the house, and what each may import; `test_floors.py` holds them to it."""

from __future__ import annotations

# Room -> rooms that it may import; its own is always open. A room is the longest prefix that names it.
FLOORS: dict[str, tuple[str, ...]] = {
    "schemas": (),
    "infra": ("schemas",),
    "services.retrieval": ("schemas", "infra"),
    "services.transcription.ports": ("schemas",),
    "services.transcription": ("schemas", "infra", "services.transcription.ports", "services.retrieval"),
    "services.decoding.ports": ("schemas",),
    "services.decoding": ("schemas", "infra", "services.decoding.ports", "services.retrieval"),
    "services.storage": ("schemas", "infra"),
    "services.validation": ("schemas", "services.retrieval"),
    "services.pipeline": (
        "schemas", "infra", "services.transcription.ports", "services.transcription", "services.decoding.ports",
        "services.retrieval", "services.validation",
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
        "services.pipeline", "services.recordings",
    ),
    "services.workers": (
        "schemas", "infra", "services.bootstrap", "services.settings_checks", "services.readiness",
        "services.pipeline", "services.recordings", "services.decoding",
    ),
    "services.api": (
        "schemas", "infra", "services.validation", "services.bootstrap", "services.shop_scope", "services.pipeline",
        "services.recordings",
    ),
    "services.web": (
        "schemas", "infra", "services.validation", "services.bootstrap", "services.shop_scope", "services.pipeline",
        "services.api",
    ),
    # They join the API and the pages to one process, so they stand above both.
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
    "services.examples": ("schemas", "infra", "services.decoding.ports", "services.decoding"),
    "services.cli": (
        "schemas", "infra", "services.retrieval", "services.decoding.ports", "services.decoding", "services.validation", "services.bootstrap",
        "services.learning", "services.workers", "services.recordings",
    ),
}  # fmt: skip

# (module, what it imports): why.
EXCEPTIONS: dict[tuple[str, str], str] = {
    (
        "services.api.gate.pressure",
        "services.storage.orders.load",
    ): "the counts that it goes by, a plain value",
    ("services.api.intake", "services.transcription.audio.containers"): "media types, as above",
    (
        "services.api.routes.audio",
        "services.transcription.audio.containers",
    ): "media types: pure, no engine is loaded",
    (
        "services.api.routes.events",
        "services.storage.orders.watched",
    ): "what happened to an order, a plain value",
    ("services.api.routes.orders", "services.storage.orders.watched"): "one look at an order, a plain value",
    (
        "services.api.uploads",
        "services.transcription.audio.containers",
    ): "magic bytes: pure, and needed before storing",
    (
        "services.api.waiting.room",
        "services.storage.orders.watched",
    ): "the store's type, and what it reads: plain values",
    ("services.cli.client", "services.shop_scope"): "operators do what a shop's people do, by the same desk",
    ("services.cli.commands.keys", "services.storage.people.api_keys"): "the record's type, to be shown",
    ("services.cli.commands.privacy", "services.api.takeout"): "one form of what a customer is handed",
    (
        "services.cli.commands.reviews",
        "services.storage.reviews.log",
    ): "the log of the one shop that is asked for",
    (
        "services.pipeline.runner",
        "services.storage.orders.store",
    ): "the store's type; there is one store, so no port",
    ("services.workers.courier", "services.storage.outbox.store"): "the store's type, and its messages'",
    ("services.workers.stack", "services.storage.orders.store"): "frees leases before any process is wired",
    ("services.workers.stack", "services.storage.people.api_keys"): "makes the home's first key",
    ("services.workers.stack", "services.storage.shops.menus"): "brings in menus before any process is wired",
}
