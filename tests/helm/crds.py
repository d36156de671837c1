"""The fields that the chart uses of others' resources, by hand from their documents: their own schemas come
with their operators, from no package. What is not listed here is refused, so a slip in a name is found;
whether an operator takes the values is not."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string", "minLength": 1}
COUNT: Schema = {"type": "integer", "minimum": 0}
ANY: Schema = {"type": "object"}


def exactly(needed: str = "", **fields: Schema) -> Schema:
    return {
        "type": "object",
        "properties": fields,
        "required": needed.split(),
        "additionalProperties": False,
    }


def resource(api: str, spec: Schema) -> Schema:
    return exactly(
        "apiVersion kind metadata spec", apiVersion={"const": api}, kind=TEXT, metadata=ANY, spec=spec
    )


KEY = exactly("name key", name=TEXT, key=TEXT)
BEARER = exactly("type credentials", type={"const": "Bearer"}, credentials=KEY)
SELECTOR = exactly(matchLabels=ANY, matchExpressions={"type": "array"})
DURATION: Schema = {"type": "string", "pattern": "^[0-9]+(s|m)$"}
RELABELINGS: Schema = {
    "type": "array",
    "items": exactly("targetLabel replacement", targetLabel=TEXT, replacement=TEXT),
}
SCRAPE = {"port": TEXT, "path": TEXT, "interval": DURATION, "relabelings": RELABELINGS}
TEXTS: Schema = {"type": "array", "items": TEXT}
POLICIES: Schema = {
    "type": "array",
    "items": exactly(
        "type value periodSeconds",
        type={"enum": ["Percent", "Pods"]},
        value=COUNT,
        periodSeconds={"type": "integer", "minimum": 1, "maximum": 1800},
    ),
}
RULES = exactly(
    policies=POLICIES, stabilizationWindowSeconds={"type": "integer", "minimum": 0, "maximum": 3600}
)

CRDS: dict[str, Schema] = {
    "ScaledObject": resource(
        "keda.sh/v1alpha1",
        exactly(
            "scaleTargetRef triggers",
            scaleTargetRef=exactly("name", name=TEXT),
            minReplicaCount=COUNT,
            maxReplicaCount=COUNT,
            pollingInterval=COUNT,
            cooldownPeriod=COUNT,
            advanced=exactly(
                horizontalPodAutoscalerConfig=exactly(behavior=exactly(scaleUp=RULES, scaleDown=RULES))
            ),
            triggers={
                "type": "array",
                "items": exactly(
                    "type metadata",
                    type={"const": "prometheus"},
                    metricType={"enum": ["Value", "AverageValue"]},
                    # KEDA takes text alone, numbers included.
                    metadata=exactly(
                        "serverAddress query threshold", serverAddress=TEXT, query=TEXT, threshold=TEXT
                    ),
                ),
            },
        ),
    ),
    "ServiceMonitor": resource(
        "monitoring.coreos.com/v1",
        exactly(
            "selector endpoints",
            selector=SELECTOR,
            endpoints={"type": "array", "items": exactly("port", authorization=BEARER, **SCRAPE)},
        ),
    ),
    "PodMonitor": resource(
        "monitoring.coreos.com/v1",
        exactly(
            "selector podMetricsEndpoints",
            selector=SELECTOR,
            podMetricsEndpoints={"type": "array", "items": exactly("port", **SCRAPE)},
        ),
    ),
    "ScrapeConfig": resource(
        "monitoring.coreos.com/v1alpha1",
        exactly(
            "staticConfigs",
            jobName=TEXT,
            relabelings=RELABELINGS,
            metricsPath=TEXT,
            scrapeInterval=DURATION,
            staticConfigs={"type": "array", "items": exactly("targets", targets=TEXTS)},
            authorization=BEARER,
        ),
    ),
    "PrometheusRule": resource(
        "monitoring.coreos.com/v1",
        exactly(
            "groups",
            groups={
                "type": "array",
                "minItems": 1,
                "items": {"type": "object", "required": ["name", "rules"]},
            },
        ),
    ),
}  # fmt: skip
