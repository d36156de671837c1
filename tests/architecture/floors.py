"""The rooms of the house, and what each may import; `test_floors.py` holds them to it."""

from __future__ import annotations

# Room -> rooms that it may import; its own is always open. A room is the longest prefix that names it.
FLOORS: dict[str, tuple[str, ...]] = {
    "schemas": (),
    "infra": (),
    "services.engines.ports": ("schemas",),
    "services.engines": ("schemas", "infra", "services.engines.ports", "services.decoding"),
    # It starts a server, and knows nothing of what is asked of it.
    "services.engines.servers.embedded": ("schemas", "infra", "services.engines"),
    "services.retrieval": ("schemas",),
    "services.decoding": ("schemas", "infra", "services.engines.ports", "services.retrieval"),
    "services.storage": ("schemas", "infra"),
    "services.checks": ("schemas", "services.retrieval"),
    "services.hearing": ("schemas", "services.engines.ports", "services.retrieval"),
    "services.pipeline": (
        "schemas", "services.engines.ports", "services.retrieval", "services.checks", "services.hearing",
    ),
    "services.evaluation": (
        "schemas", "services.retrieval", "services.checks", "services.pipeline",
        "services.evaluation.statistics",
    ),
    "services.evaluation.statistics": (),
    "services.evaluation.provenance": ("schemas", "infra", "services.evaluation"),
    "services.evaluation.session": (
        "schemas", "infra", "services.bootstrap", "services.pipeline", "services.engines.servers.embedded",
        "services.evaluation", "services.evaluation.provenance", "services.evaluation.kept",
    ),
    # The engines of a wired process, with their answers kept; the rest of evaluation knows no engine.
    "services.evaluation.kept": (
        "schemas", "services.engines", "services.engines.ports", "services.retrieval", "services.decoding",
        "services.pipeline", "services.bootstrap",
    ),
    "services.masked": (
        "schemas", "infra", "services.engines", "services.engines.ports", "services.decoding",
    ),
    "services.examples": (
        "schemas", "infra", "services.decoding", "services.engines", "services.engines.ports", "services.engines.servers.embedded",
        "services.masked",
    ),
    "services.training": (
        "services.checks", "services.retrieval", "services.decoding",
        "schemas", "infra", "services.engines", "services.engines.ports", "services.pipeline",
        "services.evaluation", "services.evaluation.statistics",
    ),
    "services.readiness": ("schemas", "infra"),
    "services.settings_checks": ("schemas", "infra", "services.masked"),
    "services.recordings": ("schemas", "infra"),
    "services.doorbell": ("schemas", "infra", "services.pipeline"),
    "services.engine_parts": (
        "schemas", "infra", "services.engines", "services.engines.ports", "services.decoding",
    ),
    "services.bootstrap": (
        "services.retrieval", "services.checks", "services.decoding",
        "schemas", "infra", "services.engines", "services.engines.ports", "services.engine_parts",
        "services.storage", "services.pipeline", "services.doorbell", "services.readiness",
        "services.recordings", "services.masked", "services.settings_checks",
    ),
    "services.desk": (
        "services.checks", "services.decoding",
        "schemas", "infra", "services.bootstrap", "services.storage", "services.pipeline", "services.engines",
        "services.recordings", "services.masked",
    ),
    "services.workers": (
        "schemas", "infra", "services.bootstrap", "services.settings_checks", "services.readiness",
        "services.pipeline", "services.recordings", "services.engines.servers.embedded",
    ),
    "services.api": (
        "services.checks", 
        "schemas", "infra", "services.bootstrap", "services.desk", "services.pipeline", "services.recordings",
    ),
    "services.web": (
        "services.checks", 
        "schemas", "infra", "services.bootstrap", "services.desk", "services.pipeline", "services.api",
    ),
    # They join the API and the pages to one process, so they stand above both.
    "services.api.app": ("schemas", "services.bootstrap", "services.api", "services.web"),
    "services.api.__main__": (
        "schemas", "infra", "services.bootstrap", "services.settings_checks", "services.api",
        "services.api.app",
    ),
    "services.cli": (
        "services.checks",
        "schemas", "infra", "services.bootstrap", "services.evaluation", "services.evaluation.provenance",
        "services.evaluation.session", "services.workers", "services.recordings", "services.engines.servers.embedded",
    ),
}  # fmt: skip

# (module, what it imports): why.
EXCEPTIONS: dict[tuple[str, str], str] = {
    (
        "services.api.gate.pressure",
        "services.storage.orders.load",
    ): "the counts that it goes by, a plain value",
    ("services.api.intake", "services.engines.recognition.containers"): "media types, as above",
    (
        "services.api.routes.audio",
        "services.engines.recognition.containers",
    ): "media types: pure, no engine is loaded",
    (
        "services.api.routes.events",
        "services.storage.orders.watched",
    ): "what happened to an order, a plain value",
    ("services.api.routes.keys", "services.storage.people.api_keys"): "the record's type, to be shown",
    ("services.api.routes.orders", "services.storage.orders.watched"): "one look at an order, a plain value",
    (
        "services.api.uploads",
        "services.engines.recognition.containers",
    ): "magic bytes: pure, and needed before storing",
    (
        "services.api.waiting.room",
        "services.storage.orders.watched",
    ): "the store's type, and what it reads: plain values",
    ("services.cli.client", "services.desk"): "operators do what a shop's people do, by the same desk",
    (
        "services.cli.commands.doctor",
        "services.decoding.decoder",
    ): "probes the decode server that it is asked about",
    (
        "services.cli.commands.doctor_engine",
        "services.decoding.decoder",
    ): "examines an engine by the very parts that use it",
    (
        "services.cli.commands.doctor_engine",
        "services.decoding.conformance",
    ): "examines an engine by the very parts that use it",
    (
        "services.cli.commands.doctor_engine",
        "services.decoding.vocabulary",
    ): "examines an engine by the very parts that use it",
    (
        "services.cli.commands.doctor_engine",
        "services.engines.ports",
    ): "examines an engine by the very parts that use it",
    (
        "services.cli.commands.doctor_engine",
        "services.storage.shops.menus",
    ): "examines an engine by the very parts that use it",
    ("services.cli.commands.keys", "services.storage.people.api_keys"): "the record's type, to be shown",
    ("services.cli.commands.privacy", "services.api.takeout"): "one form of what a customer is handed",
    (
        "services.cli.commands.reviews",
        "services.storage.reviews.log",
    ): "the log of the one shop that is asked for",
    (
        "services.evaluation.provenance",
        "services.engines.recognition.whisper",
    ): "a report names the options it was heard with",
    (
        "services.pipeline.counted",
        "infra.observability.measures",
    ): "counts what was done; does nothing where unasked",
    (
        "services.pipeline.heartbeat",
        "infra.observability.measures",
    ): "counts what was done; does nothing where unasked",
    (
        "services.pipeline.runner",
        "infra.observability.measures",
    ): "counts what was done; does nothing where unasked",
    (
        "services.pipeline.runner",
        "infra.observability.tracing",
    ): "names what is done; one comparison when off",
    (
        "services.pipeline.runner",
        "services.storage.orders.store",
    ): "the store's type; there is one store, so no port",
    ("services.retrieval.names", "infra.caches"): "a cache in memory, and nothing of a machine",
    ("services.workers.courier", "services.storage.outbox.endpoint_ways"): "where the messages go",
    ("services.workers.courier", "services.storage.outbox.store"): "the store's type, and its messages'",
    (
        "services.workers.stack",
        "services.engines.servers.variables",
    ): "names the child that the supervisor starts",
    ("services.workers.stack", "services.storage.orders.store"): "frees leases before any process is wired",
    ("services.workers.stack", "services.storage.people.api_keys"): "makes the home's first key",
    ("services.workers.stack", "services.storage.shops.menus"): "brings in menus before any process is wired",
}
